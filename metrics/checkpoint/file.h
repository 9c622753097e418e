#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tally::internal {

/// Writes all of the bytes or nothing: into a temporary file beside `path`,
/// with the same permissions, that replaces it at the end, so that an existing
/// file survives any failure. If `path` is a link, its target is written.
/// Removes temporary files left by killed writers of the same file.
///
/// Returns kInvalidArgument if `path` exists and is not a regular file.
absl::Status write_file(const std::string& path, std::string_view bytes);

/// Writes all of the bytes, by a single write(2) unless it is interrupted;
/// false with errno set if that fails.
bool write_all(int descriptor, std::string_view bytes);

/// Reads a regular file; kInvalidArgument for any other. `check` gets the first
/// kHead bytes, or all if there are fewer, and the size before the rest is
/// read.
inline constexpr std::int64_t kHead = 64;
absl::Status read_file(
    const std::string& path, std::string& bytes,
    c10::function_ref<absl::Status(std::string_view head, std::int64_t size)>
        check);

}  // namespace tally::internal
