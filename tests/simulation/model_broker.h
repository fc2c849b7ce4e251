// A broker with partitions that keep their order, and with every kind of trouble. The log it keeps is
// what consumers see.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "dice.h"
#include "outbox/message.h"

namespace walpost::simulation {

// One message as it lies in a partition.
struct Landed {
  std::string id;
  std::string position;  // walpost-lsn
  bool dead_letter = false;
};

struct Receipt {
  Ticket ticket;
  absl::Status status;
};

class ModelBroker {
 public:
  using OnLanded = std::function<void(const Landed&)>;

  ModelBroker(Dice& dice, OnLanded on_landed) : dice_(dice), on_landed_(std::move(on_landed)) {}

  // --- One producer's session ---
  void BeginProducer() {
    partitions_.assign(kPartitions, {});
    receipts_.clear();
    failed_ = false;
  }
  void Produce(Ticket ticket, const outbox::Message& message, bool refused);
  // Lands or acknowledges something, somewhere.
  void Step();
  bool idle() const;
  std::size_t in_flight() const;
  // The session breaks: of each partition a prefix landed, and nobody says so.
  void Break();
  // The process is gone; likewise.
  void Abandon();
  std::vector<Receipt> TakeReceipts();
  bool failed() const { return failed_; }

 private:
  static constexpr std::size_t kPartitions = 3;
  struct Message {
    Ticket ticket;
    Landed landed;
    bool refused = false;  // the broker will never take it
    bool alone = false;    // nothing else was in flight on its partition
  };
  struct Partition {
    std::deque<Message> sent;           // not landed yet
    std::deque<Ticket> unacknowledged;  // landed
  };
  void Land(Partition& partition);
  void Reject(Partition& partition);
  void LandPrefixes();
  void FailAll(const absl::Status& status);

  Dice& dice_;
  const OnLanded on_landed_;
  std::vector<Partition> partitions_ = std::vector<Partition>(kPartitions);
  std::vector<Receipt> receipts_;
  bool failed_ = false;
};

}  // namespace walpost::simulation
