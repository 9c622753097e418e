#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "tally/testing/expect_sync_error.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::testkit {

/// On entering which collective a rank dies, and the phase that errors name.
struct RankDeath {
  const char* phase;
  std::int64_t collective;
};

/// The error of a call that loses a rank, which must come at once.
template <class Function>
std::optional<sync::SyncError> loss_in(const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  const auto error = sync_error_of(function);
  EXPECT_LE(std::chrono::steady_clock::now() - start, kAtOnce);
  if (error) {
    EXPECT_EQ(error->code(), sync::SyncErrorCode::kPeerLost);
  }
  return error;
}

}  // namespace tally::testkit
