// Writes rendered messages in groups on its own thread: whatever has gathered while the last group
// was being written and synced is the next one.
//
// Thread: owns one, see Run(). The public functions are for the loop.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "sink/event_fd.h"
#include "sink/file/output.h"
#include "sink/mutex.h"
#include "sink/sink.h"

namespace walpost::sink::file {

// Bounds of what is queued or being written. A single record larger than `bytes` is taken alone.
struct GroupLimits {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

class GroupWriter {
 public:
  // `ready` must outlive it; it is signalled when a group is done.
  GroupWriter(std::unique_ptr<Output> output, GroupLimits limits, const EventFd& ready,
              EventFd stop);
  // Gives up what is queued. Returns soon even if standard output is stuck.
  ~GroupWriter();

  // False: full; offer it again after `ready`. Requires: not failed.
  bool Add(Ticket ticket, std::string_view record);

  // Appends what is known. After a failed write that includes everything that was added.
  void TakeReceipts(std::vector<Receipt>& receipts);

  // OK until a write failed; then why.
  absl::Status failure() const;
  bool empty() const;  // every record has its receipt taken

 private:
  struct Group {
    std::string bytes;
    std::vector<Ticket> tickets;
  };

  void Run();
  void Finish(Group& group, const absl::Status& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const GroupLimits limits_;
  const EventFd& ready_;
  const EventFd stop_;
  const std::unique_ptr<Output> output_;  // of the thread

  mutable Mutex mutex_;
  Group queued_ ABSL_GUARDED_BY(mutex_);
  std::size_t held_records_ ABSL_GUARDED_BY(mutex_) = 0;  // queued or being written
  std::size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Receipt> receipts_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace walpost::sink::file
