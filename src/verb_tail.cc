// walpost tail: what arrives on the topics, one line of JSON for each message.
#include <csignal>
#include <iostream>

#include "base/status.h"
#include "sink/file/json_line.h"
#include "sink/kafka/topic_tail.h"
#include "verbs.h"

namespace walpost {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// What the template says of every topic: its text before the first field.
std::string PrefixOf(const std::string& topic_template) {
  return topic_template.substr(0, topic_template.find('{'));
}

absl::Status RunTail(const TailArgs& args) {
  ASSIGN_OR_RETURN(const ConfigSources sources, SourcesOf(args.config));
  ASSIGN_OR_RETURN(const Config config, LoadConfig(sources, ConfigScope::kSink));
  if (config.sink_type != "kafka") {
    return config.settings.Fault("sink.type", "is not kafka: there are no topics to read");
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  std::size_t count = 0;
  std::string line;
  return sink::TailTopics(config.settings,
                          {.topics = args.topics,
                           .prefix = PrefixOf(config.routing.topic),
                           .from_beginning = args.from_beginning,
                           .follow = !args.no_follow},
                          [&](const outbox::Message* message) {
                            if (message != nullptr) {
                              line.clear();
                              sink::file::AppendJsonLine(*message, line);
                              std::cout << line << std::flush;
                              ++count;
                            }
                            const bool enough = args.count > 0 && count >= args.count;
                            return !enough && interrupted == 0 && std::cout.good();
                          });
}

}  // namespace

int VerbTail(const TailArgs& args) {
  const absl::Status status = RunTail(args);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : Fail(status);
}

}  // namespace walpost
