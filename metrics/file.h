#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tally::internal {

/// Writes all of the bytes or nothing: into a file beside `path` that takes its
/// place at the end, with its permissions, so that an older file survives
/// whatever goes wrong. Where `path` is a link, what it points to is written.
/// Removes what writers of the same file have left that were killed.
///
/// kInvalidArgument if something other than a regular file is there.
absl::Status write_file(const std::string& path, std::string_view bytes);

/// Reads a regular file; kInvalidArgument if it is none. `check` sees the first
/// kHead bytes, or all there are, and the size before the rest is read.
inline constexpr std::int64_t kHead = 64;
absl::Status read_file(
    const std::string& path, std::string& bytes,
    c10::function_ref<absl::Status(std::string_view head, std::int64_t size)>
        check);

}  // namespace tally::internal
