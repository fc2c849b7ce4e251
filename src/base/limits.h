// Every bound of walpost, with its reason. A queue, buffer, retry or wait without a line here is a
// bug.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace walpost::limits {

// A transaction travels in batches of at most this many rows and about this many bytes: large
// enough that per-batch work vanishes, small enough that a paused relay holds little.
inline constexpr std::size_t kBatchRows = 256;
inline constexpr std::size_t kBatchBytes = std::size_t{256} * 1024;

// Frames handled before the loop looks at receipts, timers and sockets again (data
// must never starve the status timer). At 1 µs a frame this is about 2 ms.
inline constexpr std::size_t kFramesPerTurn = 2048;

// While events come in quick succession, input gathers this long before the next read: the
// walsender sends one packet a message, and a reader that wakes for each one halves its speed.
inline constexpr absl::Duration kGather = absl::Microseconds(200);
// "Quick succession": at least this many frames in the last two milliseconds.
inline constexpr std::size_t kGatherFrames = 48;

// Standby status updates: by timer at most this far apart (or a third of wal_sender_timeout), soon
// after the confirmed position moved, and never more often than kReplySpacing while it stands
// still: a stopping server asks 45,000 times a second.
inline constexpr absl::Duration kStatusInterval = absl::Seconds(10);
inline constexpr absl::Duration kStatusSpacing = absl::Milliseconds(10);
inline constexpr absl::Duration kReplySpacing = absl::Seconds(1);

// A server that says nothing for kPeerQuiet is asked for a sign of life; after kPeerDead without
// any byte, while being read, it counts as gone. But a walsender inside a large transaction that is
// none of ours neither reads nor says anything until half of wal_sender_timeout has passed: one that
// is busy must not be taken for dead, or it would begin that transaction again and again.
inline constexpr absl::Duration kPeerQuiet = absl::Seconds(10);
inline constexpr absl::Duration kPeerDead = absl::Seconds(30);
inline constexpr absl::Duration kPeerMargin = absl::Seconds(10);
inline constexpr absl::Duration kPeerNeverAsks = absl::Minutes(10);
// The kernel's view of the same peer, for lines that lead nowhere: seconds of silence until the
// first probe, between two, how many; and milliseconds until sent bytes must be acknowledged.
inline constexpr int kKeepaliveIdleSeconds = 20;
inline constexpr int kKeepaliveIntervalSeconds = 10;
inline constexpr int kKeepaliveCount = 4;
inline constexpr int kUserTimeoutMilliseconds = 60'000;

// Sessions in a row, over so long a time, that fail at the same position with an error of the server's
// own: it will never get past it.
inline constexpr int kSameFailures = 5;
inline constexpr absl::Duration kSameFailing = absl::Minutes(1);
// The same notice of the server is logged this often.
inline constexpr absl::Duration kNoticePeriod = absl::Minutes(1);

// Slot and publication are looked at again this often, on a fresh ordinary connection.
inline constexpr absl::Duration kCheckInterval = absl::Seconds(10);
// A standby looks at the slot this often (refused STARTs would fill the server's log).
inline constexpr absl::Duration kStandbyInterval = absl::Milliseconds(500);
// Connecting, or answering one catalogue query.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(10);

// Recovery: how long outstanding receipts are waited for before the session is given up.
inline constexpr absl::Duration kSettleGrace = absl::Seconds(2);
inline constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
inline constexpr absl::Duration kMostBackoff = absl::Seconds(10);
// A stream that lasted this long was healthy: the back-off begins anew after it.
inline constexpr absl::Duration kSteady = absl::Seconds(60);
// After the server ended the session by itself (shutdown, switchover): a reconnect at once would
// hold up the very shutdown.
inline constexpr absl::Duration kShutdownBackoff = absl::Seconds(1);

// A value in the log is cut here: a table's or a server's text is not ours to bound.
inline constexpr std::size_t kLogValueBytes = 2048;

// A configuration file, and a file that it takes a value from.
inline constexpr std::size_t kConfigFileBytes = std::size_t{1024} * 1024;
inline constexpr std::size_t kValueFileBytes = std::size_t{64} * 1024;
// ${A:-${B:-...}}: deeper than anyone reads.
inline constexpr int kReferenceDepth = 8;

