#include "sink/kafka/topic_resolver.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"
#include "sink/quiet_thread.h"

namespace walpost::sink::kafka {
namespace {

int Milliseconds(absl::Duration d) { return static_cast<int>(absl::ToInt64Milliseconds(d)); }

absl::Status Missing(std::string_view topic, bool create_topics) {
  const std::string hint =
      create_topics
          ? "it was created and isn't there: look at the broker's log"
          : absl::StrCat(
                "create it (kafka-topics.sh --bootstrap-server HOST:PORT --create --topic ",
                ToAbsl(topic), "), or set kafka.create_topics = true");
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                     absl::StrCat("topic '", ToAbsl(topic), "' does not exist")),
                               hint),
                      ExitCode::kConfiguration);
}

absl::Status NotPermitted(std::string_view action, std::string_view topic,
                          std::string_view operations) {
  return WithHint(
      Error(absl::StatusCode::kPermissionDenied,
            absl::StrCat("not permitted to ", ToAbsl(action), " topic '", ToAbsl(topic), "'")),
      absl::StrCat("grant the relay's principal ", ToAbsl(operations)));
}

absl::Status NotCreated(std::string_view topic, std::string_view reason) {
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                     absl::StrCat("topic '", ToAbsl(topic),
                                                  "' can't be created: ", ToAbsl(reason))),
                               "create it by hand, with the partitions and replication it needs"),
                      ExitCode::kConfiguration);
}

// Of a CreateTopics answer: the error says that asking again may help.
bool MayHeal(rd_kafka_resp_err_t error) {
  return error < 0 || error == RD_KAFKA_RESP_ERR_NOT_CONTROLLER ||
         error == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
         error == RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE ||
         error == RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION ||
         error == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
         error == RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED;
}

// nullopt: not told, and `reason` says why.
std::optional<std::size_t> ReadMaxMessageBytes(const rd_kafka_event_t& event, std::string& reason) {
  auto* answer =
      const_cast<rd_kafka_event_t*>(&event);  // NOLINT: librdkafka's getters take no const
  if (const auto error = rd_kafka_event_error(answer); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    reason = rd_kafka_event_error_string(answer);
    return std::nullopt;
  }
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DescribeConfigs_result(answer);
  auto* const* resources =
      result ? rd_kafka_DescribeConfigs_result_resources(result, &count) : nullptr;
  if (count != 1 || rd_kafka_ConfigResource_error(resources[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    reason = count == 1 ? rd_kafka_ConfigResource_error_string(resources[0]) : "no such topic";
    return std::nullopt;
  }
  const auto* const* entries = rd_kafka_ConfigResource_configs(resources[0], &count);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::string_view(rd_kafka_ConfigEntry_name(entries[i])) != "max.message.bytes") continue;
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    std::size_t bytes = 0;
    if (value != nullptr && absl::SimpleAtoi(value, &bytes)) return bytes;
  }
  reason = "not among the topic's settings";
  return std::nullopt;
}

}  // namespace

TopicResolver::TopicResolver(rd_kafka_t* producer, const EventFd& ready, bool create_topics)
    : producer_(producer),
      ready_(ready),
      create_topics_(create_topics),
      timeout_(limits::kFirstMetadataTimeout),
      thread_(StartQuietThread([this] { Run(); })) {}

TopicResolver::~TopicResolver() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  thread_.join();
}

void TopicResolver::Resolve(rd_kafka_topic_t* topic) {
  const MutexLock lock(mutex_);
  requests_.push_back(topic);
}

void TopicResolver::Probe() {
  const MutexLock lock(mutex_);
  probe_ = true;
}

TopicResolver::News TopicResolver::Take() {
  const MutexLock lock(mutex_);
  return std::exchange(news_, News());
}

void TopicResolver::Run() {
  std::vector<Pending> pending;
  bool probe = false;
  while (Collect(pending, probe)) AskAll(pending, probe);
}

bool TopicResolver::Collect(std::vector<Pending>& pending, bool& probe) {
  const MutexLock lock(mutex_);
  const auto has_request = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_ || !requests_.empty();
  };
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_ || probe_ || !requests_.empty();
  };
  if (pending.empty() && !probe_) {
    mutex_.Await(has_work);
  } else if (!pending.empty() || probe) {
    // Questions that had no good answer a moment ago.
    mutex_.AwaitFor(has_request, limits::kMetadataSpacing);
  }
  for (rd_kafka_topic_t* topic : requests_) pending.push_back(Pending{topic});
  requests_.clear();
  probe = probe_;
  return !stop_;
}

