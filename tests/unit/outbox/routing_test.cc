#include "outbox/routing.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Event EventFor(std::string_view aggregate_type, std::string_view event_type = "Placed") {
  Event event;
  event.event_id = "e-1";
  event.aggregate_type = aggregate_type;
  event.event_type = event_type;
  return event;
}

TopicRouter RouterFor(std::string topic, std::string allowed = "") {
  RoutingOptions options;
  options.topic = std::move(topic);
  options.allowed_topics = std::move(allowed);
  return TopicRouter::Make(options).value();
}

TEST(TopicRouter, TheDefaultIsDebeziums) {
  TopicRouter router = TopicRouter::Make({}).value();
  EXPECT_EQ(*router.TopicOf(EventFor("Order")), "outbox.event.Order");
}

TEST(TopicRouter, PlaceholdersStandAnywhere) {
  TopicRouter router = RouterFor("{event_type}.x-{aggregate_type}{aggregate_type}", ".*");
  EXPECT_EQ(*router.TopicOf(EventFor("order")), "Placed.x-orderorder");
  EXPECT_EQ(*RouterFor("fixed_topic").TopicOf(EventFor("order")), "fixed_topic");
}

TEST(TopicRouter, AWrongTemplateIsAConfigurationError) {
  for (const char* topic : {"", "{aggregate_id}", "{payload}", "{}", "{aggregate_type", "a b", "a}",
                            "täglich", "a/b"}) {
    RoutingOptions options;
    options.topic = topic;
    const auto router = TopicRouter::Make(options);
    EXPECT_THAT(router, StatusIs(kInvalid, HasSubstr(std::string("routing.topic '") + topic + "'")))
        << topic;
    EXPECT_THAT(HintOf(router.status()), HasSubstr("{aggregate_type} and {event_type}"));
  }
}

TEST(TopicRouter, ARowCannotMakeATopicThatKafkaRefuses) {
  TopicRouter router = RouterFor("{aggregate_type}", "[^]*");
  for (const char* name : {"a b", "a/b", "ä", "a\n", ".", "..", "a{b}", ""}) {
    EXPECT_THAT(router.TopicOf(EventFor(name)), StatusIs(kInvalid, HasSubstr("isn't legal")))
        << name;
  }
  EXPECT_THAT(router.TopicOf(EventFor(std::string(249, 'a'))), IsOk());
  EXPECT_THAT(router.TopicOf(EventFor(std::string(250, 'a'))),
              StatusIs(kInvalid, HasSubstr("a topic of 250 bytes")));
}

TEST(TopicRouter, EveryByteIsLegalOrNot) {
  TopicRouter router = RouterFor("x{aggregate_type}");
  const std::string legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (int c = 0; c < 256; ++c) {
    const std::string name(1, static_cast<char>(c));
    EXPECT_EQ(router.TopicOf(EventFor(name)).ok(), legal.find(name) != std::string::npos) << c;
  }
}

TEST(TopicRouter, OnlyAllowedTopicsAreReached) {
  TopicRouter router = RouterFor("{aggregate_type}", "outbox\\..*|audit");
  EXPECT_EQ(*router.TopicOf(EventFor("outbox.order")), "outbox.order");
  EXPECT_EQ(*router.TopicOf(EventFor("audit")), "audit");
  for (int again = 0; again < 2; ++again) {  // the second verdict comes from memory
    for (const char* name : {"payments", "xoutbox.order", "audit2"}) {
      const auto topic = router.TopicOf(EventFor(name));
      EXPECT_THAT(topic, StatusIs(kInvalid, AllOf(HasSubstr(std::string("topic '") + name + "'"),
                                                  HasSubstr("routing.allowed_topics"))));
      EXPECT_THAT(HintOf(topic.status()), HasSubstr("extend routing.allowed_topics"));
    }
    EXPECT_EQ(*router.TopicOf(EventFor("audit")), "audit");
  }
}

TEST(TopicRouter, APatternThatIsNoneIsAConfigurationError) {
  RoutingOptions options;
  options.allowed_topics = "outbox(";
  EXPECT_THAT(TopicRouter::Make(options),
              StatusIs(kInvalid, HasSubstr("routing.allowed_topics: 'outbox(' isn't a regular")));
}

TEST(TextOf, KnowsEveryTextField) {
  Event event = EventFor("order");
  event.aggregate_id = "";
  event.content_type = "c";
  event.correlation_id = "r";
  event.causation_id = "s";
  event.traceparent = "p";
  event.tracestate = "t";
  for (const FieldInfo& info : Fields()) {
    EXPECT_EQ(IsTextField(info.field), TextOf(event, info.field).has_value()) << info.name;
    EXPECT_EQ(TextOf({}, info.field), std::nullopt) << info.name;
  }
}

TEST(TopicName, FollowsTheBrokersRule) {
  for (const char* good : {"a", "outbox.event.Order-2_x", "...", "_"}) {
    EXPECT_TRUE(IsTopicName(good)) << good;
  }
  EXPECT_TRUE(IsTopicName(std::string(249, 'x')));
  for (const char* bad : {"", ".", "..", "a b", "a/b", "a\n", "ümlaut", "a:b", "a,b"}) {
    EXPECT_FALSE(IsTopicName(bad)) << bad;
  }
  EXPECT_FALSE(IsTopicName(std::string(250, 'x')));
  EXPECT_FALSE(IsTopicName(std::string_view("a\0b", 3)));
}

// Catches: rows whose authors choose any topic of the cluster.
TEST(TopicRouter, ATemplateWithoutTextNeedsAnAllowList) {
  EXPECT_THAT(TopicRouter::Make({.topic = "{aggregate_type}"}).status(),
              StatusIs(kInvalid, HasSubstr("lets a row choose any topic")));
}

TEST(TopicRouter, AConstantTopicIsCheckedAtOnce) {
  EXPECT_THAT(TopicRouter::Make({.topic = std::string(250, 'a')}).status(),
              StatusIs(kInvalid, HasSubstr("is longer than Kafka takes")));
  EXPECT_THAT(TopicRouter::Make({.topic = "audit", .allowed_topics = "outbox\\..*"}).status(),
              StatusIs(kInvalid, HasSubstr("isn't allowed by routing.allowed_topics")));
}

}  // namespace
}  // namespace walpost::outbox
