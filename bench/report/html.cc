#include "report/html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "harness/histogram.h"
#include "report/chart.h"
#include "report/result.h"

namespace walpost::bench {
namespace {

using nlohmann::json;

// Colours that stay apart on white and on near-black, for most kinds of colour vision.
constexpr const char* kStyle = R"css(<style>
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#667;--rule:#dde1e6;--bad:#b3261e;--fault:#d9770622}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#14171a;--soft:#9aa3ad;--rule:#30363d;--bad:#ff8a80;--fault:#f59e0b33}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1340px;margin:2em auto;padding:0 1.2em}
h1{font-size:1.5em;margin-bottom:0}h2{font-size:1.15em;margin:2em 0 .2em}p{color:var(--soft);margin:.2em 0 .8em;max-width:60em}
.ok{color:#1a7f4b;font-weight:600}.bad{color:var(--bad);font-weight:600}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92em}
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--soft);font-weight:600}th:first-child,td:first-child{text-align:left}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:1em 2em}
figure{margin:.6em 0}figcaption{font-weight:600;font-size:.95em}svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}
.grid{stroke:var(--rule);stroke-width:1}.line{fill:none;stroke-width:1.8}.fault{fill:var(--fault)}
.legend{display:flex;flex-wrap:wrap;gap:.1em 1.1em;font-size:.85em}.legend i{display:inline-block;width:1.3em;height:.22em;vertical-align:.25em;margin-right:.4em}
.c0{stroke:#2f7de1}.c1{stroke:#e0661c}.c2{stroke:#2ba06b}.c3{stroke:#b455c8}.c4{stroke:#d64550}.c5{stroke:#1aa3b8}.c6{stroke:#a38a14}.c7{stroke:#7a7ff0}.c8{stroke:#e0609e}.c9{stroke:#7d8590}
.b0{background:#2f7de1}.b1{background:#e0661c}.b2{background:#2ba06b}.b3{background:#b455c8}.b4{background:#d64550}.b5{background:#1aa3b8}.b6{background:#a38a14}.b7{background:#7a7ff0}.b8{background:#e0609e}.b9{background:#7d8590}
details{margin-top:2em}pre{font-size:.82em;overflow-x:auto}
</style>)css";

std::string HtmlTable(const TitledTable& table) {
  std::string html = absl::StrCat("<h2>", EscapeHtml(table.title), "</h2><p>",
                                  EscapeHtml(table.note), "</p><div class=scroll><table>");
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    absl::StrAppend(&html, "<tr>");
    for (const std::string& cell : table.rows[row]) {
      const char* tag = row == 0 ? "th" : "td";
      absl::StrAppend(&html, "<", tag, cell == "WRONG" ? " class=bad>" : ">", EscapeHtml(cell),
                      "</", tag, ">");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  return absl::StrCat(html, "</table></div>\n");
}

// The points of a histogram's percentile curve, in milliseconds.
std::vector<std::pair<double, double>> Curve(const json& histogram) {
  std::vector<std::pair<double, double>> points;
  const double count = histogram["count"].get<double>();
  double passed = 0;
  for (const json& bucket : histogram["buckets"]) {
    passed += bucket[1].get<double>();
    const std::pair<double, double> point = {passed / count, bucket[0].get<double>() / 1000};
    // A thousand points are more than a screen shows.
    if (points.empty() || point.first - points.back().first > 0.002 || point.first > 0.99)
      points.push_back(point);
  }
  return points;
}

std::vector<std::pair<double, double>> Column(const json& rows, std::size_t column, double scale) {
  std::vector<std::pair<double, double>> points;
  for (const json& row : rows)
    points.emplace_back(row[0].get<double>(), row[column].get<double>() * scale);
  return points;
}

std::vector<std::pair<double, double>> Faults(const json& row) {
  std::vector<std::pair<double, double>> faults;
  for (const json& mark : row.value("faults", json::array()))
    faults.emplace_back(mark[0].get<double>(), mark[1].get<double>());
  return faults;
}

// A line for each row that holds `field`.
template <typename Points>
Chart ChartOf(Chart chart, const json& rows, const char* field, const Points& points) {
  for (const json& row : rows) {
    if (!row.contains(field)) continue;
    chart.lines.push_back({row["target"].get<std::string>(), points(row[field])});
    if (chart.faults.empty() && row.contains("faults")) chart.faults = Faults(row);
  }
  return chart;
}

std::vector<Chart> UsageCharts(const std::string& title, const json& rows) {
  return {
      ChartOf({.title = title + ": memory", .x_label = "seconds", .y_label = "resident MB"}, rows,
              "usage", [](const json& usage) { return Column(usage, 2, 1e-6); }),
      ChartOf(
          {.title = title + ": CPU of the relay", .x_label = "seconds", .y_label = "% of one core"},
          rows, "usage", [](const json& usage) { return Column(usage, 1, 100); })};
}

std::vector<Chart> LagCharts(const std::string& title, const json& rows) {
  std::vector<Chart> charts;
  charts.push_back(ChartOf({.title = title + ": percentiles",
                            .x_label = "% of events",
                            .y_label = "ms",
                            .percentiles = true,
                            .logarithmic = true},
                           rows, "lag",
                           [](const json& lag) { return Curve(lag["intended_to_consumer"]); }));
  charts.back().faults.clear();
  charts.push_back(ChartOf({.title = title + ": p99 of each second",
                            .x_label = "seconds",
                            .y_label = "ms",
                            .logarithmic = true},
                           rows, "over_time",
                           [](const json& over_time) { return Column(over_time, 3, 1e-3); }));
  return charts;
}

void Append(std::vector<Chart>& charts, std::vector<Chart> more) {
  for (Chart& chart : more) charts.push_back(std::move(chart));
}

std::vector<Chart> ChartsOf(const json& scenarios) {
  std::vector<Chart> charts;
  std::vector<std::pair<std::string, json>> by_rate;
  for (const json& row : scenarios.value("lag", json::array())) {
    if (by_rate.empty() || by_rate.back().first != RateOf(row))
      by_rate.emplace_back(RateOf(row), json::array());
    by_rate.back().second.push_back(row);
  }
  for (const auto& [rate, rows] : by_rate) {
    Append(charts, LagCharts("Lag at " + rate, rows));
    Append(charts, UsageCharts("Lag at " + rate, rows));
  }
  if (scenarios.contains("team")) {
    Append(charts, LagCharts("Poller against walpost", scenarios["team"]));
    Append(charts, UsageCharts("Poller against walpost", scenarios["team"]));
  }
  if (scenarios.contains("drain")) {
    const json& rows = scenarios["drain"];
    charts.push_back(ChartOf(
        {.title = "Drain: events delivered", .x_label = "seconds since start", .y_label = "events"},
        rows, "delivered_over_time", [](const json& points) { return Column(points, 1, 1); }));
    Append(charts, UsageCharts("Drain", rows));
  }
  if (scenarios.contains("outage")) {
    Append(charts, LagCharts("Outage", scenarios["outage"]));
    Append(charts, UsageCharts("Outage", scenarios["outage"]));
  }
  if (scenarios.contains("bigtx"))
    Append(charts, UsageCharts("Large transaction", scenarios["bigtx"]));
  if (scenarios.contains("idle")) {
    charts.push_back(
        ChartOf({.title = "Idle outbox: WAL not confirmed", .x_label = "seconds", .y_label = "MB"},
                scenarios["idle"], "kept_over_time",
                [](const json& rows) { return Column(rows, 2, 1e-6); }));
  }
  return charts;
}

// Every name once, so that a target has one colour throughout.
std::vector<std::string> NamesIn(const std::vector<Chart>& charts) {
  std::vector<std::string> names;
  for (const Chart& chart : charts) {
    for (const Line& line : chart.lines) {
      if (std::find(names.begin(), names.end(), line.name) == names.end())
        names.push_back(line.name);
    }
  }
  return names;
}

std::string VerdictOf(const json& result) {
  const json& wrong = result["wrong"];
  if (wrong.empty()) {
    return "<p class=ok>Every committed event was delivered, none invented, each key in order, or "
           "the target was "
           "still at work when time ran out (its row says so).</p>";
  }
  std::string html = "<p class=bad>Wrong:</p><ul>";
  for (const json& what : wrong)
    absl::StrAppend(&html, "<li class=bad>", EscapeHtml(what.get<std::string>()), "</li>");
  return html + "</ul>";
}

}  // namespace

std::string HtmlReport(const json& result) {
  std::string html = absl::StrCat(
      "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
      "content='width=device-width'>"
      "<title>walpost-bench</title>",
      kStyle, "<h1>walpost-bench</h1><p>", EscapeHtml(result["started_at"].get<std::string>()),
      " · ", EscapeHtml(result["host"]["cpu"].get<std::string>()), " · ",
      result["host"]["cores"].dump(), " cores · Postgres ",
      EscapeHtml(result["versions"].value("postgres", "")), " · Kafka ",
      EscapeHtml(result["versions"].value("kafka", "")), "</p>", VerdictOf(result));
  for (const TitledTable& table : TablesOf(result)) absl::StrAppend(&html, HtmlTable(table));
  const std::vector<Chart> charts = ChartsOf(result["scenarios"]);
  const std::vector<std::string> names = NamesIn(charts);
  absl::StrAppend(&html, "<h2>Over time</h2><div class=charts>");
  for (const Chart& chart : charts) absl::StrAppend(&html, Draw(chart, names));
  absl::StrAppend(&html, "</div>");
  for (const char* part : {"versions", "settings", "options", "host"}) {
    absl::StrAppend(&html, "<details><summary>", part, "</summary><pre>",
                    EscapeHtml(result[part].dump(2)), "</pre></details>");
  }
  return html + "</html>\n";
}

}  // namespace walpost::bench
