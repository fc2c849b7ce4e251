#include "sink/kafka/topic_tail.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"
#include "sink/kafka/handles.h"
#include "sink/kafka/producer_config.h"
#include "sink/kafka/token_command.h"

namespace walpost::sink {
namespace {

using namespace kafka;  // NOLINT: the folder's own names

using RecordHandle = Handle<rd_kafka_message_t, rd_kafka_message_destroy>;
using PartitionsHandle =
    Handle<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;

constexpr int kMetadataTimeoutMs = 500;
constexpr int kMetadataAttempts = 20;
constexpr int kPollMs = 200;

struct Consumer {
  Consumer() = default;
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;
  // A command that runs still uses the handle, which may call for another while it goes.
  ~Consumer() { tokens.reset(); }

  std::unique_ptr<TokenCommand> tokens;  // null without kafka.token_command
  ProducerHandle handle;
};

void RefreshToken(rd_kafka_t*, const char*, void* opaque) {
  if (auto& tokens = static_cast<Consumer*>(opaque)->tokens) tokens->Refresh();
}

// Its callbacks are called from rd_kafka_consumer_poll() only.
absl::Status MakeConsumer(const Settings& settings, Consumer& consumer) {
  ASSIGN_OR_RETURN(ConfHandle conf, ConsumerConf(settings));
  const auto command = settings.GetList("kafka.token_command");
  rd_kafka_conf_set_opaque(conf.get(), &consumer);
  if (!command.empty()) rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf.get(), &RefreshToken);
  char text[512];
  consumer.handle.reset(rd_kafka_new(RD_KAFKA_CONSUMER, conf.get(), text, sizeof text));
  if (consumer.handle == nullptr) {
    return WithExitCode(Error(absl::StatusCode::kInvalidArgument,
                              absl::StrCat("kafka settings don't work together: ", text)),
                        ExitCode::kConfiguration);
  }
  (void)conf.release();
  rd_kafka_poll_set_consumer(consumer.handle.get());
  if (!command.empty()) {
    ASSIGN_OR_RETURN(EventFd stop, EventFd::Create());
    consumer.tokens =
        std::make_unique<TokenCommand>(consumer.handle.get(), command, std::move(stop));
  }
  return absl::OkStatus();
}

bool IsWanted(const TailOptions& options, std::string_view topic) {
  if (options.topics.empty()) {
    return topic.substr(0, options.prefix.size()) == options.prefix && topic.substr(0, 2) != "__";
  }
  for (const std::string& wanted : options.topics) {
    if (wanted == topic) return true;
  }
  return false;
}

absl::StatusOr<PartitionsHandle> PartitionsOf(rd_kafka_t* consumer, const TailOptions& options) {
  const struct rd_kafka_metadata* answer = nullptr;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
  for (int i = 0; i < kMetadataAttempts && error != RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    // Nothing is assigned yet: this only calls for a token where one is wanted.
    const RecordHandle none(rd_kafka_consumer_poll(consumer, 0));
    error = rd_kafka_metadata(consumer, 1, nullptr, &answer, kMetadataTimeoutMs);
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat("no broker answers: ", rd_kafka_err2str(error)));
  }
  const MetadataHandle metadata(answer);
  PartitionsHandle partitions(rd_kafka_topic_partition_list_new(16));
  std::set<std::string_view> found;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic& topic = metadata->topics[i];
    if (!IsWanted(options, topic.topic)) continue;
    found.insert(topic.topic);
    for (int p = 0; p < topic.partition_cnt; ++p) {
      rd_kafka_topic_partition_list_add(partitions.get(), topic.topic, topic.partitions[p].id)
          ->offset = options.from_beginning ? RD_KAFKA_OFFSET_BEGINNING : RD_KAFKA_OFFSET_END;
    }
  }
  for (const std::string& wanted : options.topics) {
    if (found.contains(wanted)) continue;
    return Error(absl::StatusCode::kFailedPrecondition,
                 absl::StrCat("topic '", wanted, "' does not exist, or may not be seen"));
  }
  if (partitions->cnt == 0) {
    return WithHint(Error(absl::StatusCode::kFailedPrecondition,
                          absl::StrCat("no topic begins with '", options.prefix, "'")),
                    "name the topics: walpost tail TOPIC ...");
  }
  return partitions;
}

// As the sinks see a message; views `record`.
outbox::Message MessageFrom(const rd_kafka_message_t& record,
                            std::vector<outbox::MessageHeader>& headers) {
  headers.clear();
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(&record, &list) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(list, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      headers.push_back({name, {static_cast<const char*>(value), value != nullptr ? size : 0}});
    }
  }
  const auto bytes = [](const void* data, std::size_t size) {
    return data == nullptr ? std::nullopt
                           : std::optional(std::string_view(static_cast<const char*>(data), size));
  };
  return {.topic = rd_kafka_topic_name(record.rkt),
          .key = bytes(record.key, record.key_len),
          .value = bytes(record.payload, record.len),
          .headers = headers,
          .timestamp = absl::FromUnixMillis(rd_kafka_message_timestamp(&record, nullptr))};
}

}  // namespace

absl::Status TailTopics(const Settings& settings, const TailOptions& options, OnRecord on_record) {
  Consumer consumer;
  RETURN_IF_ERROR(MakeConsumer(settings, consumer));
  ASSIGN_OR_RETURN(const PartitionsHandle partitions, PartitionsOf(consumer.handle.get(), options));
  if (const auto error = rd_kafka_assign(consumer.handle.get(), partitions.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kUnavailable, rd_kafka_err2str(error));
  }
  std::set<std::pair<std::string, std::int32_t>> ended;
  std::vector<outbox::MessageHeader> headers;
  while (options.follow || ended.size() < static_cast<std::size_t>(partitions->cnt)) {
    const RecordHandle record(rd_kafka_consumer_poll(consumer.handle.get(), kPollMs));
    if (record == nullptr) {
      if (!on_record(nullptr)) break;
    } else if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      ended.emplace(rd_kafka_topic_name(record->rkt), record->partition);
    } else if (record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Error(absl::StatusCode::kUnavailable, rd_kafka_message_errstr(record.get()));
    } else {
      const outbox::Message message = MessageFrom(*record, headers);
      if (!on_record(&message)) break;
    }
  }
  return absl::OkStatus();
}

}  // namespace walpost::sink
