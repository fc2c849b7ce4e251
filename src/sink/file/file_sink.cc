#include "sink/file/file_sink.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "sink/event_fd.h"
#include "sink/file/group_writer.h"
#include "sink/file/json_line.h"
#include "sink/file/output.h"

namespace walpost::sink {
namespace {

using file::Framing;
using file::GroupLimits;
using file::GroupWriter;
using file::Output;

constexpr std::string_view kStandardOutput = "-";

absl::Status AppendLengthDelimited(const outbox::Message& message, std::string& out) {
  if (!message.value) {
    return Error(absl::StatusCode::kInvalidArgument,
                 "a message without a value has no place among length-delimited records");
  }
  std::size_t length = message.value->size();
  for (; length >= 0x80; length >>= 7) out.push_back(static_cast<char>(length | 0x80));
  out.push_back(static_cast<char>(length));
  out.append(*message.value);
  return absl::OkStatus();
}

// Thread: loop only. The writer's thread wakes the loop through `ready_`.
class FileSink final : public Sink {
 public:
  FileSink(EventFd ready, EventFd stop, std::unique_ptr<Output> output, Framing framing,
           GroupLimits limits, bool durable)
      : framing_(framing),
        durable_(durable),
        ready_(std::move(ready)),
        writer_(std::move(output), limits, ready_, std::move(stop)) {}

  absl::StatusOr<Admission> Submit(Ticket ticket, const outbox::Message& message) override {
    RETURN_IF_ERROR(writer_.failure());
    if (draining_) return Error(absl::StatusCode::kFailedPrecondition, "file sink is closed");
    record_.clear();
    switch (framing_) {
      case Framing::kLines:
        file::AppendJsonLine(message, record_);
        break;
      case Framing::kLengthDelimited:
        RETURN_IF_ERROR(AppendLengthDelimited(message, record_));
        break;
    }
    return writer_.Add(ticket, record_) ? Admission::kAccepted : Admission::kFull;
  }

  void TakeReceipts(std::vector<Receipt>& receipts) override {
    ready_.Clear();
    writer_.TakeReceipts(receipts);
  }

  int ready_fd() const override { return ready_.fd(); }
  void BeginDrain() override { draining_ = true; }
  bool drained() const override { return writer_.empty(); }

  SinkHealth health() const override {
    const absl::Status failure = writer_.failure();
    return SinkHealth{failure.ok(), std::string(MessageOf(failure))};
  }

  SinkTraits traits() const override { return SinkTraits{durable_, true}; }

 private:
  const Framing framing_;
  const bool durable_;
  EventFd ready_;
  std::string record_;  // kept for its memory
  bool draining_ = false;
  GroupWriter writer_;
};

absl::Status Check(const Settings& settings) {
  if (settings.GetString("file.path").empty()) {
    return Error(absl::StatusCode::kInvalidArgument,
                 "file.path is empty: name a file, or \"-\" for standard output");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Sink>> Make(const Settings& settings, std::any&) {
  RETURN_IF_ERROR(Check(settings));
  const std::string path = settings.GetString("file.path");
  const bool durable = path != kStandardOutput;
  const Framing framing = settings.GetString("file.format") == "length_delimited"
                              ? Framing::kLengthDelimited
                              : Framing::kLines;
  const GroupLimits limits = {
      .records = static_cast<std::size_t>(settings.GetInteger("delivery.max_inflight_messages")),
      .bytes = static_cast<std::size_t>(settings.GetBytes("delivery.max_inflight_bytes")),
  };
  ASSIGN_OR_RETURN(EventFd ready, EventFd::Create());
  ASSIGN_OR_RETURN(EventFd stop, EventFd::Create());
  std::unique_ptr<Output> output;
  if (durable) {
    ASSIGN_OR_RETURN(output, file::OpenFile(path, framing));
  } else {
    output = file::OpenStream(STDOUT_FILENO);
  }
  return std::unique_ptr<Sink>(
      new FileSink(std::move(ready), std::move(stop), std::move(output), framing, limits, durable));
}

}  // namespace

SinkType FileSinkType() {
  return SinkType{"file",
                  {{.name = "file.path",
                    .default_value = "-",
                    .help = "The file to append to; \"-\" is standard output.",
                    .choices = {}},
                   {.name = "file.format",
                    .default_value = "json",
                    .help = "json: one line a message; length_delimited: varint length and value.",
                    .choices = {"json", "length_delimited"}}},
                  &Check,
                  &Make};
}

}  // namespace walpost::sink
