#include "sink/kafka/delivery_error.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace walpost::sink::kafka {
namespace {

bool IsNotAuthorized(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
         error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

absl::Status NotAuthorized(std::string_view text, std::string_view operations) {
  return WithHint(Error(absl::StatusCode::kPermissionDenied, text),
                  absl::StrCat("grant the relay's principal ", ToAbsl(operations)));
}

}  // namespace

bool IsRejectedBatch(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
         error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
         error == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE || error == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
         error == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP ||
         error == RD_KAFKA_RESP_ERR_POLICY_VIOLATION ||
         error == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION ||
         error == RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT;
}

bool IsConsequence(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__PURGE_QUEUE || error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
         error == RD_KAFKA_RESP_ERR__FATAL || error == RD_KAFKA_RESP_ERR__DESTROY;
}

absl::Status DeliveryError(rd_kafka_resp_err_t error, bool alone, std::string_view topic,
                           std::int32_t partition) {
  const std::string where = absl::StrCat("topic '", ToAbsl(topic), "' partition ", partition);
  const char* reason = rd_kafka_err2str(error);
  if (IsRejectedBatch(error)) {
    return alone ? Error(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("message for ", where, " was rejected: ", reason))
                 : Error(absl::StatusCode::kAborted,
                         absl::StrCat("batch for ", where, " was rejected: ", reason));
  }
  if (IsNotAuthorized(error)) {
    return NotAuthorized(absl::StrCat("not permitted to write to ", where, ": ", reason),
                         absl::StrCat("Write on topic '", ToAbsl(topic), "'"));
  }
  return Error(absl::StatusCode::kUnavailable,
               absl::StrCat("message for ", where, " was not acknowledged: ", reason));
}

absl::Status FatalError(rd_kafka_resp_err_t error, std::string_view text) {
  const std::string message = absl::StrCat("kafka producer failed: ", ToAbsl(text));
  if (IsNotAuthorized(error)) {
    return NotAuthorized(message, "IdempotentWrite on the cluster and Write on its topics");
  }
  if (error == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) {
    return WithHint(Error(absl::StatusCode::kFailedPrecondition, message),
                    "use brokers that know idempotent producers (Kafka 0.11 or newer)");
  }
  return Error(absl::StatusCode::kUnavailable, message);
}

absl::Status SinkFailure(const absl::Status& cause) {
  if (cause.code() != absl::StatusCode::kAborted &&
      cause.code() != absl::StatusCode::kInvalidArgument) {
    return cause;
  }
  return Error(absl::StatusCode::kUnavailable, MessageOf(cause));
}

}  // namespace walpost::sink::kafka
