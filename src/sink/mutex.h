// A lock that clang's thread-safety analysis and the thread sanitizer both understand.
//
// absl::Mutex would do, but Debian's is not instrumented: the sanitizer does not see that it orders
// anything, and reports what it guards.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace walpost::sink {

// Thread: any.
class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }

  // Whoever waits looks at its condition again.
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    released_.notify_all();
    mutex_.unlock();
  }

  // Until `condition` holds. It is called with the lock held, and may depend only on what the lock
  // guards.
  template <typename Condition>
  void Await(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    released_.notify_all();  // waiting releases it too
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    released_.wait(lock, condition);
    lock.release();
  }

  // The same, at most for `timeout`. Returns whether `condition` holds.
  template <typename Condition>
  bool AwaitFor(const Condition& condition, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    released_.notify_all();
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    const bool holds = released_.wait_for(lock, absl::ToChronoNanoseconds(timeout), condition);
    lock.release();
    return holds;
  }

 private:
  std::mutex mutex_;
  std::condition_variable released_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace walpost::sink
