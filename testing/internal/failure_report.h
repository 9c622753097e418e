#pragma once

#include <exception>
#include <string>
#include <vector>

namespace tally::testkit::internal {

/// How close a failure is to the common cause.
enum class Weight {
  kCause,
  kLate,  ///< the rank did not end, or others did not arrive in time
  kLost,  ///< the rank lost a peer
};

/// A rank's report of a failure.
struct Report {
  enum class Kind { kFailure, kFatal, kSkip };

  int rank;
  Kind kind;
  Weight weight;
  std::string file;  ///< empty: the test's own
  int line;
  std::string text;
};

/// The source location of a test.
struct Place {
  const char* file;
  int line;
};

/// A report of an exception that left the body, with its type and text.
Report report_of(const std::exception_ptr& error, int rank);

/// Reports to GoogleTest: causes before their consequences, and identical
/// messages of several ranks only once. Ranks that lost another because it
/// skipped the test are also skipped. `ended` are the ranks that reached the
/// end of the body. Returns whether there was a failure.
bool tell(std::vector<Report> reports, int ranks, const std::vector<int>& ended,
          const Place& test);

}  // namespace tally::testkit::internal
