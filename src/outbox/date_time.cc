#include "outbox/date_time.h"

#include <charconv>
#include <limits>

namespace walpost::outbox {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::int64_t kMicrosPerSecond = 1000000;
constexpr std::int64_t kMicrosPerDay = kSecondsPerDay * kMicrosPerSecond;
constexpr std::int64_t kEpochDays = 10957;  // from 1970-01-01 to 2000-01-01
constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinusInfinity = std::numeric_limits<std::int64_t>::min();
constexpr std::int32_t kDateInfinity = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kDateMinusInfinity = std::numeric_limits<std::int32_t>::min();

struct Civil {
  std::int64_t year;  // astronomical: 0 is 1 BC
  int month;
  int day;
};

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Days since 2000-01-01 in the proleptic Gregorian calendar, counted in eras of 400 years that
// begin on 1 March, so that the leap day is a year's last.
std::int64_t DaysFromCivil(const Civil& civil) {
  const std::int64_t year = civil.year - (civil.month <= 2 ? 1 : 0);
  const std::int64_t era = FloorDivide(year, 400);
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year =
      (153 * (civil.month + (civil.month > 2 ? -3 : 9)) + 2) / 5 + civil.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468 - kEpochDays;
}

Civil CivilFromDays(std::int64_t days) {
  const std::int64_t shifted = days + kEpochDays + 719468;
  const std::int64_t era = FloorDivide(shifted, 146097);
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(shifted_month + (shifted_month < 10 ? 3 : -9));
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1)};
}

int DaysInMonth(const Civil& civil) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = civil.year % 4 == 0 && (civil.year % 100 != 0 || civil.year % 400 == 0);
  return kDays[civil.month - 1] + (civil.month == 2 && leap ? 1 : 0);
}

// Takes from the front of a text; every method leaves it alone if it doesn't fit.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool Take(std::string_view literal) {
    if (rest_.substr(0, literal.size()) != literal) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }

  // Between `least` and `most` digits, as many as there are.
  std::optional<std::int64_t> Number(std::size_t least, std::size_t most) {
    std::size_t count = 0;
    std::int64_t value = 0;
    while (count < most && count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') {
      value = value * 10 + (rest_[count++] - '0');
    }
    if (count < least) return std::nullopt;
    rest_.remove_prefix(count);
    return value;
  }

  // The digits after a point as microseconds.
  std::optional<std::int64_t> Fraction() {
    const std::size_t before = rest_.size();
    std::optional<std::int64_t> value = Number(1, 6);
    if (!value) return std::nullopt;
    for (std::size_t digits = before - rest_.size(); digits < 6; ++digits) *value *= 10;
    return value;
  }

  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The year as it is printed; " BC", which comes last, is applied by the caller.
std::optional<Civil> TakeDate(Scanner& scanner) {
  const auto year = scanner.Number(4, 7);
  if (!year || !scanner.Take("-")) return std::nullopt;
  const auto month = scanner.Number(2, 2);
  if (!month || !scanner.Take("-")) return std::nullopt;
  const auto day = scanner.Number(2, 2);
  if (!day || *year < 1 || *month < 1 || *month > 12 || *day < 1) return std::nullopt;
  return Civil{*year, static_cast<int>(*month), static_cast<int>(*day)};
}

// The end of a text: an era, and a day that exists in that year's month.
std::optional<std::int64_t> FinishDate(Scanner& scanner, Civil civil) {
  if (scanner.Take(" BC")) civil.year = 1 - civil.year;
  if (!scanner.done() || civil.day > DaysInMonth(civil)) return std::nullopt;
  return DaysFromCivil(civil);
}

std::optional<std::int64_t> TakeTimeOfDay(Scanner& scanner) {
  const auto hour = scanner.Number(2, 2);
  if (!hour || !scanner.Take(":")) return std::nullopt;
  const auto minute = scanner.Number(2, 2);
  if (!minute || !scanner.Take(":")) return std::nullopt;
  const auto second = scanner.Number(2, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  std::int64_t fraction = 0;
  if (scanner.Take(".")) {
    const auto digits = scanner.Fraction();
    if (!digits) return std::nullopt;
    fraction = *digits;
  }
  return ((*hour * 60 + *minute) * 60 + *second) * kMicrosPerSecond + fraction;
}

// Seconds east of UTC.
std::optional<std::int64_t> TakeOffset(Scanner& scanner) {
  std::int64_t sign = 1;
  if (scanner.Take("-")) {
    sign = -1;
  } else if (!scanner.Take("+")) {
    return std::nullopt;
  }
  std::int64_t seconds = 0;
  std::int64_t unit = 3600;
  for (; unit >= 1; unit /= 60) {
    if (unit < 3600 && !scanner.Take(":")) break;
    const auto part = scanner.Number(2, 2);
    if (!part || *part > 59) return std::nullopt;
    seconds += *part * unit;
  }
  return sign * seconds;
}

std::optional<std::int64_t> Parse(std::string_view text, bool zone) {
  if (text == "infinity") return kInfinity;
  if (text == "-infinity") return kMinusInfinity;
  Scanner scanner(text);
  const auto civil = TakeDate(scanner);
  if (!civil || !scanner.Take(" ")) return std::nullopt;
  const auto time_of_day = TakeTimeOfDay(scanner);
  if (!time_of_day) return std::nullopt;
  std::int64_t offset = 0;
  if (zone) {
    const auto seconds = TakeOffset(scanner);
    if (!seconds) return std::nullopt;
    offset = *seconds;
  }
  const auto days = FinishDate(scanner, *civil);
  if (!days) return std::nullopt;
  std::int64_t result = 0;
  if (__builtin_mul_overflow(*days, kMicrosPerDay, &result) ||
      __builtin_add_overflow(result, *time_of_day - offset * kMicrosPerSecond, &result)) {
    return std::nullopt;
  }
  return result;
}

void AppendPadded(std::int64_t value, int width, std::string& out) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  for (auto count = end - digits; count < width; ++count) out += '0';
  out.append(digits, end);
}

