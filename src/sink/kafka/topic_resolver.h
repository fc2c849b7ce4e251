// Asks the brokers about topics: how many partitions and how large a batch, or missing; creates
// missing ones where that is configured. librdkafka's metadata call blocks, so it has a thread of
// its own here.
//
// Also the sink's probe: it asks until any broker answers.
//
// Thread: owns one, see Run(). The public functions are for the loop.
#pragma once

#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/limits.h"
#include "sink/event_fd.h"
#include "sink/kafka/handles.h"
#include "sink/mutex.h"

namespace walpost::sink::kafka {

class TopicResolver {
 public:
  struct TopicFacts {
    int partitions = 0;
    std::optional<std::size_t> max_message_bytes;  // none: it can't be read
  };
  // What the cluster says of one topic.
  //
  // Errors: kFailedPrecondition (missing, or can't be created), kPermissionDenied, kInvalidArgument
  // (the brokers refuse the name).
  struct Answer {
    rd_kafka_topic_t* topic;
    absl::StatusOr<TopicFacts> facts;
  };
  struct News {
    std::vector<Answer> answers;
    bool reached = false;  // a broker has answered since the last Take()
  };

  // `producer` and `ready` must outlive it. `ready` is signalled when there is news.
  TopicResolver(rd_kafka_t* producer, const EventFd& ready, bool create_topics);
  // Waits for a request under way, at most limits::kMostMetadataTimeout.
  ~TopicResolver();

  // Exactly one Answer will follow, as soon as brokers answer. `topic` must outlive this object.
  void Resolve(rd_kafka_topic_t* topic);

  // Asks until a broker answers.
  void Probe();

  News Take();

 private:
  struct Pending {
    rd_kafka_topic_t* topic;
    MonotonicTime missing_since = MonotonicTime::Never();  // Never(): not known to be missing
    bool created = false;
  };

  void Run();
  // Moves new requests to `pending`; false if it is time to stop.
  bool Collect(std::vector<Pending>& pending, bool& probe);
  // One question about each pending topic; those that are answered for good leave the list.
  void AskAll(std::vector<Pending>& pending, bool probe);
  // Null if no broker answered in time.
  MetadataHandle Ask(rd_kafka_topic_t* topic);
  bool Judge(Pending& pending, const rd_kafka_metadata_topic& metadata);
  bool JudgeMissing(Pending& pending, rd_kafka_resp_err_t error);
  // True if an answer was published: it can't be created.
  bool Create(Pending& pending);
  EventHandle AwaitCreated(rd_kafka_topic_t* topic);
  // max.message.bytes of the topic, where it can be read.
  std::optional<std::size_t> MaxMessageBytes(rd_kafka_topic_t* topic);
  // The answer to a request of the admin interface; null: none in time, or stopping.
  EventHandle Await(rd_kafka_queue_t* queue, absl::Duration timeout);
  void Publish(rd_kafka_topic_t* topic, absl::StatusOr<TopicFacts> facts);
  void PublishReached();
  bool stopping();

  rd_kafka_t* const producer_;
  const EventFd& ready_;
  const bool create_topics_;

  // Of the thread alone.
  absl::Duration timeout_;
  bool describes_ = true;              // brokers have not left that question unanswered
  rd_kafka_topic_t* known_ = nullptr;  // exists: a probe that asks about it can't create anything

  Mutex mutex_;
  std::vector<rd_kafka_topic_t*> requests_ ABSL_GUARDED_BY(mutex_);
  News news_ ABSL_GUARDED_BY(mutex_);
  bool probe_ ABSL_GUARDED_BY(mutex_) = true;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace walpost::sink::kafka
