#include "harness/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace walpost::bench {
namespace {

constexpr int kSubBits = 10;
constexpr std::int64_t kSub = std::int64_t{1} << kSubBits;
constexpr std::int64_t kHighest = (std::int64_t{1} << 40) - 1;

std::size_t IndexOf(std::int64_t value) {
  const int doublings = std::max(
      0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - kSubBits - 1);
  return static_cast<std::size_t>(doublings * kSub + (value >> doublings));
}

std::int64_t LowestOf(std::size_t index) {
  const auto i = static_cast<std::int64_t>(index);
  if (i < 2 * kSub) return i;
  const std::int64_t doublings = i / kSub - 1;
  return (i - doublings * kSub) << doublings;
}

}  // namespace

void Histogram::Record(std::int64_t microseconds) {
  const std::int64_t value = std::clamp<std::int64_t>(microseconds, 0, kHighest);
  const std::size_t index = IndexOf(value);
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  ++buckets_[index];
  ++count_;
  max_ = std::max(max_, value);
}

void Histogram::Merge(const Histogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::int64_t Histogram::Percentile(double fraction) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::int64_t passed = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    passed += buckets_[i];
    if (buckets_[i] > 0 && passed >= wanted) return std::min(LowestOf(i), max_);
  }
  return max_;
}

nlohmann::json Histogram::ToJson() const {
  nlohmann::json buckets = nlohmann::json::array();
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] > 0) buckets.push_back({LowestOf(i), buckets_[i]});
  }
  return {{"unit", "us"},
          {"count", count_},
          {"max", max_},
          {"p50", Percentile(.5)},
          {"p90", Percentile(.9)},
          {"p99", Percentile(.99)},
          {"p999", Percentile(.999)},
          {"buckets", std::move(buckets)}};
}

Histogram Histogram::FromJson(const nlohmann::json& json) {
  Histogram histogram;
  for (const nlohmann::json& bucket : json.at("buckets")) {
    const std::size_t index = IndexOf(bucket.at(0).get<std::int64_t>());
    const auto count = bucket.at(1).get<std::int64_t>();
    if (index >= histogram.buckets_.size()) histogram.buckets_.resize(index + 1);
    histogram.buckets_[index] += count;
    histogram.count_ += count;
  }
  histogram.max_ = json.at("max").get<std::int64_t>();
  return histogram;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace walpost::bench
