#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tally/testing/rank.h"
#include "tally/tests/storm/plan.h"

/// A rank's side of a round, and what it says of it.
namespace tally::storm {

/// What a step gave a rank.
struct Outcome {
  std::string code;  ///< of the SyncError, "value", or "threw"
  std::uint64_t value = 0;
  std::int64_t milliseconds = 0;
  std::size_t peers = 0;  ///< that the error names
  std::string text;       ///< of the error
};
using Outcomes = std::map<std::size_t, Outcome>;  // by step

/// Does the steps up to the first after which the group is finished, and the
/// next one, with the plan's fault if this rank is its victim. Writes a line
/// for each to the rank's file in `folder`.
void run_rank(const Plan& plan, const testkit::Rank& self,
              const std::string& folder);

/// What those lines say.
Outcomes read_outcomes(const std::string& folder, int rank);

/// The values that each rank should get, from ranks that are threads.
std::vector<Outcomes> expected_outcomes(const Plan& plan);

}  // namespace tally::storm
