#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

/// What happens in one round of the storm: all of it follows from a seed, so
/// that ranks and their parent know it without talking.
namespace tally::storm {

enum class Fault {
  kNone,
  kLate,   ///< comes late, but within the timeout
  kThrow,  ///< throws before its part of a call
  kOther,  ///< is in another call than the others
  kKill,
  kExit,  ///< ends without a word, and well
  kStop,  ///< is stopped for longer than the timeout
  kCut,   ///< its connections are closed
};
inline constexpr int kFaults = 8;
const char* to_string(Fault fault);

/// Whether no later call can succeed.
bool ends_group(Fault fault);

enum class Moment {
  kBefore,      ///< the call
  kCollective,  ///< as a collective of the call is entered
  kTime,        ///< so many microseconds after the call has begun
};

struct Step {
  std::size_t call;  ///< of all_calls()
  unsigned seed;
};

struct Plan {
  explicit Plan(unsigned seed);

  std::string describe() const;

  int ranks;
  std::vector<Step> steps;
  Fault fault;
  int victim;
  std::size_t step;  ///< in which the fault happens
  Moment moment;
  std::int64_t delay;  ///< collectives or microseconds of the moment
  std::chrono::milliseconds timeout;
};

}  // namespace tally::storm
