#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/text/kernels/common_subsequence.h"
#include "tally/metrics/text/kernels/ngram_counts.h"
#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/options/rouge_tokenizer.h"

namespace tally::internal::text {

/// A kind of ROUGE: of n-grams, or of longest common subsequences.
struct RougeKey {
  enum class Kind { kNgrams, kSequence, kSummary } kind;
  std::int64_t n = 0;  // of kNgrams

  /// "rouge1" to "rouge9", "rougeL", "rougeLsum"; false for other names.
  static bool parse(const std::string& name, RougeKey& key);
};

/// Precision, recall and their harmonic mean.
struct RougeValue {
  double precision = 0, recall = 0, fmeasure = 0;
};

/// Scores texts as rouge-score 0.1.2 does.
class RougeScorer {
 public:
  struct Rules {
    RougeTokenizer tokenizer = RougeTokenizer::kRougeScore;
    TokenFunction token_function = nullptr;  // instead, unless null
    bool use_stemmer = false;
  };

  RougeScorer(std::vector<RougeKey> keys, Rules rules);

  /// Sets the prediction, in valid UTF-8.
  void set_prediction(std::string_view text);
  /// Its value for each key in comparison to a reference in valid UTF-8.
  const std::vector<RougeValue>& score(std::string_view reference);
  /// Of the last ones.
  std::size_t prediction_tokens() const { return prediction_.ends.size(); }
  std::size_t reference_tokens() const { return reference_.ends.size(); }

 private:
  struct Text {
    std::string letters;             // of all tokens
    std::vector<std::size_t> ends;   // of tokens in letters
    std::vector<std::size_t> lines;  // their ends in tokens
    std::vector<std::uint32_t> ids;  // of tokens

    NgramCounts::Symbols line(std::size_t i) const {
      const std::size_t begin = i == 0 ? 0 : lines[i - 1];
      return NgramCounts::Symbols(ids.data() + begin, lines[i] - begin);
    }
  };

  void read(std::string_view text, Text& out);
  void read_line(std::string_view line, Text& out);
  void read_ascii(std::string_view line, Text& out);
  void read_unicode(std::string_view line, Text& out);
  void add_token(Text& out);
  RougeValue sequence();
  RougeValue summary();

  std::vector<RougeKey> keys_;
  Rules rules_;
  std::int64_t orders_ = 0;  // of the longest n-grams
  Text prediction_, reference_;
  TokenIds tokens_;
  NgramCounts ngrams_;
  CommonSubsequence common_;
  std::string word_;
  std::u32string decoded_;
  std::vector<std::int64_t> matches_;
  std::vector<char> hit_;
  std::vector<std::int64_t> left_in_prediction_, left_in_reference_;
  std::vector<RougeValue> values_;
};

}  // namespace tally::internal::text
