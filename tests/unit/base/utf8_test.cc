#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace walpost {
namespace {

// The straightforward encoder: what a validator has to accept, for every code point.
std::string Encode(std::uint32_t c) {
  std::string out;
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | (c >> 6));
    add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | (c >> 12));
    add(0x80 | ((c >> 6) & 0x3F));
    add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | (c >> 18));
    add(0x80 | ((c >> 12) & 0x3F));
    add(0x80 | ((c >> 6) & 0x3F));
    add(0x80 | (c & 0x3F));
  }
  return out;
}

TEST(Utf8Test, AcceptsEveryCodePointButSurrogates) {
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    ASSERT_EQ(IsValidUtf8(Encode(c)), !surrogate) << std::hex << c;
  }
  for (std::uint32_t c = 0x110000; c < 0x200000; ++c)
    ASSERT_FALSE(IsValidUtf8(Encode(c))) << std::hex << c;
}

// Of two bytes, exactly the encodings of Encode() are valid: overlong forms and lone halves are
// not.
TEST(Utf8Test, JudgesEveryPairOfBytes) {
  std::size_t valid = 0;
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      valid += IsValidUtf8(std::string{static_cast<char>(a), static_cast<char>(b)}) ? 1U : 0U;
    }
  }
  EXPECT_EQ(valid, 128U * 128U + (0x800U - 0x80U));
}

TEST(Utf8Test, JudgesEveryThreeBytesAfterALeadOfThree) {
  std::size_t valid = 0;
  for (unsigned a = 0xE0; a <= 0xFF; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      for (unsigned c = 0; c < 256; ++c) {
        const std::string text{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        valid += IsValidUtf8(text) ? 1U : 0U;
      }
    }
  }
  EXPECT_EQ(valid, 0x10000U - 0x800U - 0x800U);
}

TEST(Utf8Test, EveryCutThroughASequenceIsInvalid) {
  for (const std::string& whole : {Encode(0xE4), Encode(0x20AC), Encode(0x1F600)}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      EXPECT_FALSE(IsValidUtf8(whole.substr(0, size)));
      EXPECT_FALSE(IsValidUtf8(whole.substr(size)));
    }
  }
}

// Words of eight ASCII bytes are taken at once: the fault may stand at any offset of any of them.
TEST(Utf8Test, FindsOneBadByteAtEveryOffset) {
  for (std::size_t size = 1; size < 40; ++size) {
    const std::string clean(size, 'a');
    EXPECT_TRUE(IsValidUtf8(clean));
    for (std::size_t at = 0; at < size; ++at) {
      std::string text = clean;
      text[at] = '\xFF';
      EXPECT_FALSE(IsValidUtf8(text)) << size << " " << at;
    }
  }
}

TEST(Utf8Test, AcceptsNothingAndNul) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace walpost
