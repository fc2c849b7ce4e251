// Writes protocol bytes for tests: big-endian numbers, NUL-terminated strings; and reads golden
// files.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace walpost::testing {

class Wire {
 public:
  Wire& Byte(int value) {
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  Wire& Int16(std::uint16_t value) { return Number(value, 2); }
  Wire& Int32(std::uint32_t value) { return Number(value, 4); }
  Wire& Int64(std::uint64_t value) { return Number(value, 8); }
  Wire& Text(std::string_view text) {
    bytes_.append(text);
    return Byte(0);
  }
  Wire& Raw(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Wire& Number(std::uint64_t value, int size) {
    for (int i = size - 1; i >= 0; --i) Byte(static_cast<int>((value >> (8 * i)) & 0xFFU));
    return *this;
  }
  std::string bytes_;
};

// One message a line, in hexadecimal.
inline std::vector<std::string> ReadHexLines(const std::string& path) {
  std::vector<std::string> messages;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16)));
    }
    messages.push_back(bytes);
  }
  return messages;
}

}  // namespace walpost::testing
