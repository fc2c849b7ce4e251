// Settings of one sink and the window, as config.cc would load them.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/settings.h"
#include "sink/sink_table.h"

namespace walpost::sink {

inline Settings SettingsOf(std::string_view sink_type) {
  std::vector<KeySpec> specs = FindSinkType(sink_type)->keys;
  specs.push_back({"delivery.max_inflight_messages", KeyType::kInteger, "1000", "", {}});
  specs.push_back({"delivery.max_inflight_bytes", KeyType::kBytes, "16MiB", "", {}});
  return Settings(std::move(specs));
}

inline void Set(Settings& settings, std::string_view key, std::string_view value) {
  ASSERT_TRUE(settings.Set(key, value, "test").ok()) << key;
}

}  // namespace walpost::sink
