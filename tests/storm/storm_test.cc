#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>

#include "tally/tests/storm/calls.h"
#include "tally/tests/storm/plan.h"
#include "tally/tests/storm/rank.h"
#include "tally/tests/testing/process_ranks.h"

// Rounds that are drawn from seeds: so many ranks do so many calls, and one of
// them fails. Whatever happens, every rank ends in time, and each of its calls
// with the right value or with an error that fits the fault, and what it holds
// is as before.
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
using testkit::ProcessRank;
using testkit::ProcessRanks;
using testkit::ProcessRanksOptions;

constexpr int kRounds = 10;
constexpr const char* kRoundVariable = "TALLY_STORM_ROUND";
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
      : plan_(seed), ranks_(plan_.ranks, run, options(seed)) {}

  const Plan& plan() const { return plan_; }

  void check(Tally& tally) {
    const std::vector<Outcomes> expected = expected_outcomes(plan_);
    ++tally.rounds;
    tally.ranks += plan_.ranks;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (!(plan_.fault == Fault::kStop && rank == plan_.victim)) {
        check_rank(rank, expected[rank], tally);
      }
    }
    if (plan_.fault != Fault::kStop) return;
    ranks_.kill(plan_.victim, SIGCONT);
    check_rank(plan_.victim, expected[plan_.victim], tally);
  }

 private:
  static void run(const ProcessRank& self) {
    const Plan plan(number_of(kRoundVariable, 0));
    run_rank(plan, self.connect(plan.timeout));
  }
  static ProcessRanksOptions options(unsigned seed) {
    ProcessRanksOptions options;
    options.deadline = seconds(60);
    options.environment = [=](int) {
      return std::vector<std::string>{kRoundVariable +
                                      ("=" + std::to_string(seed))};
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
    const ProcessRanks::Result result = ranks_.join(rank);
    const Outcomes outcomes = read_outcomes(result.output);
    const bool vanished = may_vanish(rank) && outcomes.size() < expected.size();
    EXPECT_EQ(result.exit_code, vanished && plan_.fault == Fault::kKill
                                    ? 128 + SIGKILL
                                    : ProcessRanks::kOk)
        << result.output;
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

  Plan plan_;
  ProcessRanks ranks_;
};

TEST(ProcessStormTest, EveryRankEndsWithValuesOrReasons) {
  std::map<Fault, Tally> tallies;
  const auto end =
      steady_clock::now() + seconds(number_of("TALLY_STORM_SECONDS", 0));
  const unsigned first = number_of("TALLY_STORM_SEED", 1);
  for (unsigned seed = first;
       seed < first + kRounds || steady_clock::now() < end; ++seed) {
    Round round(seed);
    SCOPED_TRACE("TALLY_STORM_SEED=" + std::to_string(seed) + ": " +
                 round.plan().describe());
    round.check(tallies[round.plan().fault]);
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
