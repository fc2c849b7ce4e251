#include "outbox/binary_text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_reader.h"

namespace walpost::outbox {
namespace {

constexpr std::uint16_t kPlus = 0x0000;
constexpr std::uint16_t kMinus = 0x4000;
constexpr std::uint16_t kNan = 0xC000;
constexpr std::uint16_t kPlusInfinity = 0xD000;
constexpr std::uint16_t kMinusInfinity = 0xF000;
constexpr int kMostDecimals = 16383;
constexpr int kDigitWidth = 4;

void AppendInteger(std::int64_t value, std::string& out) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

void AppendFourDigits(unsigned value, std::string& out) {
  out += static_cast<char>('0' + value / 1000);
  out += static_cast<char>('0' + value / 100 % 10);
  out += static_cast<char>('0' + value / 10 % 10);
  out += static_cast<char>('0' + value % 10);
}

// The base-10000 digits of a number; zero outside of what is stored.
class NumericDigits {
 public:
  explicit NumericDigits(std::string_view bytes) : bytes_(bytes) {}

  unsigned at(int i) const {
    const auto position = static_cast<std::size_t>(i) * 2;
    if (i < 0 || position + 1 >= bytes_.size()) return 0;
    return static_cast<unsigned>(static_cast<unsigned char>(bytes_[position]) << 8U |
                                 static_cast<unsigned char>(bytes_[position + 1]));
  }

  bool valid() const {
    for (int i = 0; static_cast<std::size_t>(i) * 2 < bytes_.size(); ++i) {
      if (at(i) > 9999) return false;
    }
    return true;
  }

 private:
  std::string_view bytes_;
};

void AppendFinite(const NumericDigits& digits, int weight, int decimals, std::string& out) {
  if (weight < 0) {
    out += '0';
  } else {
    AppendInteger(digits.at(0), out);
    for (int i = 1; i <= weight; ++i) AppendFourDigits(digits.at(i), out);
  }
  if (decimals == 0) return;
  out += '.';
  const std::size_t end = out.size() + static_cast<std::size_t>(decimals);
  for (int i = weight + 1; out.size() < end; ++i) AppendFourDigits(digits.at(i), out);
  out.resize(end);
}

constexpr std::uint32_t kElementTypes[] = {25, 1042, 1043};
constexpr std::size_t kMostDimensions = 6;

struct Dimension {
  std::int32_t size;
  std::int32_t lower_bound;
};

bool IsArraySpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

bool NeedsQuotes(std::string_view element) {
  if (element.empty()) return true;
  if (element.size() == 4) {
    std::string upper(element);
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (upper == "NULL") return true;
  }
  for (const char c : element) {
    if (c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || IsArraySpace(c)) return true;
  }
  return false;
}

bool AppendElement(ByteReader& reader, std::string& out) {
  const auto length = reader.Int32();
  if (!length || *length < -1) return false;
  if (*length == -1) {
    out += "NULL";
    return true;
  }
  const auto element = reader.Bytes(static_cast<std::size_t>(*length));
  if (!element) return false;
  if (!NeedsQuotes(*element)) {
    out += *element;
    return true;
  }
  out += '"';
  for (const char c : *element) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
  return true;
}

// As deep as there are dimensions: at most kMostDimensions.
bool AppendElements(ByteReader& reader, std::span<const Dimension> dimensions, std::string& out) {
  out += '{';
  for (std::int32_t i = 0; i < dimensions.front().size; ++i) {
    if (i > 0) out += ',';
    const bool ok = dimensions.size() == 1 ? AppendElement(reader, out)
                                           : AppendElements(reader, dimensions.subspan(1), out);
    if (!ok) return false;
  }
  out += '}';
  return true;
}

void AppendBounds(std::span<const Dimension> dimensions, std::string& out) {
  bool usual = true;
  for (const Dimension& dimension : dimensions) usual = usual && dimension.lower_bound == 1;
  if (usual) return;
  for (const Dimension& dimension : dimensions) {
    out += '[';
    AppendInteger(dimension.lower_bound, out);
    out += ':';
    AppendInteger(std::int64_t{dimension.lower_bound} + dimension.size - 1, out);
    out += ']';
  }
  out += '=';
}

}  // namespace

bool AppendNumeric(std::string_view bytes, std::string& out) {
  ByteReader reader(bytes);
  const auto count = reader.Int16();
  const auto weight = reader.Int16();
  const auto sign = reader.Uint16();
  const auto decimals = reader.Int16();
  if (!count || !weight || !sign || !decimals || *count < 0) return false;
  if (reader.remaining() != static_cast<std::size_t>(*count) * 2) return false;
  if (*sign == kNan || *sign == kPlusInfinity || *sign == kMinusInfinity) {
    if (*count != 0) return false;
    out += *sign == kNan ? "NaN" : *sign == kPlusInfinity ? "Infinity" : "-Infinity";
    return true;
  }
  const NumericDigits digits(*reader.Bytes(reader.remaining()));
  if ((*sign != kPlus && *sign != kMinus) || *decimals < 0 || *decimals > kMostDecimals ||
      !digits.valid()) {
    return false;
  }
  if (*sign == kMinus) out += '-';
  out.reserve(out.size() + static_cast<std::size_t>(*weight > 0 ? *weight : 0) * kDigitWidth +
              static_cast<std::size_t>(*decimals) + std::size_t{2} * kDigitWidth);
  AppendFinite(digits, *weight, *decimals, out);
  return true;
}

bool AppendTextArray(std::string_view bytes, std::string& out) {
  ByteReader reader(bytes);
  const auto count = reader.Uint32();
  const auto has_null = reader.Uint32();
  const auto element_type = reader.Uint32();
  if (!count || !has_null || !element_type || *count > kMostDimensions) return false;
  bool known = false;
  for (const std::uint32_t type : kElementTypes) known = known || type == *element_type;
  if (!known) return false;
  if (*count == 0) {
    out += "{}";
    return reader.empty();
  }
  std::array<Dimension, kMostDimensions> storage{};
  const std::span<Dimension> dimensions = std::span(storage).first(*count);
  std::uint64_t elements = 1;
  for (Dimension& dimension : dimensions) {
    const auto size = reader.Int32();
    const auto lower_bound = reader.Int32();
    if (!size || !lower_bound || *size < 1) return false;
    dimension = {*size, *lower_bound};
    elements *= static_cast<std::uint64_t>(*size);
    // Each takes four bytes at least: no number in the header can make us work longer than that.
    if (elements > bytes.size() / 4) return false;
  }
  AppendBounds(dimensions, out);
  return AppendElements(reader, dimensions, out) && reader.empty();
}

}  // namespace walpost::outbox
