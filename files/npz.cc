#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tally/files/npy.h"
#include "tally/files/temporary_file.h"
#include "tally/files/unpack.h"

namespace tally::files {
namespace {

constexpr std::int64_t kEndSize = 22;  // of the directory's end
constexpr std::int64_t kLongestComment = 1 << 16;
constexpr std::int64_t kLocatorSize = 20;  // of the end with 64 bits
constexpr std::int64_t kLongEndSize = 56;
constexpr std::int64_t kLongestDirectory = 1 << 24;
constexpr std::size_t kHeaderSize = 46;  // of an entry, with its name
constexpr std::int64_t kLocalSize = 30;
constexpr std::uint64_t kIsLong = 0xFFFFFFFF;  // is in 64 bits elsewhere
constexpr std::string_view kEnding = ".npy";

/// A number of 2, 4 or 8 bytes. REQUIRES: within the text.
std::uint64_t number_at(std::string_view text, std::size_t at,
                        std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    number |= static_cast<std::uint64_t>(byte) << (8 * i);
  }
  return number;
}

std::string little_endian(std::uint32_t number) {
  std::string bytes(4, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(number & 0xFF);
    number >>= 8;
  }
  return bytes;
}

std::string read_part(const InputFile& file, std::int64_t offset,
                      std::int64_t size) {
  TORCH_CHECK_VALUE(offset >= 0 && size >= 0 && offset <= file.size() - size,
                    file.path(), ": expected a whole .npz file, got one that ",
                    "is damaged");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.read(offset, bytes.data(), size);
  return bytes;
}

}  // namespace

std::int64_t NpzFile::read_directory_place(std::int64_t& size) const {
  const std::int64_t last = std::min(file_.size(), kEndSize + kLongestComment);
  const std::string end = read_part(file_, file_.size() - last, last);
  const std::size_t at = end.rfind("PK\x05\x06");
  TORCH_CHECK_VALUE(
      at != end.npos && end.size() - at >= static_cast<std::size_t>(kEndSize),
      file_.path(), ": expected a .npz file, which is a zip archive");
  size = static_cast<std::int64_t>(number_at(end, at + 12, 4));
  const std::uint64_t offset = number_at(end, at + 16, 4);
  if (offset != kIsLong) return static_cast<std::int64_t>(offset);
  const std::int64_t end_place =
      file_.size() - last + static_cast<std::int64_t>(at);
  const std::string locator =
      read_part(file_, end_place - kLocatorSize, kLocatorSize);
  const std::string long_end = read_part(
      file_, static_cast<std::int64_t>(number_at(locator, 8, 8)), kLongEndSize);
  size = static_cast<std::int64_t>(number_at(long_end, 40, 8));
  return static_cast<std::int64_t>(number_at(long_end, 48, 8));
}

NpzFile::NpzFile(const std::string& path) : file_(path) {
  std::int64_t size = 0;
  const std::int64_t place = read_directory_place(size);
  TORCH_CHECK_VALUE(size <= kLongestDirectory, path,
                    ": expected a directory of at most ", kLongestDirectory,
                    " bytes, got ", size);
  const std::string directory = read_part(file_, place, size);
  std::string_view rest = directory;
  while (rest.size() >= kHeaderSize) {
    const std::size_t name_size = number_at(rest, 28, 2);
    const std::size_t extra_size = number_at(rest, 30, 2);
    const std::size_t all =
        kHeaderSize + name_size + extra_size + number_at(rest, 32, 2);
    TORCH_CHECK_VALUE(rest.substr(0, 4) == "PK\x01\x02" && all <= rest.size(),
                      path,
                      ": expected a whole .npz file, got one that is "
                      "damaged");
    add_entry(rest, name_size, extra_size);
    rest.remove_prefix(all);
  }
  TORCH_CHECK_VALUE(!names_.empty(), path, ": expected arrays, got none");
}

void NpzFile::add_entry(std::string_view header, std::size_t name_size,
                        std::size_t extra_size) {
  std::string name(header.substr(kHeaderSize, name_size));
  if (name.size() < kEnding.size() ||
      name.compare(name.size() - kEnding.size(), kEnding.size(), kEnding) !=
          0) {
    return;
  }
  name.resize(name.size() - kEnding.size());
  const std::uint64_t method = number_at(header, 10, 2);
  TORCH_CHECK_VALUE(
      (method == 0 || method == 8) && (number_at(header, 8, 2) & 1) == 0,
      file_.path(), ": ", name,
      ": expected an array as numpy.savez or "
      "numpy.savez_compressed writes it, got one compressed otherwise");
  std::uint64_t sizes[] = {number_at(header, 24, 4), number_at(header, 20, 4),
                           number_at(header, 42, 4)};
  std::string_view extra = header.substr(kHeaderSize + name_size, extra_size);
  while (extra.size() >= 4) {
    const std::uint64_t kind = number_at(extra, 0, 2);
    const std::size_t size = number_at(extra, 2, 2);
    std::string_view values = extra.substr(4, size);
    for (std::uint64_t& number : sizes) {
      if (kind != 1 || number != kIsLong || values.size() < 8) continue;
      number = number_at(values, 0, 8);
      values.remove_prefix(8);
    }
    extra.remove_prefix(std::min(extra.size(), 4 + size));
  }
  Entry entry;
  entry.size = static_cast<std::int64_t>(sizes[0]);
  entry.packed = static_cast<std::int64_t>(sizes[1]);
  entry.offset = static_cast<std::int64_t>(sizes[2]);
  entry.checksum = static_cast<std::uint32_t>(number_at(header, 16, 4));
  entry.is_packed = method == 8;
  names_.push_back(std::move(name));
  entries_.push_back(entry);
}

NpyFile NpzFile::open(std::size_t place) const {
  const Entry& entry = entries_.at(place);
  const std::string local = read_part(file_, entry.offset, kLocalSize);
  const std::int64_t begin =
      entry.offset + kLocalSize +
      static_cast<std::int64_t>(number_at(local, 26, 2)) +
      static_cast<std::int64_t>(number_at(local, 28, 2));
  read_part(file_, begin, 0);
  read_part(file_, begin + entry.packed, 0);
  const std::string name = file_.path() + ": " + names_[place];
  return NpyFile(entry.is_packed ? unpacked(entry, begin, name)
                                 : InputFile(name, file_.descriptor(), begin,
                                             entry.packed));
}

/// The compressed bytes are those of a gzip file without its head and its end,
/// which are added, so that its reader also checks the sum.
InputFile NpzFile::unpacked(const Entry& entry, std::int64_t begin,
                            const std::string& name) const {
  constexpr std::int64_t kPiece = 1 << 18;
  TemporaryFile packed;
  packed.write({"\x1f\x8b\x08\0\0\0\0\0\0\xff", 10});
  for (std::int64_t done = 0; done < entry.packed; done += kPiece) {
    packed.write(
        read_part(file_, begin + done, std::min(kPiece, entry.packed - done)));
  }
  packed.write(little_endian(entry.checksum));
  packed.write(little_endian(static_cast<std::uint32_t>(entry.size)));
  TemporaryFile array;
  std::int64_t size = 0;
  unpack(packed.descriptor(), Packing::kGzip, name,
         [&](std::string_view piece) {
           array.write(piece);
           size += static_cast<std::int64_t>(piece.size());
         });
  return {name, array.descriptor(), 0, size};
}

}  // namespace tally::files
