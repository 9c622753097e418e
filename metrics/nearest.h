#pragma once

#include <string>
#include <vector>

namespace tally::internal {

/// "; did you mean 'average'?" for what was probably meant by `name`, or
/// nothing where no candidate is near: differing in a third of the letters at
/// most, or having `name` as a part.
std::string did_you_mean(const std::string& name,
                         const std::vector<std::string>& candidates);

}  // namespace tally::internal
