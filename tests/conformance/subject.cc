#include "subject.h"

#include <any>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kafka_broker.h"

namespace walpost::sink {
namespace {

class FileTarget final : public Subject {
 public:
  FileTarget() {
    std::string pattern = std::filesystem::temp_directory_path() / "walpost-conformance-XXXXXX";
    WALPOST_CHECK(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~FileTarget() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Sink> Open(int window) override {
    Settings settings = SettingsFor("file", window);
    WALPOST_CHECK(settings.Set("file.path", path(), "test").ok());
    return OpenSink("file", settings);
  }

  std::string topic() const override { return "orders"; }

  std::optional<std::vector<Record>> ReadBack(std::size_t) override {
    std::vector<Record> records;
    std::ifstream file(path());
    for (std::string line; std::getline(file, line);) {
      records.push_back(Parse(nlohmann::json::parse(line)));
    }
    return records;
  }

 private:
  std::string path() const { return folder_ / "out"; }

  static std::string Text(const nlohmann::json& json) {
    if (json.is_string()) return json;
    std::string bytes;
    WALPOST_CHECK(absl::Base64Unescape(json.at("base64").get<std::string>(), &bytes));
    return bytes;
  }

  static Record Parse(const nlohmann::json& line) {
    Record record;
    if (!line["key"].is_null()) record.key = Text(line["key"]);
    if (!line["value"].is_null()) record.value = Text(line["value"]);
    for (const auto& [name, value] : line["headers"].items()) {
      record.headers.emplace_back(name, Text(value));
    }
    absl::Time time;
    std::string error;
    WALPOST_CHECK(
        absl::ParseTime(absl::RFC3339_full, line["timestamp"].get<std::string>(), &time, &error));
    record.timestamp_ms = absl::ToUnixMillis(time);
    return record;
  }

  std::filesystem::path folder_;
};

class NullTarget final : public Subject {
 public:
  std::unique_ptr<Sink> Open(int window) override {
    return OpenSink("null", SettingsFor("null", window));
  }
  std::string topic() const override { return "orders"; }
  std::optional<std::vector<Record>> ReadBack(std::size_t) override { return std::nullopt; }
};

class KafkaTarget final : public Subject {
 public:
  std::string skip_reason() const override {
    return TestKafka().empty() ? "WALPOST_TEST_KAFKA=HOST:PORT is not set" : "";
  }
  std::unique_ptr<Sink> Open(int window) override {
    Settings settings = SettingsFor("kafka", window);
    WALPOST_CHECK(settings.Set("kafka.brokers", TestKafka(), "test").ok());
    WALPOST_CHECK(settings.Set("kafka.create_topics", "true", "test").ok());
    return OpenSink("kafka", settings);
  }
  std::string topic() const override { return topic_; }
  std::optional<std::vector<Record>> ReadBack(std::size_t count) override {
    return ConsumeTopic(TestKafka(), topic_, count);
  }

 private:
  const std::string topic_ = UniqueTopic();
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Record& record) {
  out << "key " << record.key.value_or("(none)") << ", value " << record.value.value_or("(none)")
      << ", timestamp " << record.timestamp_ms;
  for (const auto& [name, value] : record.headers) out << ", " << name << '=' << value;
  return out;
}

std::unique_ptr<Subject> KafkaSubject() { return std::make_unique<KafkaTarget>(); }
std::unique_ptr<Subject> FileSubject() { return std::make_unique<FileTarget>(); }
std::unique_ptr<Subject> NullSubject() { return std::make_unique<NullTarget>(); }

Settings SettingsFor(std::string_view sink_type, int window) {
  std::vector<KeySpec> specs = FindSinkType(sink_type)->keys;
  specs.push_back({"delivery.max_inflight_messages", KeyType::kInteger, "1000", "", {}});
  specs.push_back({"delivery.max_inflight_bytes", KeyType::kBytes, "16MiB", "", {}});
  Settings settings(std::move(specs));
  WALPOST_CHECK(settings.Set("delivery.max_inflight_messages", absl::StrCat(window), "test").ok());
  return settings;
}

std::unique_ptr<Sink> OpenSink(std::string_view sink_type, const Settings& settings) {
  static std::deque<std::any> memories;  // each outlives its sink
  return OpenSink(sink_type, settings, memories.emplace_back());
}

std::unique_ptr<Sink> OpenSink(std::string_view sink_type, const Settings& settings,
                               std::any& memory) {
  auto sink = FindSinkType(sink_type)->make(settings, memory);
  if (!sink.ok()) std::cerr << sink.status() << '\n';
  WALPOST_CHECK(sink.ok());
  return *std::move(sink);
}

}  // namespace walpost::sink
