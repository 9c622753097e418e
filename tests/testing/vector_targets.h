#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>

namespace tally::testkit {

/// Calls check() for each kind of vectors that this processor has, with the
/// kernels that are compiled for it.
template <class Check>
void for_each_vector_target(const Check& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    check();
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace tally::testkit
