#pragma once

#include <string>
#include <string_view>

#include "tally/files/input_file.h"

namespace tally::files {

/// Throws c10::ValueError if a file begins as none of texts: Parquet, Excel,
/// archives, pickles, UTF-16 and others. The message says what it is and what
/// to do.
void refuse_other_kinds(const InputFile& file);

/// What a file is that is no array, and how it is passed, behind "got ".
std::string other_than_array(const InputFile& file);

/// Text of a file, for messages: at most 40 bytes, with blanks for control
/// characters and \xFF for what is not UTF-8.
std::string shown_text(std::string_view text);

}  // namespace tally::files
