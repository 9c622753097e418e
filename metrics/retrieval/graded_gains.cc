#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"
#include "tally/metrics/retrieval/retrieval_err.h"
#include "tally/metrics/retrieval/retrieval_normalized_dcg.h"

namespace tally {
namespace {

namespace retrieval = internal::retrieval;
using retrieval::QueryView;
using retrieval::TieGroup;

// 2^g is infinite from there on.
constexpr double kMostExponent = 1023;
// A chance beside which ranks that are still to come change no value.
constexpr double kNegligible = 0x1p-64;

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

class StoppingRank {
 public:
  StoppingRank(std::int64_t k, double g_max) : k_(k), g_max_(g_max) {}

  double operator()(const QueryView& query) const {
    double sum = 0;
    double going_on = 1;  // the chance that nothing above is sufficient
    retrieval::for_each_group(query, k_, [&](const TieGroup& group) {
      if (going_on == 0) return;
      if (group.end - group.begin == 1) {
        add_alike(group, sum, going_on);
      } else {
        add_mixed(group, sum, going_on);
      }
    });
    return sum;
  }

 private:
  double chance(double grade) const {
    // Not a quotient of powers, which could both be infinite.
    return grade <= 0 ? 0 : std::exp2(grade - g_max_) - std::exp2(-g_max_);
  }

  void add_alike(const TieGroup& group, double& sum, double& going_on) const {
    const double stops = chance(group.grade(group.begin));
    if (stops == 0) return;
    const std::int64_t slots = group.slots(k_);
    for (std::int64_t i = 1; i <= slots && going_on > 0; ++i) {
      sum += going_on * stops / static_cast<double>(group.above + i);
      going_on *= 1 - stops;
    }
  }

  // going_on after the first i documents of the group, in the mean over its
  // orders: the sum over r of the chance that r of them may stop (the others'
  // chance is 0), times the mean of the products of r chances of going on, an
  // elementary symmetric polynomial of them.
  void add_mixed(const TieGroup& group, double& sum, double& going_on) const {
    std::int64_t stopping = 0;
    double longest = 0;  // the largest chance of going on
    for (std::int64_t run = group.begin; run < group.end; ++run) {
      const double stops = chance(group.grade(run));
      if (stops == 0) continue;
      stopping += group.query.count(run);
      longest = std::max(longest, 1 - stops);
    }
    if (stopping == 0) return;
    const std::int64_t slots = group.slots(k_);
    const std::int64_t most =
        std::min({stopping, slots, negligible_after(longest)});
    const std::vector<double> means = products(group, most);
    std::vector<double> chances(most + 1);  // of r in the first i
    chances[0] = 1;
    double before = 1;
    for (std::int64_t i = 0; i < slots && before > kNegligible; ++i) {
      const auto left = static_cast<double>(group.size - i);
      double after = 0;
      for (std::int64_t r = std::min(i + 1, most); r >= 0; --r) {
        const std::int64_t others = group.size - stopping - (i - r);
        chances[r] *=
            static_cast<double>(std::max<std::int64_t>(others, 0)) / left;
        if (r > 0) {
          chances[r] +=
              chances[r - 1] * static_cast<double>(stopping - (r - 1)) / left;
        }
        after += chances[r] * means[r];
      }
      sum += going_on * (before - after) /
             static_cast<double>(group.above + i + 1);
      before = after;
    }
    going_on *= before;
  }

  // How often one may go on until that is negligible.
  static std::int64_t negligible_after(double longest) {
    if (longest == 0) return 1;
    if (longest == 1) return std::numeric_limits<std::int64_t>::max();
    const double times = std::log(kNegligible) / std::log(longest);
    return times < 0x1p62 ? static_cast<std::int64_t>(times) + 1
                          : std::numeric_limits<std::int64_t>::max();
  }

  // The means of the products of up to `most` chances of going on.
  std::vector<double> products(const TieGroup& group, std::int64_t most) const {
    std::vector<double> means(most + 1);
    means[0] = 1;
    std::int64_t added = 0;
    for (std::int64_t run = group.begin; run < group.end; ++run) {
      const double stops = chance(group.grade(run));
      if (stops == 0) continue;
      for (std::int64_t n = 0; n < group.query.count(run); ++n) {
        const auto all = static_cast<double>(++added);
        for (std::int64_t r = std::min(most, added); r > 0; --r) {
          const auto size = static_cast<double>(r);
          means[r] =
              ((all - size) * means[r] + size * (1 - stops) * means[r - 1]) /
              all;
        }
      }
    }
    return means;
  }

  std::int64_t k_;
  double g_max_;
};

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

void RetrievalERROptions::validate(const char* metric) const {
  TopKOptions::validate(metric);
  TORCH_CHECK_VALUE(g_max_ > 0 && g_max_ <= kMostExponent, metric,
                    ": expected g_max above 0 and at most ", kMostExponent,
                    ", got ", g_max_);
}

at::Tensor RetrievalERR::evaluate(const State& state) const {
  const auto ranked = state.ranked();
  if (ranked) {
    retrieval::check_grades(*ranked, kName, options().g_max());
  }
  const StoppingRank value(retrieval::depth_of(options().top_k()),
                           options().g_max());
  return retrieval::evaluate_relevant(
      ranked.get(), options().rules(kName),
      [&](const QueryView& query) { return std::min(1.0, value(query)); });
}

template class MetricOf<RetrievalERR, JudgedDocuments, at::Tensor,
                        RetrievalERROptions>;
template class MetricOf<RetrievalNormalizedDCG, JudgedDocuments, at::Tensor,
                        RetrievalNormalizedDCGOptions>;

}  // namespace tally