// Administration port: a scraper or two, probes and a human. A connection carries one request and
// lives no longer than kAdminLifetime, whatever it drips in.
inline constexpr unsigned kAdminConnections = 32;
inline constexpr std::size_t kAdminConnectionBytes = std::size_t{16} * 1024;
inline constexpr unsigned kAdminIdleSeconds = 5;
inline constexpr absl::Duration kAdminLifetime = absl::Seconds(10);

// Setup: creating a slot waits for every transaction that is running; then it says which.
// Each wait is bounded by the first, all of them together by the second.
inline constexpr absl::Duration kSetupLockTimeout = absl::Seconds(10);
inline constexpr absl::Duration kSetupStatementTimeout = absl::Seconds(30);

// Kafka sink. One metadata request waits this long at first, and up to the longer time while a
// broker is connected but slow. Destroying the sink may have to wait for one.
inline constexpr absl::Duration kFirstMetadataTimeout = absl::Milliseconds(250);
inline constexpr absl::Duration kMostMetadataTimeout = absl::Seconds(2);
// Between two rounds of questions about topics that aren't known yet.
inline constexpr absl::Duration kMetadataSpacing = absl::Milliseconds(100);
// A topic that brokers have called unknown for this long is missing: a new one needs far less to
// show.
inline constexpr absl::Duration kTopicMissing = absl::Seconds(5);
// One request to create a topic, and one for its settings (brokers that don't know that one stay
// silent; it is asked once in a session then).
inline constexpr absl::Duration kCreateTopicTimeout = absl::Seconds(10);
inline constexpr absl::Duration kDescribeTimeout = absl::Seconds(1);
// Brokers' max.message.bytes unless it is set: of one batch, as it lies on disk.
inline constexpr std::size_t kDefaultMaxMessageBytes = 1'048'588;
// Brokers refuse the credentials for this long: a new session reads them again.
inline constexpr absl::Duration kCredentialsRefused = absl::Seconds(5);
// kafka.token_command: longer, and it is ended.
inline constexpr absl::Duration kTokenCommand = absl::Seconds(10);
// Nothing acknowledged for this long while something is outstanding: not ready.
inline constexpr absl::Duration kSinkSilent = absl::Seconds(10);
// A partition's acknowledgement counts as proof that its broker knows the producer this long;
// brokers forget an idle one after a day by default.
inline constexpr absl::Duration kPartitionProof = absl::Minutes(10);
// Consecutive messages without a key that go to one partition, so that they form batches.
inline constexpr std::size_t kKeylessRun = 64;
// Events of librdkafka (reports come many to an event) handled in one TakeReceipts().
inline constexpr std::size_t kClientEventsPerTake = 1024;
// librdkafka's own log lines: so many in a period, the rest are counted.
inline constexpr std::size_t kClientLogLines = 5;
inline constexpr absl::Duration kClientLogPeriod = absl::Seconds(10);

// File sink. Bytes of one write to standard output: a pipe that polls writable takes PIPE_BUF
// without blocking.
inline constexpr std::size_t kStreamWrite = 4096;
// Bytes read at once while looking for the last whole record of a file.
inline constexpr std::size_t kTailRead = std::size_t{64} * 1024;

// Topics that have a metric of their own; what goes to others is counted together. Topics come from
// rows where the template says so.
inline constexpr std::size_t kTopicLabels = 1000;

// Outbox. Mappings kept for tables' descriptions (a new one at each change of a table), and
// verdicts kept on topics and header names: all come from outside, so none may grow without end.
// Full: forgotten and made anew.
inline constexpr std::size_t kMappings = 256;
inline constexpr std::size_t kNameVerdicts = 4096;
// A name longer than this never reaches a cache. Kafka takes topics up to 249.
inline constexpr std::size_t kNameBytes = 249;
// The reason that goes with a dead letter.
inline constexpr std::size_t kDeadLetterErrorBytes = 1024;
// A reused buffer that one large event made larger than this is given back.
inline constexpr std::size_t kKeptBuffer = std::size_t{1024} * 1024;

}  // namespace walpost::limits
