#pragma once

#include <string>
#include <string_view>

namespace tally::internal::text {

/// What tercom does to a sentence before it is split into words.
struct TercomRules {
  bool normalize;
  bool no_punctuation;
  bool lowercase;
  bool asian_support;
};

/// The sentence with its tokens between white space, as sacrebleu 2.6.0 has it,
/// step by step: its rules for the two kinds of kana have no effect, as they
/// look for the start of the text within it.
std::u32string tercom_normalized(std::u32string_view sentence,
                                 const TercomRules& rules);

}  // namespace tally::internal::text
