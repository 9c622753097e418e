#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::clustering {

/// The mutual information to expect of a table with these sums of rows and
/// columns, all tables being equally likely, in nats. REQUIRES: both add up to
/// total.
double expected_information(std::vector<std::int64_t> rows,
                            std::vector<std::int64_t> columns,
                            std::int64_t total);

}  // namespace tally::internal::clustering
