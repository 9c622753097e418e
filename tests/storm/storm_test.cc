#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tally/testing/internal/rank_process.h"
#include "tally/testing/internal/runner.h"
#include "tally/tests/storm/calls.h"
#include "tally/tests/storm/plan.h"
#include "tally/tests/storm/rank.h"

// Rounds that are drawn from seeds: so many ranks do so many calls, and one of
// them fails. Whatever happens, every rank ends in time, and each of its calls
// with the right value or with an error that fits the fault, and what it holds
// is as before. Numbers of ranks and of rounds are not known when tests are
// registered, so this one starts its ranks itself, as RANKS_TEST does.
//
//   TALLY_STORM_SECONDS  rounds go on for so long; else a few
//   TALLY_STORM_SEED     of the first round; else 1
//
// CONTRIBUTING.md says how to run it for long.

namespace tally::storm {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using testkit::RanksOptions;
using testkit::internal::rank_process;

// In a rank's process it must stand before main().
[[maybe_unused]] const auto* const kProcess = rank_process();

constexpr int kRounds = 10;
constexpr const char* kRoundVariable = "TALLY_STORM_ROUND";
constexpr const char* kFolderVariable = "TALLY_STORM_FOLDER";
// For a machine that does other things as well.
constexpr std::int64_t kSlackMilliseconds = 10000;
constexpr std::int64_t kAtOnceMilliseconds = 2000;

unsigned number_of(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::atoi(text));
}

/// For the end.
struct Tally {
  int rounds = 0, ranks = 0, values = 0;
  std::map<std::string, int> errors;  // by code
  std::int64_t longest = 0;           // milliseconds of a call that failed
};

class Round {
 public:
  explicit Round(unsigned seed)
      : seed_(seed),
        plan_(seed),
        folder_(::testing::TempDir() + "/storm-" + std::to_string(seed)) {
    std::filesystem::create_directories(folder_);
  }
  ~Round() { std::filesystem::remove_all(folder_); }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  const Plan& plan() const { return plan_; }

  void run_and_check(Tally& tally) {
    testkit::internal::run_ranks(plan_.ranks, options(), {__FILE__, __LINE__});
    const std::vector<Outcomes> expected = expected_outcomes(plan_);
    ++tally.rounds;
    tally.ranks += plan_.ranks;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      check_rank(rank, expected[rank], tally);
    }
  }

 private:
  RanksOptions options() const {
    RanksOptions options;
    options.environment = [this](int) {
      return std::vector<std::string>{
          kRoundVariable + ("=" + std::to_string(seed_)),
          kFolderVariable + ("=" + folder_)};
    };
    return options;
  }

  /// Whether a rank may end without having said so.
  bool may_vanish(int rank) const {
    return rank == plan_.victim &&
           (plan_.fault == Fault::kKill || plan_.fault == Fault::kExit);
  }

  void check_rank(int rank, const Outcomes& expected, Tally& tally) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Outcomes outcomes = read_outcomes(folder_, rank);
    const bool vanished = may_vanish(rank) && outcomes.size() < expected.size();
    bool broken = false;
    std::size_t next = 0;
    for (const auto& [step, outcome] : outcomes) {
      SCOPED_TRACE("step " + std::to_string(step) + ", " +
                   all_calls()[plan_.steps[step].call].name + ": " +
                   outcome.code + outcome.text);
      EXPECT_EQ(step, next++);
      if (outcome.code == "value") {
        ++tally.values;
        EXPECT_FALSE(broken);
        EXPECT_EQ(outcome.value, expected.at(step).value);
        continue;
      }
      ++tally.errors[outcome.code];
      tally.longest = std::max(tally.longest, outcome.milliseconds);
      if (ends_group(plan_.fault)) {
        check_break(rank, step, outcome, broken);
        broken = true;
      } else {
        check_lone_failure(rank, step, outcome);
      }
    }
    if (!broken && !vanished) {
      EXPECT_EQ(next, plan_.steps.size());
    }
  }

  void check_break(int rank, std::size_t step, const Outcome& outcome,
                   bool broken) {
    // A rank may have what it needs of a call while others still wait.
    EXPECT_GE(step + 1, plan_.step);
    if (broken) {
      EXPECT_EQ(outcome.code, "kGroupBroken");
      EXPECT_LE(outcome.milliseconds, kAtOnceMilliseconds);
      return;
    }
    // A sync in the background that was dropped keeps its error to itself.
    EXPECT_THAT(outcome.code, AnyOf("kPeerLost", "kTimeout", "kGroupBroken"));
    // A rank that others waited for in vain may find that nobody is missing.
    EXPECT_TRUE(outcome.code == "kGroupBroken" || outcome.peers > 0 ||
                rank == plan_.victim);
    EXPECT_LE(outcome.milliseconds, plan_.timeout.count() + kSlackMilliseconds);
  }

  void check_lone_failure(int rank, std::size_t step, const Outcome& outcome) {
    EXPECT_EQ(step, plan_.step);
    if (plan_.fault == Fault::kThrow) {
      EXPECT_EQ(outcome.code, rank == plan_.victim ? "threw" : "kPeerFailed");
    } else {
      EXPECT_EQ(plan_.fault, Fault::kOther);
      EXPECT_EQ(outcome.code, "kMismatch");
    }
  }

  unsigned seed_;
  Plan plan_;
  std::string folder_;
};

void run_in_round() {
  const Plan plan(number_of(kRoundVariable, 0));
  RanksOptions options;
  options.timeout = plan.timeout;
  testkit::internal::enter_test(options);
  testkit::internal::run_in_process([&](const testkit::Rank& self) {
    run_rank(plan, self, std::getenv(kFolderVariable));
  });
}

TEST(ProcessStormTest, EveryRankEndsWithValuesOrReasons) {
  if (rank_process() != nullptr) return run_in_round();
  std::map<Fault, Tally> tallies;
  const auto end =
      steady_clock::now() + seconds(number_of("TALLY_STORM_SECONDS", 0));
  const unsigned first = number_of("TALLY_STORM_SEED", 1);
  for (unsigned seed = first;
       seed < first + kRounds || steady_clock::now() < end; ++seed) {
    Round round(seed);
    SCOPED_TRACE("TALLY_STORM_SEED=" + std::to_string(seed) + ": " +
                 round.plan().describe());
    round.run_and_check(tallies[round.plan().fault]);
    if (HasFailure()) break;
  }
  for (const auto& [fault, tally] : tallies) {
    std::cout << to_string(fault) << ": " << tally.rounds << " rounds, "
              << tally.ranks << " ranks, " << tally.values << " values";
    for (const auto& [code, count] : tally.errors) {
      std::cout << ", " << count << " " << code;
    }
    std::cout << "; at most " << tally.longest << " ms\n";
  }
}

}  // namespace
}  // namespace tally::storm
