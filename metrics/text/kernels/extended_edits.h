#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tally::internal::text {

/// Costs of an extended edit distance.
struct ExtendedEditCosts {
  double alpha;      ///< of a jump
  double rho;        ///< of a character that is visited again
  double deletion;   ///< of a character of the hypothesis
  double insertion;  ///< of a character of the reference
  bool skip_origin;  ///< whether the place before the hypothesis does not count
};

/// Extended edit distance of texts of code points, in [0, 1]. Keeps its memory,
/// so that one object serves all sentences in turn.
class ExtendedEdits {
 public:
  double operator()(std::u32string_view hypothesis,
                    std::u32string_view reference,
                    const ExtendedEditCosts& costs);

 private:
  std::vector<double> row_, next_;
  std::vector<int> visits_;
};

/// What EED's own programs do to sentences beforehand: punctuation gets a space
/// before it, except in numbers and a few abbreviations, and the text one at
/// each end. An abbreviation like Mr swallows the first character after it, as
/// there: "Mr Smith" becomes "Mr.mith".
std::u32string eed_english(std::u32string_view sentence);

}  // namespace tally::internal::text
