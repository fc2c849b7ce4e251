#include "sink/file/group_writer.h"

#include <iterator>
#include <utility>

#include "sink/quiet_thread.h"

namespace walpost::sink::file {

GroupWriter::GroupWriter(std::unique_ptr<Output> output, GroupLimits limits, const EventFd& ready,
                         EventFd stop)
    : limits_(limits),
      ready_(ready),
      stop_(std::move(stop)),
      output_(std::move(output)),
      thread_(StartQuietThread([this] { Run(); })) {}

GroupWriter::~GroupWriter() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.Signal();
  thread_.join();
}

bool GroupWriter::Add(Ticket ticket, std::string_view record) {
  const MutexLock lock(mutex_);
  if (held_records_ > 0 &&
      (held_records_ >= limits_.records || held_bytes_ + record.size() > limits_.bytes)) {
    return false;
  }
  ++held_records_;
  held_bytes_ += record.size();
  queued_.bytes.append(record);
  queued_.tickets.push_back(ticket);
  return true;
}

void GroupWriter::TakeReceipts(std::vector<Receipt>& receipts) {
  const MutexLock lock(mutex_);
  receipts.insert(receipts.end(), std::make_move_iterator(receipts_.begin()),
                  std::make_move_iterator(receipts_.end()));
  receipts_.clear();
}

absl::Status GroupWriter::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

bool GroupWriter::empty() const {
  const MutexLock lock(mutex_);
  return held_records_ == 0 && receipts_.empty();
}

void GroupWriter::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queued_.tickets.empty();
  };
  Group group;
  while (true) {
    absl::Status failed;
    {
      const MutexLock lock(mutex_);
      mutex_.Await(has_work);
      if (stopping_) return;
      std::swap(group, queued_);
      failed = failure_;
    }
    const absl::Status result = failed.ok() ? output_->Write(group.bytes, stop_.fd()) : failed;
    {
      const MutexLock lock(mutex_);
      Finish(group, result);
      // What gathered behind a failed group must not be written: it would be a gap.
      if (!result.ok()) Finish(queued_, result);
    }
    ready_.Signal();
  }
}

void GroupWriter::Finish(Group& group, const absl::Status& result) {
  for (const Ticket ticket : group.tickets) receipts_.push_back(Receipt{ticket, result});
  held_records_ -= group.tickets.size();
  held_bytes_ -= group.bytes.size();
  group.tickets.clear();
  group.bytes.clear();
  if (!result.ok()) failure_ = result;
}

}  // namespace walpost::sink::file
