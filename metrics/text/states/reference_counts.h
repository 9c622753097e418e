#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tally/metrics/options.h"
#include "tally/metrics/results.h"
#include "tally/state/fields.h"

namespace tally {

/// How many references the rows of a metric have; 0 if there was no row.
struct ReferenceCounts {
  std::int64_t min_references = 0;
  std::int64_t max_references = 0;

  void fields(Fields& f) {
    f("min_references", min_references)("max_references", max_references);
  }
  /// Another row.
  void count(std::size_t references);
  static ReferenceCounts merge(const ReferenceCounts& a,
                               const ReferenceCounts& b);
};

namespace internal::text {

/// A signature of sacrebleu's form, with the version that values are those of
/// and Tally's: "nrefs:1|OPTIONS|version:2.6.0MORE|tally:0.1.0|unicode:15.0".
/// `state` has the fields of ReferenceCounts.
std::string sacrebleu_signature(const Results& state,
                                const std::string& options,
                                const std::string& more);

/// The name of an enumerator in options.
template <class Enum>
const char* name_of(Enum value) {
  return EnumNames<Enum>::kNames[static_cast<std::size_t>(value)];
}

}  // namespace internal::text
}  // namespace tally
