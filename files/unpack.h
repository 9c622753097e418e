#pragma once

#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tally::files {

/// How a file is compressed, by its first bytes.
enum class Packing { kNone, kGzip, kZstd };

/// Of a file that is open for reading, or at a path; kNone for what cannot be
/// read.
Packing packing_of(int descriptor);
Packing packing_of(const std::string& path);

/// Passes on what a compressed file holds, in pieces. libz and libzstd are
/// loaded when a file needs them, as Debian has them but Tally does not require
/// them. Throws c10::ValueError that names `path`, for damaged files and where
/// the library is missing.
void unpack(int descriptor, Packing packing, const std::string& path,
            c10::function_ref<void(std::string_view)> write);

/// How many bytes zlib makes of one, at most.
inline constexpr std::size_t kMostUnpacked = 1100;

/// What `packed`, a stream of zlib, holds, by libz. Throws c10::ValueError that
/// names `path` unless these are `size` bytes.
std::string unpack_zlib(std::string_view packed, std::size_t size,
                        const std::string& path);

/// How the texts of a file are encoded.
enum class Encoding { kUtf8, kUtf16, kLatin1, kWindows1252 };

/// Passes on a file's texts in UTF-8, in pieces. UTF-16 without a byte order
/// mark has the higher byte first if its ASCII says so, else the lower one, as
/// Windows writes it; what no character stands for (half of a pair, an odd
/// byte) is a c10::ValueError that names `path` and the byte.
void to_utf8(int descriptor, Encoding encoding, const std::string& path,
             c10::function_ref<void(std::string_view)> write);

}  // namespace tally::files
