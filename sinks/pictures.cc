#include "tally/sinks/pictures.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tally/metrics/common/cividis.h"
#include "tally/sinks/checksums.h"

namespace tally::internal {
namespace {

// Of the image, in pixels, at least, where cells are not smaller than that.
constexpr std::int64_t kSide = 128;
constexpr std::int64_t kMostSide = 1 << 24;
// PNG's color types.
constexpr char kGray = 0;
constexpr char kRgb = 2;
constexpr char kPalette = 3;
constexpr char kRgba = 6;

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

/// A PNG file with 8 bits per pixel or channel. `color`: PNG's color type.
/// `lines`: each begins with its filter, 0.
std::string png_of(std::int64_t width, std::int64_t height, char color,
                   std::string_view lines, std::string_view palette = "") {
  std::string png = "\x89PNG\r\n\x1a\n";
  std::string head;
  append_big_endian(static_cast<std::uint32_t>(width), head);
  append_big_endian(static_cast<std::uint32_t>(height), head);
  head += {8, color, 0, 0, 0};
  append_chunk("IHDR", head, png);
  if (!palette.empty()) append_chunk("PLTE", palette, png);
  append_chunk("IDAT", stored(lines), png);
  append_chunk("IEND", "", png);
  return png;
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

Picture matrix_picture(const at::Tensor& matrix) {
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  const std::int64_t cell =
      std::max<std::int64_t>(1, kSide / std::max(rows, columns));
  const at::Tensor cells = matrix.to(at::kCPU, at::kDouble).contiguous();
  const auto* next = static_cast<const double*>(cells.data_ptr());
  std::string lines;
  for (std::int64_t i = 0; i < rows; ++i, next += columns) {
    std::string line(1, '\0');
    for (const char shade : shades(next, columns)) {
      line.append(static_cast<std::size_t>(cell), shade);
    }
    for (std::int64_t k = 0; k < cell; ++k) lines += line;
  }
  const std::int64_t width = columns * cell, height = rows * cell;
  return {width, height, 3, png_of(width, height, kPalette, lines, palette())};
}

void check_picture(const std::string& name, const at::Tensor& pixels) {
  TORCH_CHECK_VALUE(pixels.defined(), "image '", name,
                    "': expected a tensor, got none");
  TORCH_CHECK_TYPE(
      pixels.scalar_type() == at::kByte || pixels.is_floating_point(),
      "image '", name, "': expected uint8 or floating-point pixels, got ",
      pixels.scalar_type());
  const bool has_channels =
      pixels.dim() == 3 &&
      (pixels.size(0) == 1 || pixels.size(0) == 3 || pixels.size(0) == 4);
  TORCH_CHECK_VALUE(has_channels && pixels.numel() > 0 &&
                        std::max(pixels.size(1), pixels.size(2)) <= kMostSide,
                    "image '", name,
                    "': expected [1, H, W], [3, H, W] or [4, H, W], got ",
                    pixels.sizes());
  if (pixels.scalar_type() == at::kByte) return;
  const at::Tensor lies_outside = pixels.ge(0).logical_and(pixels.le(1)).eq(0);
  if (!lies_outside.any().item<bool>()) return;
  const at::Tensor place = lies_outside.nonzero()[0].to(at::kCPU);
  const auto at_place = [&](std::int64_t i) {
    return place[i].item<std::int64_t>();
  };
  TORCH_CHECK_VALUE(
      false, "image '", name,
      "': expected floating-point pixels in [0, 1], got ",
      pixels[at_place(0)][at_place(1)][at_place(2)].item<double>(), " at [",
      at_place(0), ", ", at_place(1), ", ", at_place(2),
      "]; pixels of 0 to 255 are uint8");
}

Picture picture_of(const at::Tensor& pixels) {
  const at::Tensor levels =
      pixels.scalar_type() == at::kByte
          ? pixels
          : pixels.to(at::kDouble).mul(255).round().to(at::kByte);
  const at::Tensor bytes = levels.permute({1, 2, 0}).to(at::kCPU).contiguous();
  const std::int64_t channels = bytes.size(2);
  const std::int64_t height = bytes.size(0), width = bytes.size(1);
  const auto line = static_cast<std::size_t>(width * channels);
  const auto* next = static_cast<const char*>(bytes.data_ptr());
  std::string lines;
  for (std::int64_t y = 0; y < height; ++y, next += line) {
    lines += '\0';
    lines.append(next, line);
  }
  const char color = channels == 1 ? kGray : channels == 3 ? kRgb : kRgba;
  return {width, height, channels, png_of(width, height, color, lines)};
}

}  // namespace tally::internal
