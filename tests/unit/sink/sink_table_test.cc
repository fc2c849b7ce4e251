#include "sink/sink_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "test_settings.h"

namespace walpost::sink {
namespace {

TEST(SinkTable, NamesEachSinkOnce) {
  std::set<std::string_view> names;
  for (const SinkType& type : SinkTypes()) EXPECT_TRUE(names.insert(type.name).second) << type.name;
  EXPECT_EQ(names, (std::set<std::string_view>{"file", "kafka", "null"}));
}

TEST(SinkTable, FindsByNameAndNothingElse) {
  for (const SinkType& type : SinkTypes()) EXPECT_EQ(FindSinkType(type.name), &type);
  EXPECT_EQ(FindSinkType("Kafka"), nullptr);
  EXPECT_EQ(FindSinkType(""), nullptr);
}

TEST(SinkTable, EveryKeyIsInASectionNamedAfterItsSinkAndHasHelp) {
  for (const SinkType& type : SinkTypes()) {
    for (const KeySpec& key : type.keys) {
      EXPECT_TRUE(key.name.starts_with(std::string(type.name) + ".")) << key.name;
      EXPECT_FALSE(key.help.empty()) << key.name;
    }
  }
}

TEST(SinkTable, ANullSinkNeedsNoSettings) {
  const Settings settings = SettingsOf("null");
  EXPECT_TRUE(FindSinkType("null")->check(settings).ok());
  std::any memory;
  EXPECT_TRUE(FindSinkType("null")->make(settings, memory).ok());
}

}  // namespace
}  // namespace walpost::sink
