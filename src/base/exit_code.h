// The exit codes of every verb, after sysexits.h. Documented in the README; numbers are never
// reused.
#pragma once

namespace walpost {

enum class ExitCode : int {
  kOk = 0,      // asked to stop, and drained
  kUsage = 64,  // the command line is wrong
  kData = 65,   // the slot was lost, the stream has a gap or doesn't parse, poison under `stop`
  kUnavailable = 69,    // not reachable, in a verb that doesn't retry
  kInternal = 70,       // a bug of walpost, seen in time
  kUndelivered = 75,    // the drain deadline passed with events undelivered: they come again
  kNoPermission = 77,   // not permitted
  kConfiguration = 78,  // configuration; slot or publication absent or unfit at start
};

}  // namespace walpost
