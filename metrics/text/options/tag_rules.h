#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// How entities are read from tags.
enum class TagMode {
  kDefault,  ///< leniently, as the script conlleval does
  kStrict,   ///< only what the scheme allows
};

template <>
struct EnumNames<TagMode> {
  static constexpr const char* kNames[] = {"default", "strict"};
};

/// What the prefixes of tags mean: where an entity begins (B), goes on (I) and
/// ends (E, L), is a single token (S, U), or is not (O).
enum class TagScheme {
  kIOB1,   ///< B only where an entity follows another of its type
  kIOB2,   ///< B at the beginning of each entity
  kIOE1,   ///< E only where an entity is followed by another of its type
  kIOE2,   ///< E at the end of each entity
  kIOBES,  ///< B, E, and S for entities of one token
  kBILOU,  ///< the same with L for E and U for S
};

template <>
struct EnumNames<TagScheme> {
  static constexpr const char* kNames[] = {"IOB1", "IOB2",  "IOE1",
                                           "IOE2", "IOBES", "BILOU"};
};

namespace internal::text {

/// How tags are read.
struct TagRules {
  TagMode mode;
  TagScheme scheme;  // of TagMode::kStrict
  bool suffix;       // PER-B rather than B-PER
};

}  // namespace internal::text
}  // namespace tally
