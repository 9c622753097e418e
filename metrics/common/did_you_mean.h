#pragma once

#include <string>
#include <vector>

namespace tally::internal {

/// "; did you mean 'average'?" with the likely intended name, or empty if no
/// candidate is close: one that differs in at most a third of the letters, or
/// contains `name`.
std::string did_you_mean(const std::string& name,
                         const std::vector<std::string>& candidates);

/// The candidate that is another word for this option ("num_bins" for
/// "n_bins"); empty if there is none.
std::string synonym_of(const std::string& option,
                       const std::vector<std::string>& candidates);

/// With the letters of ASCII in lower case.
std::string lower_case(std::string text);

}  // namespace tally::internal
