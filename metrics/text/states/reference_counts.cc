#include "tally/metrics/text/states/reference_counts.h"

#include <algorithm>

#include "tally/metrics/text/kernels/unicode.h"
#include "tally/version.h"

namespace tally {

ReferenceCounts ReferenceCounts::merge(const ReferenceCounts& a,
                                       const ReferenceCounts& b) {
  const bool both = a.min_references != 0 && b.min_references != 0;
  return {both ? std::min(a.min_references, b.min_references)
               : std::max(a.min_references, b.min_references),
          std::max(a.max_references, b.max_references)};
}

void ReferenceCounts::count(std::size_t references) {
  const auto size = static_cast<std::int64_t>(references);
  *this = merge(*this, {size, size});
}

namespace internal::text {

std::string sacrebleu_signature(const Results& state,
                                const std::string& options,
                                const std::string& more) {
  const auto least = state["min_references"].item<std::int64_t>();
  const auto most = state["max_references"].item<std::int64_t>();
  const std::string references =
      least == most && most > 0 ? std::to_string(most) : "var";
  return "nrefs:" + references + "|" + options + "|version:2.6.0" + more +
         "|tally:" TALLY_VERSION "|unicode:" + kUnicodeVersion;
}

}  // namespace internal::text
}  // namespace tally
