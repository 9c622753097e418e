#pragma once

#include <string>

namespace tally::internal::text {

/// Replaces a word by its stem: Porter's algorithm with the changes of NLTK's
/// PorterStemmer in its default mode, NLTK_EXTENSIONS. REQUIRES: lower-case
/// ASCII letters and digits.
void porter_stem(std::string& word);

}  // namespace tally::internal::text