void TopicResolver::AskAll(std::vector<Pending>& pending, bool probe) {
  if (pending.empty() && probe) {
    // Without a topic it asks about brokers alone.
    if (Ask(known_) != nullptr) PublishReached();
    return;
  }
  for (std::size_t i = 0; i < pending.size() && !stopping();) {
    const MetadataHandle metadata = Ask(pending[i].topic);
    bool answered = false;
    if (metadata == nullptr || metadata->topic_cnt != 1) {
      // Only time in which brokers answer counts against a topic.
      pending[i].missing_since = MonotonicTime::Never();
    } else {
      PublishReached();
      answered = Judge(pending[i], metadata->topics[0]);
    }
    if (answered) {
      pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

MetadataHandle TopicResolver::Ask(rd_kafka_topic_t* topic) {
  const struct rd_kafka_metadata* metadata = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(producer_, 0, topic, &metadata, Milliseconds(timeout_));
  // A connected broker that is slow gets more time; waiting longer for one that isn't there would
  // only hold up the destructor.
  timeout_ = error == RD_KAFKA_RESP_ERR__TIMED_OUT
                 ? std::min(timeout_ * 2, limits::kMostMetadataTimeout)
                 : limits::kFirstMetadataTimeout;
  return MetadataHandle(error == RD_KAFKA_RESP_ERR_NO_ERROR ? metadata : nullptr);
}

bool TopicResolver::Judge(Pending& pending, const rd_kafka_metadata_topic& metadata) {
  const char* name = rd_kafka_topic_name(pending.topic);
  switch (static_cast<int>(metadata.err)) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      if (metadata.partition_cnt == 0) return false;  // being created
      known_ = pending.topic;
      Publish(pending.topic, TopicFacts{metadata.partition_cnt, MaxMessageBytes(pending.topic)});
      return true;
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      Publish(pending.topic, Error(absl::StatusCode::kInvalidArgument,
                                   absl::StrCat("brokers refuse the topic name '", name, "'")));
      return true;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return JudgeMissing(pending, metadata.err);
    default:
      return false;  // LEADER_NOT_AVAILABLE and the like pass
  }
}

bool TopicResolver::JudgeMissing(Pending& pending, rd_kafka_resp_err_t error) {
  const bool forbidden = error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
  const MonotonicTime now = MonotonicNow();
  if (create_topics_ && !pending.created && !forbidden) return Create(pending);
  if (pending.missing_since == MonotonicTime::Never()) pending.missing_since = now;
  if (now - pending.missing_since < limits::kTopicMissing) return false;
  const char* name = rd_kafka_topic_name(pending.topic);
  Publish(pending.topic,
          forbidden
              ? NotPermitted("see", name, absl::StrCat("Describe and Write on topic '", name, "'"))
              : Missing(name, create_topics_));
  return true;
}

bool TopicResolver::Create(Pending& pending) {
  const char* name = rd_kafka_topic_name(pending.topic);
  const EventHandle event = AwaitCreated(pending.topic);
  if (event == nullptr) return false;  // stopping, or no answer: the next round tries again
  rd_kafka_resp_err_t error = rd_kafka_event_error(event.get());
  std::string reason = rd_kafka_event_error_string(event.get());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreateTopics_result(event.get());
  const auto* topics = result ? rd_kafka_CreateTopics_result_topics(result, &count) : nullptr;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR && count == 1) {
    error = rd_kafka_topic_result_error(topics[0]);
    const char* text = rd_kafka_topic_result_error_string(topics[0]);
    reason = text ? text : rd_kafka_err2str(error);
  }
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) log::Info("topic created", {{"topic", name}});
    pending.created = true;
    return false;  // until metadata shows it
  }
  if (MayHeal(error)) return false;
  const bool forbidden = error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                         error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
  Publish(pending.topic,
          forbidden ? NotPermitted("create", name, "Create on the cluster, or create it by hand")
                    : NotCreated(name, reason));
  return true;
}

EventHandle TopicResolver::AwaitCreated(rd_kafka_topic_t* topic) {
  constexpr int kBrokerDefault = -1;
  char text[256];
  const NewTopicHandle spec(rd_kafka_NewTopic_new(rd_kafka_topic_name(topic), kBrokerDefault,
                                                  kBrokerDefault, text, sizeof text));
  if (spec == nullptr) return nullptr;
  rd_kafka_NewTopic_t* specs[] = {spec.get()};
  const QueueHandle queue(rd_kafka_queue_new(producer_));
  rd_kafka_CreateTopics(producer_, specs, 1, nullptr, queue.get());
  return Await(queue.get(), limits::kCreateTopicTimeout);
}

std::optional<std::size_t> TopicResolver::MaxMessageBytes(rd_kafka_topic_t* topic) {
  if (!describes_) return std::nullopt;
  const char* name = rd_kafka_topic_name(topic);
  const ConfigResourceHandle resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  const QueueHandle queue(rd_kafka_queue_new(producer_));
  rd_kafka_DescribeConfigs(producer_, resources, 1, nullptr, queue.get());
  const EventHandle event = Await(queue.get(), limits::kDescribeTimeout);
  describes_ = event != nullptr;
  std::string reason = "no answer in time";
  if (event != nullptr) {
    const auto limit = ReadMaxMessageBytes(*event, reason);
    if (limit) return limit;
  }
  if (!stopping()) {
    log::Info("the largest batch of a topic can't be read: batches suit the brokers' default",
              {{"topic", name},
               {"max.message.bytes", limits::kDefaultMaxMessageBytes},
               {"reason", reason}});
  }
  return std::nullopt;
}

EventHandle TopicResolver::Await(rd_kafka_queue_t* queue, absl::Duration timeout) {
  const MonotonicTime deadline = MonotonicNow() + timeout;
  while (!stopping() && MonotonicNow() < deadline) {
    EventHandle event(rd_kafka_queue_poll(queue, Milliseconds(limits::kMetadataSpacing)));
    if (event != nullptr) return event;
  }
  return nullptr;
}

void TopicResolver::Publish(rd_kafka_topic_t* topic, absl::StatusOr<TopicFacts> facts) {
  {
    const MutexLock lock(mutex_);
    news_.answers.push_back(Answer{topic, std::move(facts)});
  }
  ready_.Signal();
}

void TopicResolver::PublishReached() {
  {
    const MutexLock lock(mutex_);
    probe_ = false;
    if (std::exchange(news_.reached, true)) return;
  }
  ready_.Signal();
}

bool TopicResolver::stopping() {
  const MutexLock lock(mutex_);
  return stop_;
}

}  // namespace walpost::sink::kafka
