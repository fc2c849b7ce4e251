#include "model_broker.h"

#include <algorithm>

namespace walpost::simulation {

void ModelBroker::Produce(Ticket ticket, const outbox::Message& message, bool refused) {
  Message sent{ticket, {}, refused};
  for (const outbox::MessageHeader& header : message.headers) {
    if (header.name == "id") sent.landed.id = header.value;
    if (header.name == "walpost-lsn") sent.landed.position = header.value;
    if (header.name == "walpost-error") sent.landed.dead_letter = true;
  }
  std::size_t hash = sent.landed.dead_letter ? 1 : 0;
  for (const char c : message.key.value_or("")) hash = hash * 31 + static_cast<unsigned char>(c);
  Partition& partition = partitions_[hash % kPartitions];
  if (sent.landed.dead_letter) sent.refused = false;
  sent.alone = partition.sent.empty() && partition.unacknowledged.empty();
  partition.sent.push_back(std::move(sent));
}

std::size_t ModelBroker::in_flight() const {
  std::size_t count = 0;
  for (const Partition& partition : partitions_) {
    count += partition.sent.size() + partition.unacknowledged.size();
  }
  return count;
}

bool ModelBroker::idle() const { return in_flight() == 0 && receipts_.empty(); }

void ModelBroker::Land(Partition& partition) {
  on_landed_(partition.sent.front().landed);
  partition.unacknowledged.push_back(partition.sent.front().ticket);
  partition.sent.pop_front();
}

// The batch that holds the refused message, with what happens to be in it; gapless: nothing behind
// it lands, anywhere, since the producer ends.
void ModelBroker::Reject(Partition& partition) {
  const bool alone = partition.sent.front().alone && partition.sent.size() == 1;
  const absl::Status status =
      alone ? absl::InvalidArgumentError("rejected") : absl::AbortedError("a batch was rejected");
  const std::size_t batch = dice_.Between(1, partition.sent.size());
  for (std::size_t i = 0; i < batch; ++i) {
    receipts_.push_back({partition.sent.front().ticket, status});
    partition.sent.pop_front();
  }
  FailAll(absl::UnavailableError("purged"));
}

void ModelBroker::Step() {
  const std::size_t first = dice_.Below(kPartitions);
  for (std::size_t i = 0; i < kPartitions; ++i) {
    Partition& partition = partitions_[(first + i) % kPartitions];
    const bool can_land = !partition.sent.empty();
    const bool can_acknowledge = !partition.unacknowledged.empty();
    if (can_acknowledge && (!can_land || dice_.Percent(50))) {
      receipts_.push_back({partition.unacknowledged.front(), absl::OkStatus()});
      partition.unacknowledged.pop_front();
      return;
    }
    if (can_land) {
      if (partition.sent.front().refused) return Reject(partition);
      return Land(partition);
    }
  }
}

void ModelBroker::LandPrefixes() {
  for (Partition& partition : partitions_) {
    std::size_t landing = dice_.Below(partition.sent.size() + 1);
    for (; landing > 0 && !partition.sent.front().refused; --landing) Land(partition);
  }
}

void ModelBroker::FailAll(const absl::Status& status) {
  for (Partition& partition : partitions_) {
    for (const Ticket ticket : partition.unacknowledged) receipts_.push_back({ticket, status});
    for (const Message& message : partition.sent) receipts_.push_back({message.ticket, status});
    partition = {};
  }
  failed_ = true;
}

void ModelBroker::Break() {
  LandPrefixes();
  FailAll(absl::UnavailableError("the producer failed"));
}

void ModelBroker::Abandon() {
  LandPrefixes();
  BeginProducer();
}

std::vector<Receipt> ModelBroker::TakeReceipts() {
  // In any order: partitions answer when they like.
  for (std::size_t i = receipts_.size(); i > 1; --i) {
    std::swap(receipts_[i - 1], receipts_[dice_.Below(i)]);
  }
  return std::exchange(receipts_, {});
}

}  // namespace walpost::simulation
