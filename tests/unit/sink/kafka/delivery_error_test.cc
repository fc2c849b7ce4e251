#include "sink/kafka/delivery_error.h"

#include <gmock/gmock.h>

#include "base/status.h"
#include "support/status_is.h"

namespace walpost::sink::kafka {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using walpost::testing::StatusIs;

constexpr bool kAlone = true;
constexpr bool kWithNeighbours = false;

constexpr rd_kafka_resp_err_t kRejections[] = {
    RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
    RD_KAFKA_RESP_ERR_INVALID_RECORD,     RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
    RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,   RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
};

TEST(DeliveryError, ARejectedBatchDoesNotSayWhoseFaultItWas) {
  for (const auto error : kRejections) {
    EXPECT_THAT(DeliveryError(error, kWithNeighbours, "orders", 3),
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("batch"), HasSubstr("topic 'orders' partition 3"))));
  }
}

TEST(DeliveryError, AMessageRejectedAloneWillNeverSucceed) {
  for (const auto error : kRejections) {
    EXPECT_THAT(DeliveryError(error, kAlone, "orders", 3),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("message for topic")));
  }
}

TEST(DeliveryError, PermissionIsForAnOperatorToGrant) {
  const absl::Status status =
      DeliveryError(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, kAlone, "orders", 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("'orders'")));
  EXPECT_THAT(HintOf(status), HasSubstr("Write on topic 'orders'"));
}

TEST(DeliveryError, WhatANewProducerMendsIsUnavailable) {
  for (const auto error :
       {RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, RD_KAFKA_RESP_ERR__FATAL,
        RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
        RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_NO_ERROR}) {
    EXPECT_EQ(DeliveryError(error, kAlone, "orders", 0).code(), absl::StatusCode::kUnavailable)
        << rd_kafka_err2name(error);
  }
}

TEST(DeliveryError, AFatalErrorKeepsTheClientsWords) {
  EXPECT_THAT(FatalError(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "sequence lost"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("sequence lost")));
  EXPECT_THAT(FatalError(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, "no"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no")));
  EXPECT_THAT(FatalError(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, "too old"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("too old")));
}

// A Submit that repeated kInvalidArgument would make poison of whatever message comes next.
TEST(DeliveryError, OneMessagesFaultIsNotTheSinks) {
  for (const bool alone : {kAlone, kWithNeighbours}) {
    const absl::Status cause =
        DeliveryError(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, alone, "orders", 0);
    EXPECT_THAT(SinkFailure(cause),
                StatusIs(absl::StatusCode::kUnavailable, std::string(cause.message())));
  }
  const absl::Status denied =
      DeliveryError(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, kAlone, "orders", 0);
  EXPECT_EQ(SinkFailure(denied), denied);
}

}  // namespace
}  // namespace walpost::sink::kafka
