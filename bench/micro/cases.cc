#include "micro/cases.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/check.h"
#include "capture/wal/frame.h"
#include "capture/wal/transaction_assembler.h"
#include "outbox/mapper.h"
#include "outbox/message_builder.h"
#include "watermark/ack_tracker.h"
#include "wire.h"

namespace walpost::bench {
namespace {

using testing::Wire;

constexpr std::uint32_t kTable = 16384;
constexpr std::uint64_t kFirstLsn = 0x1600000000;
constexpr std::uint64_t kTime = 800'000'000'000'000;

// The payload of XLogData, in the frame that libpq would hand over.
std::string Framed(const Wire& message) {
  return Wire().Byte('w').Int64(0).Int64(0).Int64(kTime).Raw(message.bytes()).bytes();
}

std::string BeginAt(std::uint64_t lsn) {
  return Framed(Wire().Byte('B').Int64(lsn).Int64(kTime).Int32(1234));
}

std::string CommitAt(std::uint64_t lsn) {
  return Framed(Wire().Byte('C').Byte(0).Int64(lsn).Int64(lsn + 48).Int64(kTime));
}

std::string Relation() {
  Wire relation;
  relation.Byte('R').Int32(kTable).Text("public").Text("outbox").Byte('d').Int16(6);
  const std::pair<const char*, std::uint32_t> columns[] = {
      {"id", 2950},         {"aggregate_type", 1043}, {"aggregate_id", 1043},
      {"event_type", 1043}, {"payload", 3802},        {"created_at", 1184}};
  for (const auto& [name, type] : columns) {
    relation.Byte(0).Text(name).Int32(type).Int32(0xFFFFFFFF);
  }
  return Framed(relation);
}

std::string Insert() {
  const std::string payload = "\x01{\"seq\": 1, \"text\": \"" + std::string(380, 'x') + "\"}";
  Wire insert;
  insert.Byte('I').Int32(kTable).Byte('N').Int16(6);
  const auto add = [&](const std::string& bytes) {
    insert.Byte('b').Int32(static_cast<std::uint32_t>(bytes.size())).Raw(bytes);
  };
  add(std::string("0123456789abcdef"));
  add("order");
  add("o-4711");
  add("OrderPlaced");
  add(payload);
  add(Wire().Int64(kTime).bytes());
  return Framed(insert);
}

// Transactions of one row each, whose LSNs rise.
class Stream {
 public:
  Stream() { Add(BeginAt(lsn_)), Add(relation_), Add(Insert()), Add(CommitAt(lsn_)), Take(); }

  void Transaction() {
    lsn_ += 100;
    Add(BeginAt(lsn_));
    Add(insert_);
    Add(CommitAt(lsn_));
    Take();
  }
  const capture::Batch& batch() const { return batch_; }

 private:
  // As libpq does: each frame in memory of its own.
  void Add(const std::string& bytes) {
    char* memory = static_cast<char*>(std::malloc(bytes.size()));
    WALPOST_CHECK(memory != nullptr);
    std::memcpy(memory, bytes.data(), bytes.size());
    capture::OwnedFrame frame{.memory = {memory, &std::free}, .size = bytes.size()};
    const auto parsed = capture::ParseFrame(frame.bytes());
    WALPOST_CHECK(parsed.ok());
    complete_ = assembler_.Add(std::get<capture::XLogData>(*parsed), std::move(frame)).value();
  }
  void Take() {
    WALPOST_CHECK(complete_);
    assembler_.Take(batch_);
  }

  capture::TransactionAssembler assembler_{{{"public", "outbox"}}, {}};
  const std::string relation_ = Relation();
  const std::string insert_ = Insert();
  std::uint64_t lsn_ = kFirstLsn;
  bool complete_ = false;
  capture::Batch batch_;
};

class Decode : public MicroCase {
 public:
  void Step() override { stream_.Transaction(); }

 private:
  Stream stream_;
};

class Map : public MicroCase {
 public:
  void Step() override { WALPOST_CHECK(mapper_.Map(stream_.batch().row(0)).ok()); }

 private:
  Stream stream_;
  outbox::Mapper mapper_{{}};
};

class Build : public MicroCase {
 public:
  Build() {
    origin_ = {.system_identifier = 7'500'000'000'000'000'001,
               .timeline = 1,
               .database = "shop",
               .relation = "public.outbox",
               .xid = Xid(1234),
               .committed_at = absl::FromUnixMicros(1'772'361'297'000'005)};
  }
  void Step() override {
    origin_.commit_lsn.value += 100;
    WALPOST_CHECK(builder_->Build(event_, origin_).ok());
  }

 private:
  Stream stream_;
  outbox::Mapper mapper_{{}};
  const outbox::Event event_ = mapper_.Map(stream_.batch().row(0)).value();
  std::unique_ptr<outbox::MessageBuilder> builder_ =
      outbox::MessageBuilder::Make({}, outbox::ValueFormat::kEnvelope).value();
  outbox::Origin origin_;
};

// A window of a thousand, acknowledged out of order within each ten.
class Track : public MicroCase {
 public:
  Track() {
    for (int i = 0; i < 1000; ++i) Open();
  }
  void Step() override {
    Open();
    const std::uint64_t place = acknowledged_ / 10 * 10 + (acknowledged_ * 7) % 10;
    ++acknowledged_;
    WALPOST_CHECK(tracker_.Ack(Ticket(place)).ok());
  }

 private:
  void Open() { tracker_.Open(1, Position(kFirstLsn + ++opened_ * 100)); }

  watermark::AckTracker tracker_;
  std::uint64_t opened_ = 0;
  std::uint64_t acknowledged_ = 0;
};

template <typename Case>
std::unique_ptr<MicroCase> Make() {
  return std::make_unique<Case>();
}

}  // namespace

const std::vector<MicroRow>& MicroCases() {
  static const std::vector<MicroRow> rows = {
      {"decode", Make<Decode>}, {"map", Make<Map>}, {"build", Make<Build>}, {"track", Make<Track>}};
  return rows;
}

}  // namespace walpost::bench
