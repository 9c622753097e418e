#pragma once

#include <cstddef>
#include <string_view>

#include "tally/state/note.h"

/// What metrics note about texts that their tokenizer was not made for.
namespace tally::internal::text {

inline constexpr NoteKind kNoTokens{
    "no_tokens", "a text with letters has no tokens",
    "the default tokenizer keeps only a-z and 0-9; set tokenizer to unicode, "
    "characters or whitespace"};

inline constexpr NoteKind kUnsplit{
    "unsplit", "a text in a script without spaces is a single token",
    "use characters, as CharErrorRate does, or a tokenizer that splits it, "
    "such "
    "as zh or char of SacreBLEUScore or characters of ROUGEScore"};

/// Whether a text in valid UTF-8 has a letter or a number, of any script.
bool has_letters(std::string_view text);

/// Whether a text in valid UTF-8 that became so many tokens has been left
/// whole: a single one, with several letters of a script in which spaces do not
/// separate words (Chinese, Japanese, Thai, Lao, Khmer, Burmese).
bool is_unsplit(std::string_view text, std::size_t tokens);

}  // namespace tally::internal::text
