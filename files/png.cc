#include "tally/files/png.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "tally/files/unpack.h"

namespace tally::files {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSignature =
    "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR"sv;  // and the header
constexpr std::int64_t kFirstChunk = 8;
constexpr std::int64_t kHeaderEnd = 33;
constexpr std::int64_t kAround = 12;  // length, kind and sum of a chunk
constexpr std::int64_t kMostSide = 1 << 20;

std::int64_t big_endian_at(std::string_view bytes, std::size_t at) {
  std::int64_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

/// "16-bit gray, interlaced".
std::string kind_of(int depth, int color, bool is_interlaced) {
  const char* const name = color == 0   ? "gray"
                           : color == 2 ? "RGB"
                           : color == 3 ? "indexed"
                           : color == 4 ? "gray with alpha"
                           : color == 6 ? "RGBA"
                                        : "unknown";
  return std::to_string(depth) + "-bit " + name +
         (is_interlaced ? ", interlaced" : "");
}

/// The byte that is closest to what its neighbors let expect.
int paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner);
  const int to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

/// Makes the bytes of a row of what stands for them. False for an unknown
/// filter.
bool unfilter(int filter, std::size_t pixel, const std::uint8_t* above,
              std::uint8_t* row, std::size_t size) {
  if (filter < 0 || filter > 4) return false;
  for (std::size_t i = 0; filter != 0 && i < size; ++i) {
    const int left = i < pixel ? 0 : row[i - pixel];
    const int up = above == nullptr ? 0 : above[i];
    const int corner = i < pixel || above == nullptr ? 0 : above[i - pixel];
    const int expected = filter == 1   ? left
                         : filter == 2 ? up
                         : filter == 3 ? (left + up) / 2
                                       : paeth(left, up, corner);
    row[i] = static_cast<std::uint8_t>(row[i] + expected);
  }
  return true;
}

}  // namespace

PngFile::PngFile(const std::string& path) : file_(path) {
  std::string start(
      static_cast<std::size_t>(std::min(kHeaderEnd, file_.size())), '\0');
  file_.read(0, start.data(), static_cast<std::int64_t>(start.size()));
  TORCH_CHECK_VALUE(start.size() == static_cast<std::size_t>(kHeaderEnd) &&
                        start.compare(0, kSignature.size(), kSignature) == 0,
                    path, ": expected a PNG file");
  width_ = big_endian_at(start, kSignature.size());
  height_ = big_endian_at(start, kSignature.size() + 4);
  const int depth = static_cast<unsigned char>(start[24]);
  const int color = static_cast<unsigned char>(start[25]);
  const bool is_interlaced = start[28] != 0;
  TORCH_CHECK_VALUE(depth == 8 && (color == 2 || color == 6) && !is_interlaced,
                    path,
                    ": expected a PNG file of 8-bit RGB or RGBA, not "
                    "interlaced, got ",
                    kind_of(depth, color, is_interlaced));
  TORCH_CHECK_VALUE(
      std::min(width_, height_) > 0 && std::max(width_, height_) <= kMostSide,
      path, ": expected 1 to ", kMostSide, " pixels in width and height, got ",
      width_, " x ", height_);
  channels_ = color == 2 ? 3 : 4;
  // Nobody needs memory for pixels that the file cannot have.
  const std::int64_t bytes = height_ * (1 + width_ * channels_);
  const auto most = static_cast<std::int64_t>(kMostUnpacked);
  if (bytes / most > file_.size()) refuse_damaged();
}

void PngFile::refuse_damaged() const {
  TORCH_CHECK_VALUE(false, path(),
                    ": expected a whole PNG file, got one that "
                    "is damaged or cut off");
}

std::string PngFile::packed() const {
  std::string packed;
  for (std::int64_t place = kFirstChunk;;) {
    char head[8] = {};
    if (place > file_.size() - kAround) refuse_damaged();
    file_.read(place, head, sizeof(head));
    const std::int64_t size = big_endian_at({head, sizeof(head)}, 0);
    const std::string_view kind(head + 4, 4);
    if (size > file_.size() - kAround - place) refuse_damaged();
    if (kind == "IEND") return packed;
    if (kind == "IDAT") {
      const std::size_t before = packed.size();
      packed.resize(before + static_cast<std::size_t>(size));
      file_.read(place + 8, packed.data() + before, size);
    }
    place += kAround + size;
  }
}

std::vector<std::uint8_t> PngFile::read() const {
  const auto height = static_cast<std::size_t>(height_);
  const auto width = static_cast<std::size_t>(width_);
  const auto pixel = static_cast<std::size_t>(channels_);
  const std::size_t size = width * pixel;
  std::string bytes = unpack_zlib(packed(), height * (1 + size), path());
  std::vector<std::uint8_t> pixels;
  pixels.reserve(height * width * 3);
  const std::uint8_t* above = nullptr;
  for (std::size_t y = 0; y < height; ++y) {
    auto* const line =
        reinterpret_cast<std::uint8_t*>(bytes.data()) + y * (1 + size);
    if (!unfilter(line[0], pixel, above, line + 1, size)) refuse_damaged();
    above = line + 1;
    for (std::size_t x = 0; x < width; ++x) {
      const std::uint8_t* const from = above + x * pixel;
      pixels.insert(pixels.end(), from, from + 3);
    }
  }
  return pixels;
}

}  // namespace tally::files
