#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

namespace tally::internal::classification {

// Score, positives, negatives.
using Groups = std::vector<std::tuple<double, std::int64_t, std::int64_t>>;

template <class Counts>
Groups groups(const Counts& counts) {
  Groups list;
  counts.for_each(
      [&](double score, std::int64_t positives, std::int64_t negatives) {
        list.emplace_back(score, positives, negatives);
      });
  return list;
}

}  // namespace tally::internal::classification
