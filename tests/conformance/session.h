// A relay in miniature: submits, waits on the descriptor, takes receipts, never sleeps.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sink/sink.h"
#include "subject.h"

namespace walpost::sink {

inline constexpr absl::Duration kPatience = absl::Seconds(20);

class Session {
 public:
  explicit Session(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}

  Sink& sink() { return *sink_; }
  void Destroy() { sink_.reset(); }

  // Offers it once. A message that isn't accepted doesn't use up its ticket.
  absl::StatusOr<Admission> Offer(const std::string& topic, const Record& record) {
    std::vector<outbox::MessageHeader> headers;
    for (const auto& [name, value] : record.headers) headers.push_back({name, value});
    std::optional<std::string_view> key;
    std::optional<std::string_view> value;
    if (record.key) key = *record.key;
    if (record.value) value = *record.value;
    const auto admission =
        sink_->Submit(Ticket(next_), {.topic = topic,
                                      .key = key,
                                      .value = value,
                                      .headers = headers,
                                      .timestamp = absl::FromUnixMillis(record.timestamp_ms)});
    if (admission.ok() && *admission == Admission::kAccepted) accepted_.insert(next_++);
    return admission;
  }

  // Offers it until it is accepted or fails, taking receipts meanwhile.
  absl::Status Submit(const std::string& topic, const Record& record) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (true) {
      const auto admission = Offer(topic, record);
      if (!admission.ok()) return admission.status();
      if (*admission == Admission::kAccepted) return absl::OkStatus();
      if (absl::Now() > deadline) return absl::DeadlineExceededError("still full");
      Take(absl::Milliseconds(500));
    }
  }

  // Waits for the descriptor and takes what is there; false: it didn't become readable.
  bool Take(absl::Duration patience) {
    pollfd fd = {sink_->ready_fd(), POLLIN, 0};
    if (poll(&fd, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) != 1) return false;
    std::vector<Receipt> receipts;
    sink_->TakeReceipts(receipts);
    for (Receipt& receipt : receipts) {
      EXPECT_TRUE(accepted_.count(receipt.ticket.value)) << "receipt for what was not accepted";
      EXPECT_FALSE(results_.count(receipt.ticket.value)) << "a second receipt";
      results_[receipt.ticket.value] = std::move(receipt.status);
    }
    return true;
  }

  template <typename Condition>
  bool TakeUntil(Condition condition, absl::Duration patience = kPatience) {
    const absl::Time deadline = absl::Now() + patience;
    while (!condition()) {
      if (absl::Now() > deadline) return false;
      Take(absl::Milliseconds(100));
    }
    return true;
  }

  // Waits for the receipts of all that was accepted.
  bool Settle() {
    return TakeUntil([this] { return results_.size() == accepted_.size(); });
  }

  std::size_t accepted() const { return accepted_.size(); }
  const std::map<std::uint64_t, absl::Status>& results() const { return results_; }
  std::size_t delivered() const {
    std::size_t count = 0;
    for (const auto& [ticket, status] : results_) count += status.ok();
    return count;
  }

 private:
  std::unique_ptr<Sink> sink_;
  std::uint64_t next_ = 0;
  std::set<std::uint64_t> accepted_;
  std::map<std::uint64_t, absl::Status> results_;
};

}  // namespace walpost::sink
