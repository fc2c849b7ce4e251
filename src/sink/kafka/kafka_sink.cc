#include "sink/kafka/kafka_sink.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status.h"
#include "sink/kafka/delivery_error.h"
#include "sink/kafka/record_size.h"

namespace walpost::sink::kafka {
namespace {

static_assert(sizeof(void*) >= sizeof(Ticket::Value), "a ticket travels as librdkafka's opaque");

absl::Status TooLarge(std::size_t size, std::size_t limit, std::string_view topic) {
  return WithHint(
      Error(absl::StatusCode::kInvalidArgument,
            absl::StrCat("message of ", size, " bytes for topic '", ToAbsl(topic),
                         "' is larger than its max.message.bytes of ", limit)),
      "raise max.message.bytes of the topic (and what consumers fetch), or send it to the "
      "dead-letter topic");
}

// librdkafka takes a null pointer for "none", and an empty view may have one.
const char* NotNull(std::string_view text) { return text.data() ? text.data() : ""; }

// Key or value as librdkafka wants it: it copies, but takes a pointer that isn't const.
struct Bytes {
  explicit Bytes(std::optional<std::string_view> text)
      : data(text ? const_cast<char*>(NotNull(*text)) : nullptr),  // NOLINT: not written to
        size(text ? text->size() : 0) {}
  void* data;
  std::size_t size;
};

}  // namespace

KafkaSink::KafkaSink(EventFd ready, ProducerHandle producer, bool create_topics, Memory& memory)
    : memory_(memory),
      ready_(std::move(ready)),
      producer_(std::move(producer)),
      events_(rd_kafka_queue_get_main(producer_.get())),
      topics_(producer_.get()) {
  static const std::uint64_t one = 1;
  rd_kafka_queue_io_event_enable(events_.get(), ready_.fd(), &one, sizeof one);
  // What was queued before that gave no signal, and nothing behind it would.
  ready_.Signal();
  resolver_.emplace(producer_.get(), ready_, create_topics);
}

KafkaSink::~KafkaSink() {
  // Without the purge librdkafka would wait for what is in flight.
  Purge();
  resolver_.reset();
  tokens_.reset();
  rd_kafka_queue_io_event_enable(events_.get(), -1, nullptr, 0);
}

absl::Status KafkaSink::Expect(const std::string& topic) {
  expected_.insert(topic);
  return KnownTopic(topic).status();
}

absl::StatusOr<Admission> KafkaSink::Submit(Ticket ticket, const outbox::Message& message) {
  if (!failure_.ok()) return failure_;
  if (draining_) return Error(absl::StatusCode::kFailedPrecondition, "kafka sink is closed");
  ASSIGN_OR_RETURN(Topic * topic, KnownTopic(message.topic));
  if (topic == nullptr || too_large_batches_) return Admission::kFull;
  if (topic->max_message_bytes) {
    const std::size_t size = BatchSizeOf(message);
    if (size > *topic->max_message_bytes) {
      return TooLarge(size, *topic->max_message_bytes, topic->name);
    }
  }
  if (message.timestamp < absl::UnixEpoch()) {
    return Error(absl::StatusCode::kInvalidArgument, "timestamp before 1970: brokers refuse it");
  }

  const std::int32_t index = topic->PartitionFor(message.key);
  Partition& partition = topic->partitions[static_cast<std::size_t>(index)];
  if (partition.outstanding == 0) partition.ForgetOldProof(MonotonicNow());
  if (!partition.HasRoom()) return Admission::kFull;

  const rd_kafka_resp_err_t error = Produce(ticket, message, *topic, index);
  if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) return Admission::kFull;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return Refused(error, message);
  if (!message.key) ++topic->keyless;
  partition.Accepted();
  if (outstanding_++ == 0) progress_ = MonotonicNow();
  return Admission::kAccepted;
}

absl::StatusOr<Topic*> KafkaSink::KnownTopic(std::string_view name) {
  Topic* topic = topics_.Find(name);
  if (topic == nullptr) {
    ASSIGN_OR_RETURN(topic, topics_.Open(name));
    resolver_->Resolve(topic->handle.get());
  }
  if (!topic->refusal.ok()) return topic->refusal;
  return topic->partitions.empty() ? nullptr : topic;
}

