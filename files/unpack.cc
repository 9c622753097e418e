#include "tally/files/unpack.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tally::files {
namespace {

constexpr std::size_t kPiece = 1 << 18;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

/// Reads on; an empty piece is the end.
std::string_view read_piece(int descriptor, std::vector<char>& buffer,
                            const std::string& path) {
  ssize_t count = 0;
  do {
    count = read(descriptor, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  TORCH_CHECK_VALUE(count >= 0, path,
                    ": cannot be read: ", std::strerror(errno));
  return {buffer.data(), static_cast<std::size_t>(count)};
}

/// A library of the system, which stays loaded.
class SystemLibrary {
 public:
  SystemLibrary(const char* file, const std::string& path, const char* advice)
      : library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)),
        path_(path),
        advice_(advice) {
    check(library_ != nullptr, file);
  }

  template <class Function>
  Function* find(const char* name) const {
    void* const found = dlsym(library_, name);
    check(found != nullptr, name);
    return reinterpret_cast<Function*>(found);
  }

 private:
  void check(bool is_there, const char* what) const {
    TORCH_CHECK_VALUE(is_there, path_,
                      ": is compressed, and this system has no ", what,
                      " to read it with; decompress it first, ", advice_);
  }

  void* library_;
  const std::string& path_;
  const char* advice_;
};

void unpack_gzip(int descriptor, const std::string& path,
                 c10::function_ref<void(std::string_view)> write) {
  const SystemLibrary zlib("libz.so.1", path, "with gunzip");
  auto* const open = zlib.find<void*(int, const char*)>("gzdopen");
  auto* const read = zlib.find<int(void*, void*, unsigned)>("gzread");
  auto* const close = zlib.find<int(void*)>("gzclose");
  void* const file = open(dup(descriptor), "rb");
  TORCH_CHECK_VALUE(file != nullptr, path, ": cannot be read");
  std::vector<char> buffer(kPiece);
  int count = 0;
  try {
    while ((count = read(file, buffer.data(), kPiece)) > 0) {
      write({buffer.data(), static_cast<std::size_t>(count)});
    }
  } catch (...) {
    close(file);
    throw;
  }
  // A file that was cut off is told by its closing only.
  const int closed = close(file);
  TORCH_CHECK_VALUE(count == 0 && closed == 0, path,
                    ": expected a whole gzip file, got one that is damaged or "
                    "cut off");
}

// As zstd.h declares them.
struct ZstdOut {
  void* data;
  std::size_t size;
  std::size_t position;
};
struct ZstdIn {
  const void* data;
  std::size_t size;
  std::size_t position;
};

void unpack_zstd(int descriptor, const std::string& path,
                 c10::function_ref<void(std::string_view)> write) {
  const SystemLibrary zstd("libzstd.so.1", path, "with zstd -d");
  auto* const create = zstd.find<void*()>("ZSTD_createDStream");
  auto* const free = zstd.find<std::size_t(void*)>("ZSTD_freeDStream");
  auto* const decompress =
      zstd.find<std::size_t(void*, ZstdOut*, ZstdIn*)>("ZSTD_decompressStream");
  auto* const is_error = zstd.find<unsigned(std::size_t)>("ZSTD_isError");
  const std::unique_ptr<void, std::size_t (*)(void*)> stream(create(), free);
  std::vector<char> buffer(kPiece);
  std::vector<char> piece(kPiece);
  std::size_t left = 0;  // of a frame; 0 at its end
  while (true) {
    const std::string_view bytes = read_piece(descriptor, buffer, path);
    if (bytes.empty()) break;
    ZstdIn in{bytes.data(), bytes.size(), 0};
    ZstdOut out{};
    do {
      out = {piece.data(), piece.size(), 0};
      left = decompress(stream.get(), &out, &in);
      TORCH_CHECK_VALUE(is_error(left) == 0, path,
                        ": expected a whole zstd file, got one that is "
                        "damaged");
      write({piece.data(), out.position});
    } while (in.position < in.size || out.position == out.size);
  }
  TORCH_CHECK_VALUE(left == 0, path,
                    ": expected a whole zstd file, got one that is cut off");
}

}  // namespace

Packing packing_of(int descriptor) {
  char start[4] = {};
  const ssize_t count = pread(descriptor, start, sizeof(start), 0);
  const std::string_view bytes(start, count < 0 ? 0 : count);
  if (bytes.substr(0, kGzipMagic.size()) == kGzipMagic) return Packing::kGzip;
  return bytes == kZstdMagic ? Packing::kZstd : Packing::kNone;
}

Packing packing_of(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Packing::kNone;
  const Packing packing = packing_of(descriptor);
  close(descriptor);
  return packing;
}

