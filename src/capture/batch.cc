#include "capture/batch.h"

namespace walpost::capture {

void Batch::Add(const std::shared_ptr<const Relation>& relation, std::span<const Value> values) {
  if (relations_.empty() || relations_.back() != relation) relations_.push_back(relation);
  rows_.push_back({static_cast<std::uint32_t>(relations_.size() - 1),
                   static_cast<std::uint32_t>(values_.size()),
                   static_cast<std::uint32_t>(values.size())});
  values_.insert(values_.end(), values.begin(), values.end());
  for (const Value& value : values) bytes_ += value.bytes.size();
}

void Batch::Clear() {
  transaction = {};
  first_index = 0;
  release.reset();
  rows_.clear();
  values_.clear();
  relations_.clear();
  frames_.clear();
  bytes_ = 0;
}

}  // namespace walpost::capture