void AppendCivilDate(const Civil& civil, std::string& out) {
  AppendPadded(civil.year > 0 ? civil.year : 1 - civil.year, 4, out);
  out += '-';
  AppendPadded(civil.month, 2, out);
  out += '-';
  AppendPadded(civil.day, 2, out);
}

void AppendTimeOfDay(std::int64_t seconds, std::string& out) {
  AppendPadded(seconds / 3600, 2, out);
  out += ':';
  AppendPadded(seconds / 60 % 60, 2, out);
  out += ':';
  AppendPadded(seconds % 60, 2, out);
}

void Append(std::int64_t microseconds, std::string_view zone, std::string& out) {
  if (microseconds == kInfinity || microseconds == kMinusInfinity) {
    out += microseconds == kInfinity ? "infinity" : "-infinity";
    return;
  }
  const std::int64_t days = FloorDivide(microseconds, kMicrosPerDay);
  const std::int64_t of_day = microseconds - days * kMicrosPerDay;
  const Civil civil = CivilFromDays(days);
  AppendCivilDate(civil, out);
  out += ' ';
  AppendTimeOfDay(of_day / kMicrosPerSecond, out);
  if (const std::int64_t fraction = of_day % kMicrosPerSecond; fraction != 0) {
    out += '.';
    AppendPadded(fraction, 6, out);
    while (out.back() == '0') out.pop_back();
  }
  out += zone;
  if (civil.year <= 0) out += " BC";
}

}  // namespace

std::optional<std::int64_t> ParseTimestamptz(std::string_view text) { return Parse(text, true); }
std::optional<std::int64_t> ParseTimestamp(std::string_view text) { return Parse(text, false); }

std::optional<std::int32_t> ParseDate(std::string_view text) {
  if (text == "infinity") return kDateInfinity;
  if (text == "-infinity") return kDateMinusInfinity;
  Scanner scanner(text);
  const auto civil = TakeDate(scanner);
  if (!civil) return std::nullopt;
  const auto days = FinishDate(scanner, *civil);
  if (!days || *days <= kDateMinusInfinity || *days >= kDateInfinity) return std::nullopt;
  return static_cast<std::int32_t>(*days);
}

void AppendTimestamptz(std::int64_t microseconds, std::string& out) {
  Append(microseconds, "+00", out);
}
void AppendTimestamp(std::int64_t microseconds, std::string& out) { Append(microseconds, "", out); }

void AppendDate(std::int32_t days, std::string& out) {
  if (days == kDateInfinity || days == kDateMinusInfinity) {
    out += days == kDateInfinity ? "infinity" : "-infinity";
    return;
  }
  const Civil civil = CivilFromDays(days);
  AppendCivilDate(civil, out);
  if (civil.year <= 0) out += " BC";
}

absl::Time TimestampToTime(std::int64_t microseconds) {
  if (microseconds == kInfinity) return absl::InfiniteFuture();
  if (microseconds == kMinusInfinity) return absl::InfinitePast();
  // In two steps: the sum of both epochs would pass 64 bits of microseconds.
  const std::int64_t seconds = FloorDivide(microseconds, kMicrosPerSecond);
  return absl::FromUnixSeconds(seconds + kEpochDays * kSecondsPerDay) +
         absl::Microseconds(microseconds - seconds * kMicrosPerSecond);
}

absl::Time DateToTime(std::int32_t days) {
  if (days == kDateInfinity) return absl::InfiniteFuture();
  if (days == kDateMinusInfinity) return absl::InfinitePast();
  return absl::FromUnixSeconds((days + kEpochDays) * kSecondsPerDay);
}

bool IsInCommonEra(absl::Time time) {
  constexpr std::int64_t kFirst = -62135596800;  // 0001-01-01 00:00:00
  constexpr std::int64_t kEnd = 253402300800;    // 10000-01-01 00:00:00
  return time >= absl::FromUnixSeconds(kFirst) && time < absl::FromUnixSeconds(kEnd);
}

void AppendRfc3339(absl::Time time, std::string& out) {
  const std::int64_t seconds = absl::ToUnixSeconds(time);
  const std::int64_t nanos = absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds));
  const std::int64_t days = FloorDivide(seconds, kSecondsPerDay);
  AppendCivilDate(CivilFromDays(days - kEpochDays), out);
  out += 'T';
  AppendTimeOfDay(seconds - days * kSecondsPerDay, out);
  if (nanos != 0) {
    out += '.';
    if (nanos % 1000000 == 0) {
      AppendPadded(nanos / 1000000, 3, out);
    } else if (nanos % 1000 == 0) {
      AppendPadded(nanos / 1000, 6, out);
    } else {
      AppendPadded(nanos, 9, out);
    }
  }
  out += 'Z';
}

}  // namespace walpost::outbox
