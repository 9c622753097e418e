#pragma once

#include <exception>
#include <string>
#include <vector>

namespace tally::testkit::internal {

/// How near a failure is to the cause of them all.
enum class Weight {
  kCause,
  kLate,  ///< the rank did not end, or others did not arrive in time
  kLost,  ///< the rank lost a peer
};

/// What a rank had to say of a test.
struct Report {
  enum class Kind { kFailure, kFatal, kSkip };

  int rank;
  Kind kind;
  Weight weight;
  std::string file;  ///< empty: the test's own
  int line;
  std::string text;
};

/// Where a test stands.
struct Place {
  const char* file;
  int line;
};

/// An exception that left the body, with its type and text.
Report report_of(const std::exception_ptr& error, int rank);

/// Tells GoogleTest: causes before what followed from them, and what several
/// ranks say alike only once. Ranks that lost another because that one skipped
/// the test have skipped it, too. `ended` are the ranks that came to the end of
/// the body. Whether there was a failure.
bool tell(std::vector<Report> reports, int ranks, const std::vector<int>& ended,
          const Place& test);

}  // namespace tally::testkit::internal
