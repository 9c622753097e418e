#include "tally/state/narrow_integers.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>

namespace tally::internal {
namespace {

constexpr std::size_t kBlocksOfPart = 128;  // 64 KB, in the cache

std::size_t width_of(std::uint64_t bits) {
  if (bits == 0) return 0;
  if (bits < std::uint64_t{1} << 8) return 1;
  if (bits < std::uint64_t{1} << 16) return 2;
  return bits < std::uint64_t{1} << 32 ? 4 : 8;
}

template <class Narrow>
char* write_as(const std::int64_t* from, std::int64_t size, char* to) {
  for (std::int64_t i = 0; i < size; ++i) {
    const auto value = static_cast<Narrow>(from[i]);
    std::memcpy(to + i * sizeof(Narrow), &value, sizeof(Narrow));
  }
  return to + size * sizeof(Narrow);
}

char* write_block(const std::int64_t* from, std::int64_t size, char width,
                  char* to) {
  switch (width) {
    case 0:
      return to;
    case 1:
      return write_as<std::uint8_t>(from, size, to);
    case 2:
      return write_as<std::uint16_t>(from, size, to);
    case 4:
      return write_as<std::uint32_t>(from, size, to);
    default:
      return write_as<std::int64_t>(from, size, to);
  }
}

template <class Narrow>
const char* read_as(const char* from, std::int64_t size, std::int64_t* to) {
  for (std::int64_t i = 0; i < size; ++i) {
    Narrow value;
    std::memcpy(&value, from + i * sizeof(Narrow), sizeof(Narrow));
    to[i] = static_cast<std::int64_t>(value);
  }
  return from + size * sizeof(Narrow);
}

const char* read_block(const char* from, std::int64_t size, char width,
                       std::int64_t* to) {
  switch (width) {
    case 0:
      std::fill_n(to, size, 0);
      return from;
    case 1:
      return read_as<std::uint8_t>(from, size, to);
    case 2:
      return read_as<std::uint16_t>(from, size, to);
    case 4:
      return read_as<std::uint32_t>(from, size, to);
    default:
      return read_as<std::int64_t>(from, size, to);
  }
}

}  // namespace

void append_narrow(std::string& bytes, const std::int64_t* data,
                   std::int64_t size,
                   c10::function_ref<void(std::size_t end)> written) {
  const std::size_t start = bytes.size();
  std::size_t total = 0;
  for (std::int64_t i = 0; i < size; i += kNarrowBlock) {
    const std::int64_t count = std::min(kNarrowBlock, size - i);
    std::uint64_t bits = 0;
    for (std::int64_t k = i; k < i + count; ++k) {
      bits |= static_cast<std::uint64_t>(data[k]);
    }
    const std::size_t width = width_of(bits);
    bytes.push_back(static_cast<char>(width));
    total += width * static_cast<std::size_t>(count);
  }
  const std::size_t blocks = bytes.size() - start;
  bytes.resize(bytes.size() + total);
  const char* const widths = bytes.data() + start;
  char* to = bytes.data() + start + blocks;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::int64_t count = std::min(kNarrowBlock, size);
    to = write_block(data, count, widths[b], to);
    data += count;
    size -= count;
    if (written && b % kBlocksOfPart == kBlocksOfPart - 1) {
      written(static_cast<std::size_t>(to - bytes.data()));
    }
  }
}

std::size_t NarrowIntegers::blocks() const {
  return static_cast<std::size_t>((size + kNarrowBlock - 1) / kNarrowBlock);
}

std::size_t NarrowIntegers::bytes() const {
  std::size_t sum = 0;
  std::int64_t left = size;
  for (std::size_t b = 0; b < blocks(); ++b, left -= kNarrowBlock) {
    const std::size_t width = static_cast<unsigned char>(widths[b]);
    TORCH_CHECK_VALUE(width <= 8 && (width & (width - 1)) == 0,
                      "expected integers of 0, 1, 2, 4 or 8 bytes, got ",
                      width);
    sum += width * static_cast<std::size_t>(std::min(kNarrowBlock, left));
  }
  return sum;
}

void NarrowIntegers::read(std::int64_t* to) const {
  const char* from = data;
  std::int64_t left = size;
  for (std::size_t b = 0; b < blocks(); ++b) {
    const std::int64_t count = std::min(kNarrowBlock, left);
    from = read_block(from, count, widths[b], to);
    to += count;
    left -= count;
  }
}

}  // namespace tally::internal
