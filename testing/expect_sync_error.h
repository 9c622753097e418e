#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <initializer_list>
#include <optional>
#include <string>

#include "tally/sync/errors.h"

namespace tally::testkit {

/// Returns the SyncError that `function()` throws; adds a failure and returns
/// none if it throws something else, or nothing.
template <class Function>
std::optional<sync::SyncError> sync_error_of(const Function& function) {
  try {
    function();
  } catch (const sync::SyncError& error) {
    return error;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected a SyncError, got: " << sync::describe(error);
    return std::nullopt;
  }
  ADD_FAILURE() << "expected a SyncError, got none";
  return std::nullopt;
}

namespace internal {

template <class Function>
::testing::AssertionResult throws_sync_error(sync::SyncErrorCode code,
                                             const char* statement,
                                             const Function& function) {
  std::string got = "nothing";
  try {
    function();
  } catch (const sync::SyncError& error) {
    if (error.code() == code) return ::testing::AssertionSuccess();
    got = sync::describe(error);
  } catch (const std::exception& error) {
    got = sync::describe(error);
  }
  return ::testing::AssertionFailure()
         << "expected " << statement << " to throw a SyncError of "
         << sync::to_string(code) << ", got " << got;
}

}  // namespace internal
}  // namespace tally::testkit

/// Expects the error that the other ranks get when one fails.
///
///     EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kPeerLost);
#define EXPECT_SYNC_ERROR(statement, code)                   \
  EXPECT_TRUE(::tally::testkit::internal::throws_sync_error( \
      code, #statement, [&] { static_cast<void>(statement); }))
#define ASSERT_SYNC_ERROR(statement, code)                   \
  ASSERT_TRUE(::tally::testkit::internal::throws_sync_error( \
      code, #statement, [&] { static_cast<void>(statement); }))
