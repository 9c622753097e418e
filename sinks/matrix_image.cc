#include "tally/sinks/matrix_image.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tally/sinks/checksums.h"
#include "tally/sinks/cividis.h"

namespace tally::internal {
namespace {

// Of the image, in pixels, at least, where cells are not smaller than that.
constexpr std::int64_t kSide = 128;

void append_big_endian(std::uint32_t value, std::string& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift);
  }
}

void append_chunk(std::string_view kind, std::string_view content,
                  std::string& png) {
  append_big_endian(static_cast<std::uint32_t>(content.size()), png);
  const std::string checked = std::string(kind) + std::string(content);
  png += checked;
  append_big_endian(checksum<kCrc32>(checked), png);
}

/// In zlib's format, without compression.
std::string stored(std::string_view bytes) {
  constexpr std::size_t kMost = 65535;  // in a block
  std::string text = "\x78\x01";
  std::uint32_t a = 1, b = 0;  // Adler's checksum
  for (const char c : bytes) {
    a = (a + static_cast<std::uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kMost);
    text += static_cast<char>(size == bytes.size() ? 1 : 0);
    for (const std::size_t word : {size, ~size}) {
      text += static_cast<char>(word);
      text += static_cast<char>(word >> 8);
    }
    text += bytes.substr(0, size);
    bytes.remove_prefix(size);
  }
  append_big_endian(b << 16 | a, text);
  return text;
}

std::string palette() {
  std::string colors;
  for (int i = 0; i < 256; ++i) {
    for (const std::uint8_t channel : cividis(i)) {
      colors += static_cast<char>(channel);
    }
  }
  return colors;
}

/// The palette's index of each cell.
std::string shades(const double* cells, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += cells[i];
  std::string shades;
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = cells[i] / sum;
    shades += static_cast<char>(
        part > 0 ? std::lround(255 * std::min(part, 1.0)) : 0);
  }
  return shades;
}

}  // namespace

MatrixImage matrix_image(const at::Tensor& matrix) {
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  const std::int64_t cell =
      std::max<std::int64_t>(1, kSide / std::max(rows, columns));
  const at::Tensor cells = matrix.to(at::kCPU, at::kDouble).contiguous();
  const auto* next = static_cast<const double*>(cells.data_ptr());
  std::string lines;
  for (std::int64_t i = 0; i < rows; ++i, next += columns) {
    std::string line(1, '\0');  // without a filter
    for (const char shade : shades(next, columns)) {
      line.append(static_cast<std::size_t>(cell), shade);
    }
    for (std::int64_t k = 0; k < cell; ++k) lines += line;
  }

  MatrixImage image{columns * cell, rows * cell, "\x89PNG\r\n\x1a\n"};
  std::string head;
  append_big_endian(static_cast<std::uint32_t>(image.width), head);
  append_big_endian(static_cast<std::uint32_t>(image.height), head);
  head += std::string("\x08\x03\0\0\0", 5);  // a palette, 8 bits per pixel
  append_chunk("IHDR", head, image.png);
  append_chunk("PLTE", palette(), image.png);
  append_chunk("IDAT", stored(lines), image.png);
  append_chunk("IEND", "", image.png);
  return image;
}

}  // namespace tally::internal
