#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// How SacreBLEUScore splits sentences into tokens.
enum class BleuTokenizer {
  k13a,   ///< punctuation and symbols of ASCII are tokens (mteval-v13a)
  kIntl,  ///< punctuation and symbols of Unicode are tokens (mteval-v14)
  kZh,    ///< Chinese characters are tokens; the rest as k13a
  kChar,  ///< code points are tokens
  kNone,  ///< split at white space only
};

template <>
struct EnumNames<BleuTokenizer> {
  static constexpr const char* kNames[] = {"13a", "intl", "zh", "char", "none"};
};

}  // namespace tally
