#pragma once

#include "tally/benchmarks/coverage/simulation.h"

/// Situations whose units are not rows.
namespace tally::coverage {

void groups(const Choice& choice);
void retrieval(const Choice& choice);

}  // namespace tally::coverage
