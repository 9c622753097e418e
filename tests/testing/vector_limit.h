#pragma once

#include <string>

namespace tally::testkit {

/// From here on, kernels run as on an older processor: none uses vectors that
/// are newer than those of the Highway target of this name, such as "AVX2" or
/// "SSE4"; "SSE2" is what all x86-64 processors have. std::invalid_argument,
/// with the names that there are, for one that this processor does not have.
///
/// Programs that are linked with this read the name from TALLY_HWY_TARGET when
/// they start, if it is set.
void limit_vectors(const std::string& name);

}  // namespace tally::testkit
