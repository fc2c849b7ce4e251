#include "sink/kafka/producer_config.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "../test_settings.h"
#include "base/limits.h"
#include "support/status_is.h"

namespace walpost::sink::kafka {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

class ProducerConfigTest : public ::testing::Test {
 protected:
  ProducerConfigTest() { Set(settings_, "kafka.brokers", "k1:9092"); }

  void Property(std::string_view key, std::string_view value) {
    ASSERT_TRUE(settings_.SetTableEntry("kafka.properties", key, value, "test").ok());
  }

  std::string Get(const char* name) {
    const absl::StatusOr<ConfHandle> conf = ProducerConf(settings_, batch_bytes_);
    if (!conf.ok()) return conf.status().ToString();
    char text[256];
    std::size_t size = sizeof text;
    return rd_kafka_conf_get(conf->get(), name, text, &size) == RD_KAFKA_CONF_OK ? text : "none";
  }

  absl::Status Check() { return FindSinkType("kafka")->check(settings_); }

  std::size_t batch_bytes_ = SafeBatchBytes(limits::kDefaultMaxMessageBytes);
  Settings settings_ = SettingsOf("kafka");
};

TEST_F(ProducerConfigTest, GuaranteesAreInPlace) {
  EXPECT_EQ(Get("enable.idempotence"), "true");
  EXPECT_EQ(Get("acks"), "-1");
  EXPECT_EQ(Get("enable.gapless.guarantee"), "true");
  EXPECT_EQ(Get("message.timeout.ms"), "0");
  EXPECT_EQ(Get("allow.auto.create.topics"), "false");
  EXPECT_EQ(Get("partitioner"), "murmur2_random");
}

TEST_F(ProducerConfigTest, ProfilesDifferInLingerAndCodec) {
  EXPECT_EQ(Get("linger.ms"), "0");
  EXPECT_EQ(Get("compression.type"), "lz4");
  Set(settings_, "kafka.profile", "latency");
  EXPECT_EQ(Get("linger.ms"), "0");
  EXPECT_EQ(Get("compression.type"), "none");
  Set(settings_, "kafka.profile", "throughput");
  EXPECT_EQ(Get("linger.ms"), "5");
  EXPECT_EQ(Get("compression.type"), "zstd");
}

TEST_F(ProducerConfigTest, PropertiesOverrideProfileAndDefaults) {
  Property("compression.type", "gzip");
  Property("linger.ms", "0.2");
  Property("socket.nagle.disable", "false");
  EXPECT_EQ(Get("compression.type"), "gzip");
  EXPECT_EQ(Get("linger.ms"), "0.2");
  EXPECT_EQ(Get("socket.nagle.disable"), "false");
}

TEST_F(ProducerConfigTest, AnUnknownPropertyIsNamed) {
  Property("compresion.type", "lz4");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("'compresion.type'"), HasSubstr("unknown"))));
}

TEST_F(ProducerConfigTest, AnInvalidValueIsNamed) {
  Property("compression.type", "brotli");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("'compression.type'"), HasSubstr("brotli"))));
}

class RefusedPropertyTest : public ProducerConfigTest,
                            public ::testing::WithParamInterface<const char*> {};

// Each of these would void a guarantee in silence.
TEST_P(RefusedPropertyTest, IsRefusedWithAReason) {
  Property(GetParam(), "1");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("kafka.properties: '" + std::string(GetParam())),
                                      HasSubstr("can't be set: "))));
}

