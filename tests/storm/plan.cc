#include "tally/tests/storm/plan.h"

#include <random>
#include <sstream>

#include "tally/tests/storm/calls.h"

namespace tally::storm {
namespace {

constexpr int kRanks[] = {2, 3, 5, 8};
constexpr std::size_t kSteps = 12;
constexpr std::int64_t kMostCollectives = 4;
constexpr std::int64_t kMostMicroseconds = 4000;
constexpr const char* kFaultNames[kFaults] = {"none", "late", "throw", "other",
                                              "kill", "exit", "stop",  "cut"};

}  // namespace

const char* to_string(Fault fault) {
  return kFaultNames[static_cast<int>(fault)];
}

bool ends_group(Fault fault) { return fault >= Fault::kKill; }

Plan::Plan(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % limit);
  };
  const std::vector<Call>& calls = all_calls();
  ranks = kRanks[below(4)];
  fault = static_cast<Fault>(below(kFaults));
  victim = static_cast<int>(below(ranks));
  step = below(kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    steps.push_back({static_cast<std::size_t>(below(calls.size())),
                     static_cast<unsigned>(below(1 << 20))});
  }
  const bool passes = fault == Fault::kThrow || fault == Fault::kOther;
  // What goes on after its first failure would meet the next call.
  while (passes && !calls[steps[step].call].ends_at_once) {
    steps[step].call = below(calls.size());
  }
  moment = ends_group(fault) ? static_cast<Moment>(below(3)) : Moment::kBefore;
  delay = below(moment == Moment::kTime ? kMostMicroseconds : kMostCollectives);
  timeout = std::chrono::seconds(3);
}

std::string Plan::describe() const {
  std::ostringstream text;
  text << ranks << " ranks, " << to_string(fault);
  if (fault == Fault::kNone) return text.str();
  text << " of rank " << victim << " at " << all_calls()[steps[step].call].name;
  if (moment == Moment::kCollective) text << ", collective " << delay;
  if (moment == Moment::kTime) text << ", after " << delay << " us";
  return text.str();
}

}  // namespace tally::storm
