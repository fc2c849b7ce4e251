#include "outbox/json_scan.h"

#include <bit>
#include <bitset>
#include <cstdint>
#include <cstring>

namespace walpost::outbox {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Four hexadecimal digits at the start of `text`.
std::optional<std::uint32_t> FourHexDigits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const char c = text[i];
    const char lower = static_cast<char>(c | 0x20);
    if (IsDigit(c)) {
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<std::uint32_t>(lower - 'a') + 10;
    } else {
      return std::nullopt;
    }
  }
  return value;
}

// Non-zero if any of eight bytes ends a run of plain characters: a quote, a backslash or a control
// character. (x - n) & ~x & high marks bytes below n, exactly in the lowest marked byte.
std::uint64_t Special(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHigh = 0x8080808080808080U;
  const std::uint64_t quote = word ^ (kOnes * '"');
  const std::uint64_t backslash = word ^ (kOnes * '\\');
  return (((word - kOnes * 0x20) & ~word) | ((quote - kOnes) & ~quote) |
          ((backslash - kOnes) & ~backslash)) &
         kHigh;
}

bool IsSpecial(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

class Scanner {
 public:
  Scanner(std::string_view text, OnJsonMember on_member) : text_(text), on_member_(on_member) {}

  JsonShape Run() {
    SkipSpace();
    if (AtEnd()) return JsonShape::kMalformed;
    const char first = text_[at_];
    if (!Value()) return JsonShape::kMalformed;
    SkipSpace();
    if (!AtEnd()) return JsonShape::kMalformed;
    return first == '{'   ? JsonShape::kObject
           : first == '[' ? JsonShape::kArray
                          : JsonShape::kScalar;
  }

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  char Closer() const { return in_object_ ? '}' : ']'; }

  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  // A value with all it contains; a bit per open container tells what it is.
  bool Value() {
    for (;;) {
      if (AtEnd()) return false;
      if (depth_ == 1) value_start_ = at_;
      const char c = text_[at_];
      if (c == '{' || c == '[') {
        if (!Open(c == '{')) return false;
        if (text_[at_] != Closer()) {
          if (in_object_ && !Name()) return false;
          continue;
        }
      } else {
        if (!Scalar()) return false;
        ValueEnded();
      }
      if (!Close()) return false;
      if (depth_ == 0) return true;
    }
  }

  // Past a bracket, to the first character inside.
  bool Open(bool object) {
    if (depth_ == kJsonDepth) return false;
    objects_[depth_++] = object;
    in_object_ = object;
    ++at_;
    SkipSpace();
    return !AtEnd();
  }

  // After a value: closes what ends here, and leaves off before the next value (or at depth 0).
  bool Close() {
    while (depth_ > 0) {
      SkipSpace();
      if (AtEnd()) return false;
      if (text_[at_] == ',') {
        ++at_;
        SkipSpace();
        return !in_object_ || Name();
      }
      if (text_[at_] != Closer()) return false;
      ++at_;
      --depth_;
      in_object_ = depth_ > 0 && objects_[depth_ - 1];
      ValueEnded();
    }
    return true;
  }

  void ValueEnded() {
    if (depth_ == 1 && in_object_) {
      on_member_(name_, text_.substr(value_start_, at_ - value_start_));
    }
  }

  // A member's name and the colon, to the first character of its value.
  bool Name() {
    const std::size_t start = at_ + 1;
    if (AtEnd() || text_[at_] != '"' || !String()) return false;
    if (depth_ == 1) name_ = text_.substr(start, at_ - 1 - start);
    SkipSpace();
    if (AtEnd() || text_[at_] != ':') return false;
    ++at_;
    SkipSpace();
    return true;
  }

  bool Scalar() {
    switch (text_[at_]) {
      case '"':
        return String();
      case 't':
        return Literal("true");
      case 'f':
        return Literal("false");
      case 'n':
        return Literal("null");
      default:
        return Number();
    }
  }

  bool Literal(std::string_view literal) {
    if (text_.substr(at_, literal.size()) != literal) return false;
    at_ += literal.size();
    return true;
  }

  bool String() {
    ++at_;
    for (;;) {
      SkipPlain();
      if (AtEnd()) return false;
      const char c = text_[at_++];
      if (c == '"') return true;
      if (c != '\\' || !Escape()) return false;  // else a control character
    }
  }

  // To the next quote, backslash or control character, eight bytes at a time.
  void SkipPlain() {
    while (text_.size() - at_ >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text_.data() + at_, sizeof(word));
      const std::uint64_t special = Special(word);
      if (special != 0) {
        if constexpr (std::endian::native == std::endian::little) {
          at_ += static_cast<std::size_t>(std::countr_zero(special)) / 8;
          return;
        }
        break;
      }
      at_ += sizeof(word);
    }
    while (at_ < text_.size() && !IsSpecial(text_[at_])) ++at_;
  }

  bool Escape() {
    if (AtEnd()) return false;
    const char c = text_[at_++];
    if (c == 'u') {
      if (!FourHexDigits(text_.substr(at_))) return false;
      at_ += 4;
      return true;
    }
    return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
  }

  bool Digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > start;
  }

  bool Number() {
    if (text_[at_] == '-') ++at_;
    if (at_ < text_.size() && text_[at_] == '0') {
      ++at_;
    } else if (!Digits()) {
      return false;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!Digits()) return false;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!Digits()) return false;
    }
    return true;
  }

  std::string_view text_;
  OnJsonMember on_member_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::bitset<kJsonDepth> objects_;  // per open container: is it an object
  bool in_object_ = false;           // the innermost
  std::string_view name_;
  std::size_t value_start_ = 0;
};

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto append = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0U | code >> 6U);
    append(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    append(0xE0U | code >> 12U);
    append(0x80U | (code >> 6U & 0x3FU));
    append(0x80U | (code & 0x3FU));
  } else {
    append(0xF0U | code >> 18U);
    append(0x80U | (code >> 12U & 0x3FU));
    append(0x80U | (code >> 6U & 0x3FU));
    append(0x80U | (code & 0x3FU));
  }
}

