#include "sink/null/null_sink.h"

#include <utility>

#include "sink/event_fd.h"

namespace walpost::sink {
namespace {

// Thread: loop only. Never full: the relay's window bounds what waits for TakeReceipts().
class NullSink final : public Sink {
 public:
  explicit NullSink(EventFd ready) : ready_(std::move(ready)) {}

  absl::StatusOr<Admission> Submit(Ticket ticket, const outbox::Message&) override {
    if (draining_) return Error(absl::StatusCode::kFailedPrecondition, "null sink is closed");
    // One wake-up covers all receipts up to the next take.
    if (receipts_.empty()) ready_.Signal();
    receipts_.push_back(Receipt{ticket, absl::OkStatus()});
    return Admission::kAccepted;
  }

  void TakeReceipts(std::vector<Receipt>& receipts) override {
    ready_.Clear();
    receipts.insert(receipts.end(), std::make_move_iterator(receipts_.begin()),
                    std::make_move_iterator(receipts_.end()));
    receipts_.clear();
  }

  int ready_fd() const override { return ready_.fd(); }
  void BeginDrain() override { draining_ = true; }
  bool drained() const override { return receipts_.empty(); }
  SinkHealth health() const override { return SinkHealth{true, ""}; }
  SinkTraits traits() const override { return SinkTraits{false, true}; }

 private:
  EventFd ready_;
  std::vector<Receipt> receipts_;
  bool draining_ = false;
};

absl::Status Check(const Settings&) { return absl::OkStatus(); }

absl::StatusOr<std::unique_ptr<Sink>> Make(const Settings&, std::any&) {
  ASSIGN_OR_RETURN(EventFd ready, EventFd::Create());
  return std::unique_ptr<Sink>(new NullSink(std::move(ready)));
}

}  // namespace

SinkType NullSinkType() { return SinkType{"null", {}, &Check, &Make}; }

}  // namespace walpost::sink
