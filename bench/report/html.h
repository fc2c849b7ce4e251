// The report of one run: a single HTML file with inline SVG, readable without scripts, light and dark.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace walpost::bench {

// `result` as in report/result.h.
std::string HtmlReport(const nlohmann::json& result);

}  // namespace walpost::bench