rd_kafka_resp_err_t KafkaSink::Produce(Ticket ticket, const outbox::Message& message, Topic& topic,
                                       std::int32_t partition) {
  HeadersHandle headers;
  if (!message.headers.empty()) {
    headers.reset(rd_kafka_headers_new(message.headers.size()));
    for (const outbox::MessageHeader& header : message.headers) {
      rd_kafka_header_add(headers.get(), NotNull(header.name),
                          static_cast<ssize_t>(header.name.size()), NotNull(header.value),
                          static_cast<ssize_t>(header.value.size()));
    }
  }
  const Bytes key(message.key);
  const Bytes value(message.value);
  void* const opaque = reinterpret_cast<void*>(ticket.value);  // NOLINT: TakeReports casts it back
  // Zero stands for "now" in librdkafka.
  const std::int64_t timestamp = std::max<std::int64_t>(1, absl::ToUnixMillis(message.timestamp));
  // The types are those of the macros RD_KAFKA_V_…, which are no standard C++.
  const int flags = RD_KAFKA_MSG_F_COPY;
  const rd_kafka_resp_err_t error = rd_kafka_producev(
      producer_.get(), RD_KAFKA_VTYPE_RKT, topic.handle.get(), RD_KAFKA_VTYPE_PARTITION, partition,
      RD_KAFKA_VTYPE_MSGFLAGS, flags, RD_KAFKA_VTYPE_KEY, key.data, key.size, RD_KAFKA_VTYPE_VALUE,
      value.data, value.size, RD_KAFKA_VTYPE_TIMESTAMP, timestamp, RD_KAFKA_VTYPE_HEADERS,
      headers.get(), RD_KAFKA_VTYPE_OPAQUE, opaque, RD_KAFKA_VTYPE_END);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) (void)headers.release();
  return error;
}

absl::Status KafkaSink::Refused(rd_kafka_resp_err_t error, const outbox::Message& message) {
  if (error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
    return WithHint(
        Error(absl::StatusCode::kInvalidArgument,
              absl::StrCat("message of ", message.size(), " bytes for topic '",
                           ToAbsl(message.topic), "' is larger than message.max.bytes allows")),
        "raise message.max.bytes in [kafka.properties], and max.message.bytes of the topic");
  }
  Fail(error == RD_KAFKA_RESP_ERR__FATAL
           ? TakeFatal()
           : Error(absl::StatusCode::kUnavailable,
                   absl::StrCat("producing to topic '", ToAbsl(message.topic),
                                "': ", rd_kafka_err2str(error))),
       error == RD_KAFKA_RESP_ERR__FATAL);
  return failure_;
}

void KafkaSink::TakeReceipts(std::vector<Receipt>& receipts) {
  ready_.Clear();
  TakeNews();
  for (std::size_t i = 0; i < limits::kClientEventsPerTake; ++i) {
    const EventHandle event(rd_kafka_queue_poll(events_.get(), 0));
    if (event == nullptr) {
      if (too_large_batches_ && outstanding_ == 0) {
        Fail(Error(absl::StatusCode::kUnavailable, "smaller batches need a new producer"), true);
      }
      return;
    }
    TakeEvent(event.get(), receipts);
  }
  ready_.Signal();  // there may be more
}

void KafkaSink::TakeNews() {
  TopicResolver::News news = resolver_->Take();
  if (news.reached) Connected();
  for (TopicResolver::Answer& answer : news.answers) {
    Topic& topic = *TopicTable::Of(answer.topic);
    expected_.erase(topic.name);
    if (answer.facts.ok()) {
      topic.partitions.resize(static_cast<std::size_t>(answer.facts->partitions));
      topic.max_message_bytes = answer.facts->max_message_bytes;
      const auto [known, first] =
          memory_.partitions.try_emplace(topic.name, answer.facts->partitions);
      if (!first && known->second != answer.facts->partitions) {
        log::Warning(
            "a topic has another number of partitions: keys move, and their order with them",
            {{"topic", topic.name}, {"before", known->second}, {"now", answer.facts->partitions}});
        known->second = answer.facts->partitions;
      }
      Suit(topic);
    } else if (answer.facts.status().code() == absl::StatusCode::kInvalidArgument) {
      topic.refusal = answer.facts.status();
    } else {
      Fail(answer.facts.status(), false);
    }
  }
}

// A producer has one size of batches. What is under way suits its topics, so it lands first.
void KafkaSink::Suit(const Topic& topic) {
  if (!topic.max_message_bytes) return;  // the default, which the first batches suit
  const std::size_t safe = SafeBatchBytes(*topic.max_message_bytes);
  if (safe >= memory_.batch_bytes) return;
  log::Info("a topic takes smaller batches: the producer is made anew",
            {{"topic", topic.name}, {"max.message.bytes", *topic.max_message_bytes}});
  memory_.batch_bytes = safe;
  too_large_batches_ = true;
}

