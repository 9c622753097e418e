#pragma once

#include <memory>

#include "tally/cli/evaluate.h"

namespace tally::cli {

/// evaluate() of each set that --set names, one after the other: the results of
/// all and their means, as join_sets() has them, and the rows of all together;
/// intervals are those of each set, and means have none.
/// Collective.
Report evaluate_sets(const Arguments& arguments,
                     const std::shared_ptr<sync::Communicator>& ranks,
                     Progress& progress);

}  // namespace tally::cli
