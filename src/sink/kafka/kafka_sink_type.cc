#include "sink/kafka/kafka_sink_type.h"

#include <any>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "sink/kafka/kafka_sink.h"
#include "sink/kafka/producer_config.h"

namespace walpost::sink {
namespace {

using namespace kafka;  // NOLINT: the folder's own names

absl::Status DontWorkTogether(std::string_view reason) {
  return WithExitCode(Error(absl::StatusCode::kInvalidArgument,
                            absl::StrCat("kafka.properties don't work together: ", ToAbsl(reason))),
                      ExitCode::kConfiguration);
}

// A producer without brokers connects to nobody, and shows what only all settings together tell.
absl::Status Check(const Settings& settings) {
  ASSIGN_OR_RETURN(ConfHandle conf, ProducerConf(settings, Memory().batch_bytes));
  // With OIDC a producer fetches a token at once.
  if (settings.GetTable("kafka.properties").contains("sasl.oauthbearer.method")) {
    return absl::OkStatus();
  }
  char text[512];
  rd_kafka_conf_set(conf.get(), "bootstrap.servers", "", text, sizeof text);
  rd_kafka_conf_set(conf.get(), "log_level", "0", text, sizeof text);
  const ProducerHandle producer(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text, sizeof text));
  if (producer == nullptr) return DontWorkTogether(text);
  (void)conf.release();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Sink>> Make(const Settings& settings, std::any& memory) {
  if (!memory.has_value()) memory.emplace<Memory>();
  auto& remembered = *std::any_cast<Memory>(&memory);
  ASSIGN_OR_RETURN(ConfHandle conf, ProducerConf(settings, remembered.batch_bytes));
  ASSIGN_OR_RETURN(EventFd ready, EventFd::Create());
  log::Debug("kafka client starts", {{"librdkafka", rd_kafka_version_str()}});
  char text[512];
  ProducerHandle producer(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text, sizeof text));
  if (producer == nullptr) {
    return rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE
               ? Error(absl::StatusCode::kUnavailable, absl::StrCat("kafka client: ", text))
               : DontWorkTogether(text);
  }
  (void)conf.release();
  if (const auto error = rd_kafka_set_log_queue(producer.get(), nullptr);
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kInternal,
                 absl::StrCat("kafka client log: ", rd_kafka_err2str(error)));
  }
  auto sink = std::make_unique<KafkaSink>(std::move(ready), std::move(producer),
                                          settings.GetBool("kafka.create_topics"), remembered);
  if (const auto command = settings.GetList("kafka.token_command"); !command.empty()) {
    ASSIGN_OR_RETURN(EventFd stop, EventFd::Create());
    sink->UseTokens(std::make_unique<TokenCommand>(sink->producer(), command, std::move(stop)));
  }
  for (const std::string& topic : TopicsKnownAtStart(settings)) {
    RETURN_IF_ERROR(sink->Expect(topic));
  }
  return std::unique_ptr<Sink>(std::move(sink));
}

}  // namespace

SinkType KafkaSinkType() { return SinkType{"kafka", ProducerKeys(), &Check, &Make}; }

}  // namespace walpost::sink
