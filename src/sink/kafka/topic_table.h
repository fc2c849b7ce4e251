// The topics of one producer, as the loop knows them: partitions, and what is outstanding on each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/limits.h"
#include "sink/kafka/handles.h"

namespace walpost::sink::kafka {

struct Partition {
  std::uint32_t outstanding = 0;  // accepted, without a receipt
  // The broker has acknowledged a message of this producer here, and remembers. Before that it
  // takes any sequence number, so one behind a rejected first one would be delivered.
  bool proven = false;
  bool alone = false;  // what is outstanding never had company: it makes a batch of its own
  MonotonicTime proven_at;

  // One more may be sent.
  bool HasRoom() const { return proven || outstanding == 0; }
  void Accepted() {
    alone = outstanding == 0;
    ++outstanding;
  }
  void Proven(MonotonicTime now) {
    proven = true;
    proven_at = now;
  }
  // Brokers forget an idle producer (producer.id.expiration.ms). Requires: nothing is outstanding.
  void ForgetOldProof(MonotonicTime now) {
    if (now - proven_at > limits::kPartitionProof) proven = false;
  }
};

struct Topic {
  std::string name;
  TopicHandle handle;
  std::vector<Partition> partitions;             // empty: not known yet
  std::optional<std::size_t> max_message_bytes;  // of a batch, where the brokers tell
  absl::Status refusal;                          // no message can go there
  std::size_t keyless = 0;                       // messages without a key so far

  // Murmur2 of the key; without one, partitions take turns by runs. Requires: partitions are known.
  std::int32_t PartitionFor(std::optional<std::string_view> key) const;
};

// Thread: loop only. Topics live as long as the table, which must be gone before the producer.
class TopicTable {
 public:
  explicit TopicTable(rd_kafka_t* producer) : producer_(producer) {}

  // Null if the topic wasn't opened. The last topic asked for costs one comparison.
  Topic* Find(std::string_view name);

  // Requires: not open yet. Errors: kInvalidArgument (not a topic's name), kUnavailable.
  absl::StatusOr<Topic*> Open(std::string_view name);

  // The topic behind librdkafka's handle, as reports carry it.
  static Topic* Of(const rd_kafka_topic_t* handle) {
    return static_cast<Topic*>(rd_kafka_topic_opaque(handle));
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return absl::Hash<std::string_view>()(name);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };

  rd_kafka_t* producer_;
  absl::flat_hash_map<std::string, std::unique_ptr<Topic>, Hash, Equal> topics_;
  Topic* last_ = nullptr;
};

}  // namespace walpost::sink::kafka
