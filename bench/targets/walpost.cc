// walpost itself, in the ways its users run it, and three of its relay with something in between:
// traced (notes when each event is received, produced and acknowledged), slowed and lossy (which
// show that the harness notices).
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "targets/target.h"

namespace walpost::bench {
namespace {

class Walpost : public Target {
 public:
  Walpost(const Programs& programs, std::string_view name) : programs_(programs), name_(name) {}

  std::string name() const override { return name_; }

  std::string about() const override {
    if (name_ == "walpost-bundled") return "walpost with the librdkafka that --bundled links in";
    if (name_ == "walpost-json") return "walpost, envelope as JSON";
    if (name_ == "walpost-payload") return "walpost, raw payload";
    if (name_ == "walpost-null")
      return "walpost up to the sink: decoded, mapped, enveloped, confirmed";
    if (name_ == "walpost-traced") return "walpost, noting the stages of each event";
    if (name_ == "walpost-slowed") return "walpost made to sleep 10 ms per batch: must show";
    if (name_ == "walpost-lossy")
      return "walpost made to lose each 1000th event: must be reported as wrong";
    return "walpost, protobuf envelope";
  }

  Delivers delivers() const override {
    return name_ == "walpost-null" ? Delivers::kNothing : Delivers::kToKafka;
  }

  absl::StatusOr<std::string> Version() const override {
    if (Program().empty()) {
      return WithHint(
          Error(absl::StatusCode::kFailedPrecondition, absl::StrCat(name_, " is not built")),
          "tools/dev build --bundled");
    }
    ASSIGN_OR_RETURN(const std::string text, RunTool({Program(), "version"}));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
    std::string version = lines.empty() ? "" : lines[0];
    for (const std::string& line : lines) {
      if (line.find("librdkafka") != std::string::npos) absl::StrAppend(&version, ", ", line);
    }
    return version;
  }

  std::map<std::string, std::string> Settings() const override {
    return {{"kafka.profile", "balanced (linger 0, lz4, acks all, idempotent)"},
            {"format.value", Format()}};
  }

  absl::StatusOr<Command> Prepare(const Assignment& assignment) const override {
    const bool to_kafka = delivers() == Delivers::kToKafka;
    const std::string config = absl::StrCat(
        "[source]\ndsn = \"", assignment.dsn(), "\"\nslot = \"", assignment.slot,
        "\"\npublication = \"", assignment.publication, "\"\ntable = \"public.outbox\"\n",
        "[format]\nvalue = \"", Format(),
        "\"\n[admin]\nlisten = \"\"\n[log]\nlevel = \"warning\"\n",
        to_kafka ? absl::StrCat("[routing]\ntopic = \"", assignment.topic,
                                "\"\n[kafka]\nbrokers = [\"", assignment.bootstrap, "\"]\n")
                 : "[sink]\ntype = \"null\"\n");
    ASSIGN_OR_RETURN(const std::string path,
                     WriteFile(assignment.directory, "walpost.toml", config));
    Command command{.argv = {Program(), "run", "--config", path}};
    if (Inside()) {
      command.argv = {programs_.self, "relay", "--config", path};
      if (name_ == "walpost-traced")
        command.argv.insert(command.argv.end(), {"--trace", assignment.directory + "/trace"});
      if (name_ == "walpost-slowed")
        command.argv.insert(command.argv.end(), {"--sleep-per-batch", "10ms"});
      if (name_ == "walpost-lossy")
        command.argv.insert(command.argv.end(), {"--lose-every", "1000"});
    }
    return command;
  }

 private:
  // Runs inside walpost-bench, with something between source, relay and sink.
  bool Inside() const {
    return name_ == "walpost-traced" || name_ == "walpost-slowed" || name_ == "walpost-lossy";
  }
  std::string Program() const {
    return name_ == "walpost-bundled" ? programs_.bundled : programs_.walpost;
  }
  std::string Format() const {
    if (name_ == "walpost-json") return "envelope_json";
    return name_ == "walpost-payload" ? "payload" : "envelope";
  }

  const Programs programs_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Target> MakeWalpost(const Programs& programs, std::string_view name) {
  return std::make_unique<Walpost>(programs, name);
}

}  // namespace walpost::bench
