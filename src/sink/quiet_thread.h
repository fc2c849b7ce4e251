// A thread that takes no signals: those of the process belong to the loop.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace walpost::sink {

// Signals are blocked before the thread exists, so there is no moment in which it could get one.
// SIGPIPE and SIGXFSZ, which a write raises on its own thread, become the errors EPIPE and EFBIG.
template <typename Function>
std::thread StartQuietThread(Function function) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(function));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace walpost::sink