void KafkaSink::TakeEvent(rd_kafka_event_t* event, std::vector<Receipt>& receipts) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_DR:
      TakeReports(event, receipts);
      break;
    case RD_KAFKA_EVENT_ERROR:
      TakeError(event);
      break;
    case RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH:
      if (tokens_) tokens_->Refresh();
      break;
    case RD_KAFKA_EVENT_LOG: {
      const char* facility = "";
      const char* text = "";
      int severity = 0;
      if (rd_kafka_event_log(event, &facility, &text, &severity) == 0) {
        client_log_.Line(severity, facility, text, MonotonicNow());
      }
      break;
    }
    default:
      break;  // nothing else is asked for
  }
}

void KafkaSink::TakeReports(rd_kafka_event_t* event, std::vector<Receipt>& receipts) {
  progress_ = MonotonicNow();
  while (const rd_kafka_message_t* report = rd_kafka_event_message_next(event)) {
    const Ticket ticket(reinterpret_cast<Ticket::Value>(report->_private));  // NOLINT: see Produce
    receipts.push_back(Receipt{ticket, TakeReport(*report)});
    WALPOST_CHECK(outstanding_ > 0);
    --outstanding_;
    if (receipts.back().status.ok() && !connected_) Connected();
  }
}

absl::Status KafkaSink::TakeReport(const rd_kafka_message_t& report) {
  Topic& topic = *TopicTable::Of(report.rkt);
  const auto index = static_cast<std::size_t>(report.partition);
  WALPOST_CHECK(index < topic.partitions.size());
  Partition& partition = topic.partitions[index];
  WALPOST_CHECK(partition.outstanding > 0);
  --partition.outstanding;
  if (report.err == RD_KAFKA_RESP_ERR_NO_ERROR &&
      rd_kafka_message_status(&report) == RD_KAFKA_MSG_STATUS_PERSISTED) {
    partition.Proven(progress_);
    return absl::OkStatus();
  }
  absl::Status status = DeliveryError(report.err, partition.alone, topic.name, report.partition);
  Fail(status, IsConsequence(report.err));
  return status;
}

void KafkaSink::TakeError(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  const char* text = rd_kafka_event_error_string(event);
  if (error == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event) != 0) {
    // Mostly a report follows that says more; where none does (not permitted at all), this stands.
    Fail(TakeFatal(), true);
    return;
  }
  client_log_.ClientError(rd_kafka_err2name(error), text, MonotonicNow());
  if (error == RD_KAFKA_RESP_ERR__AUTHENTICATION && !connected_) RefusedCredentials(text);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    connected_ = false;
    resolver_->Probe();
  } else {
    trouble_ = text;  // says why: refused, not resolved, not authenticated
  }
}

absl::Status KafkaSink::TakeFatal() {
  char text[512];
  const rd_kafka_resp_err_t error = rd_kafka_fatal_error(producer_.get(), text, sizeof text);
  return FatalError(error, text);
}

// The credentials may have been changed: a new session reads them again.
void KafkaSink::RefusedCredentials(const char* text) {
  const MonotonicTime now = MonotonicNow();
  if (refused_since_ == MonotonicTime::Never()) refused_since_ = now;
  if (now - refused_since_ < limits::kCredentialsRefused) return;
  Fail(Error(absl::StatusCode::kUnavailable, absl::StrCat("not authenticated: ", text)), false);
}

void KafkaSink::Connected() {
  connected_ = true;
  refused_since_ = MonotonicTime::Never();
  trouble_.clear();
}

void KafkaSink::Fail(const absl::Status& cause, bool is_consequence) {
  if (!failure_.ok() && (!failure_is_consequence_ || is_consequence)) return;
  failure_ = SinkFailure(cause);
  failure_is_consequence_ = is_consequence;
  Purge();
}

void KafkaSink::Purge() {
  rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                      RD_KAFKA_PURGE_F_NON_BLOCKING);
}

SinkHealth KafkaSink::health() const {
  if (!failure_.ok()) return SinkHealth{false, std::string(MessageOf(failure_))};
  if (!connected_) {
    return SinkHealth{false, trouble_.empty() ? "all brokers are down" : trouble_};
  }
  if (!expected_.empty()) {
    return SinkHealth{false, absl::StrCat("looking for topic '", *expected_.begin(), "'")};
  }
  if (outstanding_ > 0) {
    const absl::Duration silent = MonotonicNow() - progress_;
    if (silent >= limits::kSinkSilent) {
      return SinkHealth{
          false, absl::StrCat("nothing acknowledged for ", absl::ToInt64Seconds(silent), " s")};
    }
  }
  return SinkHealth{true, ""};
}

}  // namespace walpost::sink::kafka
