#pragma once

namespace tally::testkit::internal {

/// Environment variables by which the test's runner tells a process of the same
/// program its role.
inline constexpr const char* kRankVariable = "TALLY_TESTKIT_RANK";
inline constexpr const char* kSizeVariable = "TALLY_TESTKIT_SIZE";
inline constexpr const char* kDirectoryVariable = "TALLY_TESTKIT_DIRECTORY";
inline constexpr const char* kTestVariable = "TALLY_TESTKIT_TEST";
inline constexpr const char* kRunnerVariable = "TALLY_TESTKIT_RUNNER";
/// The folder for the test's own files, in that directory.
inline constexpr const char* kFilesFolder = "/files";
/// Set for the rank that waits for a debugger.
inline constexpr const char* kHoldVariable = "TALLY_TESTKIT_HOLD";
/// Set for all ranks if one of them waits for a debugger.
inline constexpr const char* kPatientVariable = "TALLY_TESTKIT_PATIENT";

}  // namespace tally::testkit::internal