INSTANTIATE_TEST_SUITE_P(
    Properties, RefusedPropertyTest,
    ::testing::Values(
        "acks", "request.required.acks", "enable.idempotence", "enable.gapless.guarantee",
        "max.in.flight", "max.in.flight.requests.per.connection", "queuing.strategy", "partitioner",
        "message.timeout.ms", "delivery.timeout.ms", "retries", "message.send.max.retries",
        "delivery.report.only.error", "allow.auto.create.topics", "queue.buffering.max.messages",
        "queue.buffering.max.kbytes", "bootstrap.servers", "metadata.broker.list",
        "transactional.id", "transaction.timeout.ms", "dr_cb", "dr_msg_cb", "error_cb", "log_cb",
        "plugin.library.paths", "interceptors", "test.mock.num.brokers", "test.mock.broker.rtt",
        "log.queue", "enabled_events", "opaque"),
    [](const auto& param) {
      std::string name = param.param;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST_F(ProducerConfigTest, BrokersMustBeNamed) {
  settings_ = SettingsOf("kafka");
  EXPECT_THAT(Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kafka.brokers is empty")));
}

TEST_F(ProducerConfigTest, BrokersAreHostAndPort) {
  for (const char* good : {"k1:9092", "127.0.0.1:1", "[::1]:9092", "k1.example:65535"}) {
    Set(settings_, "kafka.brokers", good);
    EXPECT_THAT(Check(), IsOk()) << good;
  }
  for (const char* bad :
       {"k1", "k1:", ":9092", "k1:0", "k1:65536", "k1:http", "::1:9092", "k 1:9092", "k1:9092,k2",
        "k1:9092/path", "[]:9092", "http://k1:9092", "SASL_SSL://k1:9092"}) {
    Set(settings_, "kafka.brokers", bad);
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("kafka.brokers"), HasSubstr("is not host:port"))))
        << bad;
  }
}

// Catches: a connection in the clear that was meant to be safe.
TEST_F(ProducerConfigTest, SecuritySettingsWithoutEffectAreRefused) {
  Property("ssl.ca.location", "/etc/ssl/certs");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("'ssl.ca.location' has no effect")));
  Property("security.protocol", "SASL_SSL");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("don't work together")));  // without credentials
  Property("sasl.mechanism", "PLAIN");
  Property("sasl.username", "u");
  Property("sasl.password", "p");
  EXPECT_THAT(Check(), IsOk());
  Property("security.protocol", "ssl");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("\"security.protocol\" = \"sasl_ssl\"")));
}

TEST_F(ProducerConfigTest, SeveralBrokersAreJoined) {
  ASSERT_TRUE(settings_.SetList("kafka.brokers", {"k1:9092", "k2:9092"}, "test").ok());
  EXPECT_EQ(Get("bootstrap.servers"), "k1:9092,k2:9092");
}

TEST_F(ProducerConfigTest, QueueIsABitLargerThanTheWindow) {
  Set(settings_, "delivery.max_inflight_messages", "8000");
  Set(settings_, "delivery.max_inflight_bytes", "8MiB");
  EXPECT_EQ(Get("queue.buffering.max.messages"), "9016");
  EXPECT_EQ(Get("queue.buffering.max.kbytes"), std::to_string(8192 + 2048 + 976563));
}

// Else QUEUE_FULL would be the answer for ever to a message that is larger than the window.
TEST_F(ProducerConfigTest, QueueHoldsAtLeastOneMessageOfTheLargestSize) {
  Set(settings_, "delivery.max_inflight_bytes", "1kB");
  Property("message.max.bytes", "50000000");
  EXPECT_GE(std::stol(Get("queue.buffering.max.kbytes")) * 1024, 50000000);
}

TEST_F(ProducerConfigTest, AWindowOfNothingIsRefused) {
  Set(settings_, "delivery.max_inflight_messages", "0");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("delivery.max_inflight_messages")));
}

TEST_F(ProducerConfigTest, SecretsAreNotRepeated) {
  Property("sasl.oauthbearer.method", "hunter2");
  EXPECT_THAT(Check(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("sasl.oauthbearer.method"), Not(HasSubstr("hunter2")))));
  for (const char* secret : {"sasl.password", "ssl.key.password", "ssl.key.pem",
                             "ssl.keystore.password", "sasl.oauthbearer.client.secret"}) {
    EXPECT_TRUE(IsSecretProperty(secret)) << secret;
  }
  EXPECT_FALSE(IsSecretProperty("linger.ms"));
}

}  // namespace
}  // namespace walpost::sink::kafka
