#include "report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace walpost::bench {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kLeft = 62;
constexpr double kRight = 14;
constexpr double kTop = 10;
constexpr double kBottom = 40;
constexpr std::size_t kColours = 10;  // then dashed
constexpr double kHighestPercentile = 0.9999;

double OnPercentileAxis(double fraction) {
  return -std::log10(1 - std::min(fraction, kHighestPercentile));
}

// One axis: from values to 0…1, with its ticks.
struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<std::pair<double, std::string>> ticks;

  double Place(double value) const {
    if (!logarithmic) return high > low ? (value - low) / (high - low) : 0;
    const double clamped = std::max(value, low);
    return (std::log10(clamped) - std::log10(low)) / (std::log10(high) - std::log10(low));
  }
};

std::string TickText(double value) {
  if (value >= 1e6) return absl::StrFormat("%gM", value / 1e6);
  if (value >= 1e4) return absl::StrFormat("%gk", value / 1e3);
  return absl::StrFormat("%g", value);
}

Axis LinearAxis(double low, double high) {
  Axis axis{.low = low, .high = std::max(high, low + 1e-9)};
  const double raw = (axis.high - low) / 6;
  const double magnitude = std::pow(10, std::floor(std::log10(raw)));
  double step = magnitude;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * magnitude;
    if (step >= raw) break;
  }
  const auto first = std::llround(std::ceil(low / step));
  const auto last = std::llround(std::floor(axis.high / step));
  for (std::int64_t i = first; i <= last; ++i) {
    const double tick = static_cast<double>(i) * step;
    axis.ticks.emplace_back(tick, TickText(tick));
  }
  return axis;
}

Axis LogAxis(double low, double high) {
  Axis axis{.logarithmic = true};
  const auto first = std::lround(std::floor(std::log10(low)));
  const auto last = std::max(first + 1, std::lround(std::ceil(std::log10(high))));
  axis.low = std::pow(10, first);
  axis.high = std::pow(10, last);
  for (auto power = first; power <= last; ++power) {
    const double tick = std::pow(10, power);
    axis.ticks.emplace_back(tick, TickText(tick));
  }
  return axis;
}

Axis PercentileAxis() {
  Axis axis{.low = 0, .high = OnPercentileAxis(kHighestPercentile)};
  for (const auto& [fraction, text] : {std::pair<double, const char*>{0, "0"},
                                       {.5, "50"},
                                       {.9, "90"},
                                       {.99, "99"},
                                       {.999, "99.9"},
                                       {.9999, "99.99"}}) {
    axis.ticks.emplace_back(OnPercentileAxis(fraction), text);
  }
  return axis;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

double X(const Axis& axis, double value) {
  return kLeft + axis.Place(value) * (kWidth - kLeft - kRight);
}
double Y(const Axis& axis, double value) {
  return kHeight - kBottom - axis.Place(value) * (kHeight - kTop - kBottom);
}

std::string Grid(const Chart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (const auto& [value, text] : y.ticks) {
    absl::StrAppendFormat(&svg,
                          "<line class=grid x1=%.1f x2=%.1f y1=%.1f y2=%.1f /><text x=%.1f y=%.1f "
                          "text-anchor=end>%s</text>",
                          kLeft, kWidth - kRight, Y(y, value), Y(y, value), kLeft - 6,
                          Y(y, value) + 4, text);
  }
  for (const auto& [value, text] : x.ticks) {
    absl::StrAppendFormat(&svg,
                          "<line class=grid x1=%.1f x2=%.1f y1=%.1f y2=%.1f /><text x=%.1f y=%.1f "
                          "text-anchor=middle>%s</text>",
                          X(x, value), X(x, value), kTop, kHeight - kBottom, X(x, value),
                          kHeight - kBottom + 16, text);
  }
  absl::StrAppendFormat(&svg, "<text x=%.1f y=%.1f text-anchor=middle>%s</text>",
                        (kLeft + kWidth - kRight) / 2, kHeight - 6, EscapeHtml(chart.x_label));
  absl::StrAppendFormat(
      &svg, "<text transform='translate(13 %.1f) rotate(-90)' text-anchor=middle>%s</text>",
      (kTop + kHeight - kBottom) / 2, EscapeHtml(chart.y_label));
  return svg;
}

std::string Path(const Chart& chart, const Line& line, const Axis& x, const Axis& y,
                 std::size_t colour) {
  std::string points;
  for (const auto& [at, value] : line.points) {
    absl::StrAppendFormat(&points, "%.1f,%.1f ",
                          X(x, chart.percentiles ? OnPercentileAxis(at) : at), Y(y, value));
  }
  return absl::StrFormat("<polyline class='line c%d'%s points='%s'><title>%s</title></polyline>",
                         colour % kColours, colour < kColours ? "" : " stroke-dasharray='5 3'",
                         points, EscapeHtml(line.name));
}

std::size_t ColourOf(const std::string& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string Draw(const Chart& chart, const std::vector<std::string>& names) {
  Range across;
  Range up;
  for (const Line& line : chart.lines) {
    for (const auto& [x, y] : line.points) {
      across.Take(x);
      if (!chart.logarithmic || y > 0) up.Take(y);
    }
  }
  if (across.low > across.high || up.low > up.high) return "";
  const Axis x =
      chart.percentiles ? PercentileAxis() : LinearAxis(std::min(0.0, across.low), across.high);
  const Axis y = chart.logarithmic ? LogAxis(up.low, up.high) : LinearAxis(0, up.high * 1.05);
  std::string svg = absl::StrFormat("<svg viewBox='0 0 %g %g' role=img aria-label='%s'>", kWidth,
                                    kHeight, EscapeHtml(chart.title));
  for (const auto& [from, to] : chart.faults) {
    absl::StrAppendFormat(&svg, "<rect class=fault x=%.1f y=%.1f width=%.1f height=%.1f />",
                          X(x, from), kTop, X(x, to) - X(x, from), kHeight - kTop - kBottom);
  }
  absl::StrAppend(&svg, Grid(chart, x, y));
  std::string legend;
  for (const Line& line : chart.lines) {
    const std::size_t colour = ColourOf(line.name, names);
    absl::StrAppend(&svg, Path(chart, line, x, y, colour));
    absl::StrAppendFormat(&legend, "<span><i class='b%d'></i>%s</span>", colour % kColours,
                          EscapeHtml(line.name));
  }
  return absl::StrCat("<figure><figcaption>", EscapeHtml(chart.title), "</figcaption>", svg,
                      "</svg><div class=legend>", legend, "</div></figure>\n");
}

}  // namespace walpost::bench
