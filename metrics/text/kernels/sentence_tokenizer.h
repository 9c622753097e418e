#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/text/options/bleu_tokenizer.h"

namespace tally::internal::text {

/// A sentence and its tokens, which lie in it.
struct TokenizedSentence {
  std::u32string text;
  std::vector<std::u32string_view> tokens;
};

/// The tokenizers of sacrebleu 2.6.0, step by step as there: the passes of a
/// regular expression consume what they match, which decides `a,,5`.
class SentenceTokenizer {
 public:
  SentenceTokenizer(BleuTokenizer kind, bool lowercase)
      : kind_(kind), lowercase_(lowercase) {}

  /// Replaces `out` by the tokens of the sentence, which is put into lower case
  /// first, if asked, and then loses the white space at its end.
  void tokenize(std::u32string_view sentence, TokenizedSentence& out);

 private:
  void unescape();
  void space_chinese();
  void split_western();
  void split_international();
  void replace_all(std::u32string_view what, std::u32string_view by);
  // Replaces text_ by what `write(text_, out)` writes; it returns the end.
  template <class Write>
  void pass(const Write& write);

  BleuTokenizer kind_;
  bool lowercase_;
  std::u32string text_, other_;
};

}  // namespace tally::internal::text
