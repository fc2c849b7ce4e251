// Line charts as inline SVG: linear or logarithmic values over time, or over a percentile axis, on which
// 90, 99 and 99.9 % are equally far apart.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace walpost::bench {

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by rising x; with percentiles x is 0 to 1
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Line> lines;
  bool percentiles = false;  // x axis
  bool logarithmic = false;  // y axis; values at or below 0 are drawn at its foot
  std::vector<std::pair<double, double>> faults;  // intervals of x that are shaded
};

// A <figure> with its legend; "" if no line has a point. Colours are the classes c0 to c9 of
// html.cc, the same for the same name in `names`.
std::string Draw(const Chart& chart, const std::vector<std::string>& names);

std::string EscapeHtml(const std::string& text);

}  // namespace walpost::bench
