#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "tally/metrics/retrieval/kernels/ranked_queries.h"

namespace tally::internal::retrieval {

/// Documents of one query between which the scores do not choose; one, or
/// several alike, where something else has put them in order.
struct TieGroup {
  const QueryView& query;
  std::int64_t begin, end;  // its runs
  std::int64_t above;       // documents before it
  std::int64_t size;        // documents in it

  double grade(std::int64_t run) const { return query.grades[run]; }
  double count(std::int64_t run) const {
    return static_cast<double>(query.count(run));
  }
  /// How many have a grade above 0, and of 0.
  std::int64_t relevant() const {
    if (size == 1) return grade(begin) > 0;
    std::int64_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      if (grade(i) > 0) found += query.count(i);
    }
    return found;
  }
  std::int64_t nonrelevant() const {
    if (size == 1) return grade(begin) == 0;
    std::int64_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      if (grade(i) == 0) found += query.count(i);
    }
    return found;
  }
  /// The sum of value(grade) over its documents.
  template <class Value>
  double sum(const Value& value) const {
    if (size == 1) return value(grade(begin));
    double total = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      total += count(i) * value(grade(i));
    }
    return total;
  }
  /// How many of its documents are among the best k.
  std::int64_t slots(std::int64_t k) const {
    return std::clamp(k - above, std::int64_t{0}, size);
  }
  /// How many of these documents of it are, in the mean over orders.
  double mean_within(std::int64_t documents, std::int64_t k) const {
    const std::int64_t places = slots(k);
    const auto all = static_cast<double>(documents);
    return places == size
               ? all
               : all * static_cast<double>(places) / static_cast<double>(size);
  }
};

/// Calls visit(group) from the best to the worst that has documents among the
/// best k.
template <class Visit>
void for_each_group(const QueryView& query, std::int64_t k,
                    const Visit& visit) {
  std::int64_t above = 0;
  for (std::int64_t begin = 0, end; begin < query.runs && above < k;
       begin = end) {
    std::int64_t size = query.count(begin);
    end = begin + 1;
    if (query.tied != nullptr) {
      for (; query.tied[end - 1]; ++end) size += query.count(end);
    }
    visit(TieGroup{query, begin, end, above, size});
    above += size;
  }
}

/// top_k, where none is all.
inline std::int64_t depth_of(const std::optional<std::int64_t>& top_k) {
  return top_k.value_or(std::numeric_limits<std::int64_t>::max());
}

/// How many relevant documents are among the best k, in the mean over orders.
inline double hits_within(const QueryView& query, std::int64_t k) {
  if (query.is_strict()) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < std::min(k, query.runs); ++i) {
      found += query.grades[i] > 0;
    }
    return static_cast<double>(found);
  }
  double hits = 0;
  for_each_group(query, k, [&](const TieGroup& group) {
    hits += group.mean_within(group.relevant(), k);
  });
  return hits;
}

}  // namespace tally::internal::retrieval
