#include "tally/testing/internal/failure_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <typeinfo>

#include "tally/sync/errors.h"
#include "tally/testing/internal/stacks.h"

namespace tally::testkit::internal {
namespace {

Weight weight_of(sync::SyncErrorCode code) {
  switch (code) {
    case sync::SyncErrorCode::kPeerLost:
    case sync::SyncErrorCode::kPeerFailed:
    case sync::SyncErrorCode::kGroupBroken:
      return Weight::kLost;
    case sync::SyncErrorCode::kTimeout:
      return Weight::kLate;
    default:
      return Weight::kCause;
  }
}

std::string ranks_text(const std::vector<int>& told, int ranks) {
  std::string text = told.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < told.size(); ++i) {
    text += (i == 0                ? ""
             : i + 1 < told.size() ? ", "
                                   : " and ") +
            std::to_string(told[i]);
  }
  return text + " of " + std::to_string(ranks);
}

void tell_at(const Report& report, const Place& test,
             ::testing::TestPartResult::Type type, const std::string& text) {
  const bool own = !report.file.empty();
  GTEST_MESSAGE_AT_(own ? report.file.c_str() : test.file,
                    own ? report.line : test.line, "", type)
      << text;
}

::testing::TestPartResult::Type type_of(Report::Kind kind) {
  switch (kind) {
    case Report::Kind::kFailure:
      return ::testing::TestPartResult::kNonFatalFailure;
    case Report::Kind::kFatal:
      return ::testing::TestPartResult::kFatalFailure;
    case Report::Kind::kSkip:
      return ::testing::TestPartResult::kSkip;
  }
  return ::testing::TestPartResult::kFatalFailure;
}

// Ranks that lost a peer, and no other failure: then a rank ended its body
// while others still counted on it.
void explain(std::vector<Report>& reports, const std::vector<int>& ended) {
  for (const Report& report : reports) {
    if (report.weight == Weight::kCause) return;
  }
  std::string well;
  for (const int rank : ended) {
    const bool reported =
        std::any_of(reports.begin(), reports.end(),
                    [&](const Report& r) { return r.rank == rank; });
    if (!reported) well += (well.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (well.empty()) return;
  for (Report& report : reports) {
    report.text += "\nRanks that reached the end of the test: " + well +
                   ". Every rank must make the same calls of the group.";
  }
}

}  // namespace

Report report_of(const std::exception_ptr& error, int rank) {
  Report report{rank, Report::Kind::kFatal, Weight::kCause, "", 0, ""};
  try {
    std::rethrow_exception(error);
  } catch (const sync::SyncError& exception) {
    report.weight = weight_of(exception.code());
    report.text = "threw " + demangled(typeid(exception).name()) + ": " +
                  sync::describe(exception);
  } catch (const std::exception& exception) {
    report.text = "threw " + demangled(typeid(exception).name()) + ": " +
                  sync::describe(exception);
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    report.text = "threw " +
                  (type == nullptr ? "an object of unknown type"
                                   : demangled(type->name())) +
                  ", which is not a std::exception";
  }
  return report;
}

bool tell(std::vector<Report> reports, int ranks, const std::vector<int>& ended,
          const Place& test) {
  explain(reports, ended);
  const auto is_skip = [](const Report& r) {
    return r.kind == Report::Kind::kSkip;
  };
  if (std::any_of(reports.begin(), reports.end(), is_skip)) {
    reports.erase(std::remove_if(reports.begin(), reports.end(),
                                 [&](const Report& r) {
                                   return !is_skip(r) &&
                                          r.weight == Weight::kLost;
                                 }),
                  reports.end());
  }
  std::stable_sort(
      reports.begin(), reports.end(),
      [](const Report& a, const Report& b) { return a.weight < b.weight; });
  bool failed = false;
  while (!reports.empty()) {
    const Report first = reports.front();
    std::vector<int> told;
    const auto same = [&](const Report& r) {
      return r.kind == first.kind && r.line == first.line &&
             r.file == first.file && r.text == first.text;
    };
    for (const Report& r : reports) {
      if (same(r) && std::count(told.begin(), told.end(), r.rank) == 0) {
        told.push_back(r.rank);
      }
    }
    std::sort(told.begin(), told.end());
    reports.erase(std::remove_if(reports.begin(), reports.end(), same),
                  reports.end());
    const std::string text = ranks_text(told, ranks) + ": " + first.text;
    tell_at(first, test, type_of(first.kind), text);
    failed = failed || !is_skip(first);
  }
  return failed;
}

}  // namespace tally::testkit::internal
