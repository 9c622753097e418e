#include "tally/metrics/retrieval/retrieval_normalized_dcg.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

namespace {

using retrieval::QueryView;
using retrieval::TieGroup;

// 2^g is infinite from there on.
constexpr double kMostExponent = 1023;

double gain_of(double grade, Gain gain) {
  if (grade <= 0) return 0;
  return gain == Gain::kLinear ? grade : std::exp2(grade) - 1;
}

class Discounts {
 public:
  explicit Discounts(std::int64_t count) {
    discounts_.reserve(count);
    for (std::int64_t i = 0; i < count; ++i) {
      discounts_.push_back(1 / std::log2(static_cast<double>(i + 2)));
    }
  }

  double operator[](std::int64_t i) const { return discounts_[i]; }
  // `gain` at each of `count` ranks.
  double sum(double gain, std::int64_t first, std::int64_t count) const {
    double total = 0;
    for (std::int64_t i = first; i < first + count; ++i) {
      total += gain * discounts_[i];
    }
    return total;
  }

 private:
  std::vector<double> discounts_;
};

double dcg(const QueryView& query, std::int64_t k, Gain gain,
           const Discounts& discounts) {
  double total = 0;
  if (query.is_strict()) {
    for (std::int64_t i = 0; i < std::min(k, query.runs); ++i) {
      total += gain_of(query.grades[i], gain) * discounts[i];
    }
    return total;
  }
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const double gains =
        group.sum([=](double grade) { return gain_of(grade, gain); });
    if (gains == 0) return;
    total += discounts.sum(gains / static_cast<double>(group.size), group.above,
                           group.slots(k));
  });
  return total;
}

double ideal_dcg(const QueryView& query, std::int64_t k, Gain gain,
                 const Discounts& discounts) {
  using Run = std::pair<double, std::int64_t>;
  std::vector<Run> runs;
  bool one_grade = true;
  for (std::int64_t i = 0; i < query.all_runs; ++i) {
    if (query.grades[i] <= 0) continue;
    runs.emplace_back(query.grades[i], query.count(i));
    one_grade &= runs.front().first == runs.back().first;
  }
  if (!one_grade) std::sort(runs.begin(), runs.end(), std::greater<Run>());
  double total = 0;
  std::int64_t above = 0;
  for (const auto& [grade, count] : runs) {
    const std::int64_t slots = std::min(count, k - above);
    total += discounts.sum(gain_of(grade, gain), above, slots);
    above += slots;
    if (above == k) break;
  }
  return total;
}

}  // namespace

at::Tensor RetrievalNormalizedDCG::evaluate(const State& state) const {
  const auto ranked = state.ranked();
  const Gain gain = options().gain();
  std::int64_t deepest = 0;
  if (ranked) {
    deepest = ranked->most_documents();
    const double most = gain == Gain::kLinear ? 0 : ranked->most_grade();
    TORCH_CHECK_VALUE(most <= kMostExponent, kName,
                      ": expected grades of at most ", kMostExponent,
                      " with gain=exponential, got ", most);
  }
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const Discounts discounts(std::min(k, deepest));
  return retrieval::evaluate_relevant(
      ranked.get(), options().rules(kName), [&](const QueryView& query) {
        // Rounding must not take it beyond 1.
        return std::min(1.0, dcg(query, k, gain, discounts) /
                                 ideal_dcg(query, k, gain, discounts));
      });
}

}  // namespace tally
