// librdkafka's handles, each with its own destructor. Not included outside sink/kafka.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

namespace walpost::sink::kafka {

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};

template <typename T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;

// Taken over by rd_kafka_new when that succeeds: release() it then.
using ConfHandle = Handle<rd_kafka_conf_t, rd_kafka_conf_destroy>;
// Must outlive every handle below except configurations.
using ProducerHandle = Handle<rd_kafka_t, rd_kafka_destroy>;
// Must be gone before the producer, which would wait for it.
using TopicHandle = Handle<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using QueueHandle = Handle<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using EventHandle = Handle<rd_kafka_event_t, rd_kafka_event_destroy>;
// Taken over by a successful produce: release() it then.
using HeadersHandle = Handle<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using MetadataHandle = Handle<const struct rd_kafka_metadata, rd_kafka_metadata_destroy>;
using NewTopicHandle = Handle<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using ConfigResourceHandle = Handle<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;

}  // namespace walpost::sink::kafka