// The character after a "\u", which `rest` begins behind; takes its digits, and a second escape
// where the first is the first half of a pair.
std::optional<std::uint32_t> TakeUnicodeEscape(std::string_view& rest) {
  const auto first = FourHexDigits(rest);
  if (!first) return std::nullopt;
  rest.remove_prefix(4);
  if (*first < 0xD800 || *first > 0xDFFF) return first;
  if (*first > 0xDBFF || rest.substr(0, 2) != "\\u") return std::nullopt;
  const auto second = FourHexDigits(rest.substr(2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
  rest.remove_prefix(6);
  return 0x10000U + ((*first - 0xD800U) << 10U) + (*second - 0xDC00U);
}

}  // namespace

JsonShape ScanJson(std::string_view text, OnJsonMember on_member) {
  return Scanner(text, on_member).Run();
}

JsonShape ScanJson(std::string_view text) {
  return ScanJson(text, [](std::string_view, std::string_view) {});
}

std::optional<std::string_view> UnescapeJson(std::string_view raw, std::string& out) {
  if (raw.find('\\') == std::string_view::npos) return raw;
  const std::size_t start = out.size();
  std::string_view rest = raw;
  while (!rest.empty()) {
    const std::size_t plain = rest.find('\\');
    out += rest.substr(0, plain);
    if (plain == std::string_view::npos) break;
    if (plain + 1 == rest.size()) return std::nullopt;
    const char c = rest[plain + 1];
    rest.remove_prefix(plain + 2);
    if (c == 'u') {
      const auto code = TakeUnicodeEscape(rest);
      if (!code) return std::nullopt;
      AppendUtf8(*code, out);
      continue;
    }
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const std::size_t which = kNames.find(c);
    if (which == std::string_view::npos) return std::nullopt;
    out += kMeanings[which];
  }
  return std::string_view(out).substr(start);
}

void AppendJsonString(std::string_view text, std::string& out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    if (const std::size_t which = kShort.find(c); which != std::string_view::npos) {
      out += '\\';
      out += kNames[which];
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace walpost::outbox