void unpack(int descriptor, Packing packing, const std::string& path,
            c10::function_ref<void(std::string_view)> write) {
  lseek(descriptor, 0, SEEK_SET);
  if (packing == Packing::kGzip) {
    unpack_gzip(descriptor, path, write);
  } else if (packing == Packing::kZstd) {
    unpack_zstd(descriptor, path, write);
  }
}

std::string unpack_zlib(std::string_view packed, std::size_t size,
                        const std::string& path) {
  const SystemLibrary zlib("libz.so.1", path, "or save it otherwise");
  auto* const uncompress =
      zlib.find<int(char*, unsigned long*, const char*, unsigned long)>(
          "uncompress");
  std::string bytes;
  unsigned long count = 0;
  bool is_whole = size / kMostUnpacked <= packed.size();
  if (is_whole) {
    bytes.resize(size);
    count = size;
    is_whole =
        uncompress(bytes.data(), &count, packed.data(), packed.size()) == 0 &&
        count == size;
  }
  TORCH_CHECK_VALUE(is_whole, path, ": expected ", size,
                    " bytes that zlib packed, got data that is damaged or cut "
                    "off");
  return bytes;
}

namespace {

void append_utf8(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr int kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kFirst[more] | c >> (6 * more));
  for (int i = more - 1; i >= 0; --i) {
    out += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
  }
}

// 0x80 to 0x9F of Windows-1252, by the WHATWG's index.
constexpr char16_t kWindows[32] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
    0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
    0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

/// Whether UTF-16 has the higher byte first, if no mark says so: tables and
/// lines have ASCII in them, whose higher byte is 0.
bool is_big_endian(std::string_view bytes) {
  std::int64_t big = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const auto is_ascii = [&](std::size_t zero, std::size_t other) {
      return bytes[zero] == '\0' && bytes[other] > '\0';
    };
    big += is_ascii(i, i + 1) ? 1 : 0;
    big -= is_ascii(i + 1, i) ? 1 : 0;
  }
  return big > 0;
}

/// The state of reading UTF-16 in pieces.
class Utf16 {
 public:
  explicit Utf16(const std::string& path) : path_(path) {}

  /// At the start, unless a mark follows.
  void guess(std::string_view bytes) { is_big_ = is_big_endian(bytes); }

  void add(unsigned char byte, std::string& out) {
    ++bytes_;
    if (half_ < 0) {
      half_ = byte;
      return;
    }
    const auto unit =
        static_cast<char32_t>(is_big_ ? half_ << 8 | byte : byte << 8 | half_);
    half_ = -1;
    if (bytes_ == 2 && (unit == 0xFEFF || unit == 0xFFFE)) {
      is_big_ = is_big_ == (unit == 0xFEFF);
      return;
    }
    add_unit(unit, out);
  }

  void end() const { check(half_ < 0 && high_ == 0); }

 private:
  void add_unit(char32_t unit, std::string& out) {
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    check(is_low == (high_ != 0));
    if (is_low) {
      append_utf8(0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00), out);
      high_ = 0;
    } else if (unit >= 0xD800 && unit < 0xDC00) {
      high_ = unit;
    } else {
      append_utf8(unit, out);
    }
  }

  void check(bool holds) const {
    TORCH_CHECK_VALUE(holds, path_,
                      ": expected UTF-16, got something else at "
                      "byte ",
                      bytes_ < 2 ? 0 : bytes_ - 2);
  }

  const std::string& path_;
  bool is_big_ = false;
  int half_ = -1;      // a first byte
  char32_t high_ = 0;  // the first of a pair
  std::int64_t bytes_ = 0;
};

}  // namespace

void to_utf8(int descriptor, Encoding encoding, const std::string& path,
             c10::function_ref<void(std::string_view)> write) {
  lseek(descriptor, 0, SEEK_SET);
  std::vector<char> buffer(kPiece);
  std::string out;
  Utf16 utf16(path);
  for (bool is_first = true;; is_first = false) {
    const std::string_view bytes = read_piece(descriptor, buffer, path);
    if (bytes.empty()) break;
    if (is_first) utf16.guess(bytes);
    out.clear();
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (encoding == Encoding::kUtf16) {
        utf16.add(byte, out);
      } else if (encoding == Encoding::kWindows1252 && byte >= 0x80 &&
                 byte < 0xA0) {
        append_utf8(kWindows[byte - 0x80], out);
      } else {
        append_utf8(byte, out);
      }
    }
    write(encoding == Encoding::kUtf8 ? bytes : std::string_view(out));
  }
  utf16.end();
}

}  // namespace tally::files
