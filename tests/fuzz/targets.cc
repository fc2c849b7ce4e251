#include "targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "capture/wal/frame.h"
#include "capture/wal/transaction_assembler.h"
#include "config.h"
#include "outbox/event_reader.h"
#include "outbox/message_builder.h"
#include "outbox/value.h"

namespace walpost::fuzz {
namespace {

capture::OwnedFrame Owned(std::string_view bytes) {
  capture::OwnedFrame frame;
  frame.memory = {static_cast<char*>(std::malloc(bytes.size() + 1)), &std::free};
  frame.size = bytes.size();
  std::memcpy(frame.memory.get(), bytes.data(), bytes.size());
  return frame;
}

std::vector<std::string> GoldenLines(const char* name) {
  std::vector<std::string> lines;
  std::ifstream file(std::string(WALPOST_GOLDEN_DIR) + "/" + name);
  for (std::string line; std::getline(file, line);) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
    lines.push_back(std::move(bytes));
  }
  return lines;
}

std::vector<std::string> AllGoldens() {
  std::vector<std::string> lines;
  for (const char* name :
       {"pg14_text.hex", "pg15_binary.hex", "pg18_text.hex", "pg18_binary.hex"}) {
    for (std::string& line : GoldenLines(name)) lines.push_back(std::move(line));
  }
  return lines;
}

const std::string kHeader = std::string("w") + std::string(24, '\0');

void Frame(std::string_view input) { (void)capture::ParseFrame(input); }

std::vector<std::string> FrameSeeds() {
  return {kHeader + "B", "k" + std::string(17, '\1'), std::string(1, 'w'), "x"};
}

void Stream(std::string_view input) {
  capture::TransactionAssembler assembler({{"public", "outbox"}}, {"outbox"});
  outbox::EventReader reader({});
  static const auto builder = *outbox::MessageBuilder::Make({}, outbox::ValueFormat::kEnvelope);
  capture::Batch batch;
  while (input.size() >= 2) {
    const std::size_t wanted = static_cast<unsigned char>(input[0]) * std::size_t{256} +
                               static_cast<unsigned char>(input[1]);
    const std::string_view message = input.substr(2, wanted);
    input.remove_prefix(2 + message.size());
    capture::OwnedFrame frame = Owned(kHeader + std::string(message));
    const auto parsed = capture::ParseFrame(frame.bytes());
    if (!parsed.ok()) return;
    const auto complete = assembler.Add(std::get<capture::XLogData>(*parsed), std::move(frame));
    if (!complete.ok()) return;
    if (!*complete) continue;
    assembler.Take(batch);
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const auto event = reader.Read(batch.row(row));
      if (event.ok()) (void)builder->Build(*event, {});
    }
  }
}

std::string Prefixed(const std::string& message) {
  return std::string{static_cast<char>(message.size() / 256),
                     static_cast<char>(message.size() % 256)} +
         message;
}

std::vector<std::string> StreamSeeds() {
  std::vector<std::string> seeds;
  for (const char* name :
       {"pg14_text.hex", "pg15_binary.hex", "pg17_text.hex", "pg18_binary.hex"}) {
    std::string session;
    for (const std::string& line : GoldenLines(name)) session += Prefixed(line);
    seeds.push_back(std::move(session));
  }
  for (const std::string& line : AllGoldens()) seeds.push_back(Prefixed(line));
  return seeds;
}

void Value(std::string_view input) {
  if (input.size() < 5) return;
  std::uint32_t oid = 0;
  for (int i = 0; i < 4; ++i)
    oid = oid << 8U | static_cast<unsigned char>(input[static_cast<std::size_t>(i)]);
  const auto kind =
      (input[4] & 1) != 0 ? capture::Value::Kind::kBinary : capture::Value::Kind::kText;
  const capture::Value value{kind, input.substr(5)};
  const capture::Column column{"c", oid, -1, "", ""};
  const outbox::ColumnReader reader(column);
  std::string scratch;
  (void)reader.Text(value, scratch);
  (void)reader.Payload(value, scratch);
  (void)reader.Integer(value);
  (void)reader.Time(value);
}

std::vector<std::string> ValueSeeds() {
  std::vector<std::string> seeds;
  for (const int oid :
       {16, 17, 20, 21, 23, 25, 114, 1009, 1042, 1082, 1114, 1184, 1700, 2950, 3802}) {
    for (const char* text :
         {"1", "2024-02-29 12:00:00+00", "{a,NULL,\"b\"}", "\\x00ff", "-12.50"}) {
      for (const char kind : {'\0', '\1'}) {
        seeds.push_back(std::string{'\0', '\0', static_cast<char>(oid / 256),
                                    static_cast<char>(oid % 256), kind} +
                        text);
      }
    }
  }
  return seeds;
}

void Message(std::string_view input) {
  static outbox::MessageReader reader;
  (void)reader.Read("outbox", input);
}

std::vector<std::string> MessageSeeds() {
  return {
      R"({"id":"e1","type":"t","payload":{"a":[1,"\u00e4"]},"headers":{"x":"y"}})",
      R"({"event_id":"e","event_type":"t","occurred_at":"2026-01-31T10:00:00Z","payload":null})",
      std::string("\x0a\x02"
                  "e1"
                  "\x12\x01t",
                  7)};
}

void ConfigFile(std::string_view input) {
  // A file that vanishes with the process, however that ends.
  static const int file = memfd_create("config", MFD_CLOEXEC);
  (void)ftruncate(file, 0);
  (void)pwrite(file, input.data(), input.size(), 0);
  ConfigSources sources;
  sources.file = "/proc/self/fd/" + std::to_string(file);
  sources.environment = {{"A", "b"}};
  (void)LoadConfig(sources, ConfigScope::kSource);
}

std::vector<std::string> ConfigSeeds() {
  return {
      "[source]\ntable = \"a.b\"\ndsn = \"host=x password=${A}\"\n[source.columns]\nevent_type = "
      "\"k\"\n",
      "[source]\ntable = [\"a\", \"\\\"b.c\\\"\"]\n[source.values.event_type]\n\"0\" = \"X\"\n",
      "[kafka.properties]\n\"linger.ms\" = \"${B:-${A}}\"\n",
      "[delivery]\nmax_inflight_bytes = \"16MiB\"\n"};
}

constexpr Target kTargets[] = {{"frame", &Frame, &FrameSeeds},
                               {"stream", &Stream, &StreamSeeds},
                               {"value", &Value, &ValueSeeds},
                               {"message", &Message, &MessageSeeds},
                               {"config", &ConfigFile, &ConfigSeeds}};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace walpost::fuzz
