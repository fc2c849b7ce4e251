// Checked reads from a byte string, big-endian as the Postgres protocol is.
//
// A read past the end gives nullopt and moves nothing: the caller turns it into kDataLoss. No
// default value is ever made up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace walpost {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::size_t remaining() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  std::optional<std::uint8_t> Uint8() { return Number<std::uint8_t>(); }
  std::optional<std::uint16_t> Uint16() { return Number<std::uint16_t>(); }
  std::optional<std::uint32_t> Uint32() { return Number<std::uint32_t>(); }
  std::optional<std::uint64_t> Uint64() { return Number<std::uint64_t>(); }
  std::optional<std::int16_t> Int16() { return Number<std::int16_t>(); }
  std::optional<std::int32_t> Int32() { return Number<std::int32_t>(); }
  std::optional<std::int64_t> Int64() { return Number<std::int64_t>(); }

  // Exactly `count` bytes, viewing the input.
  std::optional<std::string_view> Bytes(std::size_t count) {
    if (count > bytes_.size()) return std::nullopt;
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  // The bytes up to the next NUL, which is consumed and not returned. nullopt if there is none.
  std::optional<std::string_view> CString() {
    const std::size_t end = bytes_.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = bytes_.substr(0, end);
    bytes_.remove_prefix(end + 1);
    return text;
  }

 private:
  template <typename T>
  std::optional<T> Number() {
    if (bytes_.size() < sizeof(T)) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = (value << 8U) | static_cast<unsigned char>(bytes_[i]);
    }
    bytes_.remove_prefix(sizeof(T));
    return static_cast<T>(value);
  }

  std::string_view bytes_;
};

}  // namespace walpost
