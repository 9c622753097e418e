#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tally::internal {

/// Appends the bytes of a number, the lowest first.
template <class Number>
void append_number(Number number, std::string& bytes) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  char copy[sizeof number];
  std::memcpy(copy, &number, sizeof number);
  bytes.append(copy, sizeof number);
}

/// A message in protobuf's wire format, written field by field in the order of
/// their numbers. Default values are written as well: whether a field that has
/// one is omitted is the caller's choice.
class Message {
 public:
  Message& integer(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& number(int field, double value) {
    tag(field, 1);
    append_number(value, bytes_);
    return *this;
  }
  Message& number(int field, float value) {
    tag(field, 5);
    append_number(value, bytes_);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) {
    return text(field, value.bytes_);
  }
  /// A packed repeated field.
  Message& numbers(int field, const std::vector<double>& values) {
    tag(field, 2);
    varint(values.size() * sizeof(double));
    for (const double value : values) append_number(value, bytes_);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int type) {
    varint(static_cast<std::uint64_t>(field) << 3 |
           static_cast<std::uint64_t>(type));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace tally::internal
