#include "capture/wal/frame.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/byte_reader.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

constexpr std::int64_t kPostgresEpochUnixSeconds = 946'684'800;  // 2000-01-01 00:00 UTC

absl::Status Truncated(std::string_view what, std::size_t size) {
  return Error(absl::StatusCode::kDataLoss,
               absl::StrCat("a ", ToAbsl(what), " of ", size, " bytes doesn't parse"));
}

void AppendInt64(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

}  // namespace

absl::Time FromPostgresMicros(std::int64_t micros) {
  return absl::FromUnixSeconds(kPostgresEpochUnixSeconds) + absl::Microseconds(micros);
}

std::int64_t ToPostgresMicros(absl::Time time) {
  return absl::ToInt64Microseconds(time - absl::FromUnixSeconds(kPostgresEpochUnixSeconds));
}

absl::StatusOr<Frame> ParseFrame(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto kind = reader.Uint8();
  if (!kind) return Truncated("frame", 0);
  switch (*kind) {
    case 'w': {
      const auto data_start = reader.Uint64();
      const auto wal_end = reader.Uint64();
      const auto send_time = reader.Int64();
      if (!data_start || !wal_end || !send_time) return Truncated("XLogData frame", bytes.size());
      return XLogData{Lsn(*data_start), *reader.Bytes(reader.remaining())};
    }
    case 'k': {
      const auto wal_end = reader.Uint64();
      const auto send_time = reader.Int64();
      const auto reply = reader.Uint8();
      if (!wal_end || !send_time || !reply || !reader.empty()) {
        return Truncated("keepalive frame", bytes.size());
      }
      return Keepalive{Lsn(*wal_end), *reply != 0};
    }
    default:
      return Error(absl::StatusCode::kDataLoss,
                   absl::StrCat("unknown frame kind ", static_cast<int>(*kind)));
  }
}

std::string EncodeStatusUpdate(const StatusUpdate& update, absl::Time now) {
  std::string out;
  out.reserve(34);
  out.push_back('r');
  AppendInt64(out, update.write.value);
  AppendInt64(out, update.flush.value);
  AppendInt64(out, update.flush.value);  // apply: as core's own subscriber does
  AppendInt64(out, static_cast<std::uint64_t>(ToPostgresMicros(now)));
  out.push_back(update.reply_requested ? 1 : 0);
  return out;
}

}  // namespace walpost::capture
