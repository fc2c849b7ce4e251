// Lags counted in log-linear buckets, as HdrHistogram has them: 1024 buckets for each doubling, so a
// value is known to better than 0.1 %, and two histograms of the same scale add up exactly.
//
// Percentiles of a merged histogram are right; a mean of percentiles is not.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace walpost::bench {

// Values are microseconds, 0 to 2^40 (12 days); larger ones count as the largest. Thread: one.
class Histogram {
 public:
  // Negative values count as 0: a consumer may see an event before COMMIT has returned.
  void Record(std::int64_t microseconds);
  void Merge(const Histogram& other);

  std::int64_t count() const { return count_; }
  std::int64_t max() const { return max_; }
  // The smallest value that at least `fraction` (0 to 1) of all are not above, to 0.1 %. 0 if empty.
  std::int64_t Percentile(double fraction) const;

  // {"unit": "us", "count", "max", "p50", "p90", "p99", "p999", "buckets": [[lowest value, count], …]}
  nlohmann::json ToJson() const;
  // What ToJson made. The percentiles in it are ignored: the buckets say them.
  static Histogram FromJson(const nlohmann::json& json);

 private:
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0;
  std::int64_t max_ = 0;
};

// The middle of `values`, the mean of the two middle ones of an even number; 0 of none.
double Median(std::vector<double> values);

}  // namespace walpost::bench
