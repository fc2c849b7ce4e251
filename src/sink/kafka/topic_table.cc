#include "sink/kafka/topic_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "outbox/routing.h"
#include "sink/kafka/murmur2.h"

namespace walpost::sink::kafka {

std::int32_t Topic::PartitionFor(std::optional<std::string_view> key) const {
  if (key) return PartitionOf(*key, static_cast<std::int32_t>(partitions.size()));
  return static_cast<std::int32_t>(keyless / limits::kKeylessRun % partitions.size());
}

Topic* TopicTable::Find(std::string_view name) {
  if (last_ != nullptr && last_->name == name) return last_;
  const auto found = topics_.find(name);
  if (found == topics_.end()) return nullptr;
  last_ = found->second.get();
  return last_;
}

absl::StatusOr<Topic*> TopicTable::Open(std::string_view name) {
  if (!outbox::IsTopicName(name)) {
    return Error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("'", ToAbsl(name), "' is not a topic's name"));
  }
  auto topic = std::make_unique<Topic>();
  topic->name = name;
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(producer_);
  rd_kafka_topic_conf_set_opaque(conf, topic.get());
  // Takes over conf, also when it fails. Local: it asks the brokers, but doesn't wait.
  topic->handle.reset(rd_kafka_topic_new(producer_, topic->name.c_str(), conf));
  if (topic->handle == nullptr) {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat("opening topic '", topic->name,
                              "': ", rd_kafka_err2str(rd_kafka_last_error())));
  }
  last_ = topic.get();
  topics_.emplace(topic->name, std::move(topic));
  return last_;
}

}  // namespace walpost::sink::kafka
