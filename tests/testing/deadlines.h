#pragma once

#include <chrono>

/// Bounds on time for machines that do other things as well: what an error must
/// not wait for takes much longer than what it may take.
namespace tally::testkit {

/// Far more than anything takes that waits for nothing.
constexpr std::chrono::seconds kAtOnce(10);
/// A timeout far beyond, for groups whose ranks must not wait for it.
constexpr std::chrono::seconds kLongTimeout(60);

}  // namespace tally::testkit
