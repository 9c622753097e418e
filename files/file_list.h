#pragma once

#include <string>
#include <vector>

namespace tally::files {

/// The files that a user's words name, which are gathered as one: a file
/// itself, those that match a pattern with *, ? or [ ], and those in a folder
/// whose names do not begin with . or _, in the order of names. Throws
/// c10::ValueError for a pattern or folder without files, and for a file that
/// appears twice.
std::vector<std::string> list_files(const std::vector<std::string>& words);

}  // namespace tally::files
