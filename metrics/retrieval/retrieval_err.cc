#include "tally/metrics/retrieval/retrieval_err.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
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
  // orders, is that before it times the mean of the products of i of their
  // chances of going on: an elementary symmetric polynomial of them.
  void add_mixed(const TieGroup& group, double& sum, double& going_on) const {
    const std::int64_t slots = group.slots(k_);
    std::vector<double> means(slots + 1);
    means[0] = 1;
    double added = 0;
    for (std::int64_t run = group.begin; run < group.end; ++run) {
      const double stays = 1 - chance(group.grade(run));
      for (std::int64_t n = 0; n < group.query.count(run); ++n) {
        added += 1;
        const auto last = std::min(slots, static_cast<std::int64_t>(added));
        for (std::int64_t i = last; i > 0; --i) {
          const auto size = static_cast<double>(i);
          means[i] =
              ((added - size) * means[i] + size * stays * means[i - 1]) / added;
        }
      }
    }
    for (std::int64_t i = 1; i <= slots; ++i) {
      sum += going_on * (means[i - 1] - means[i]) /
             static_cast<double>(group.above + i);
    }
    going_on *= means[slots];
  }

  std::int64_t k_;
  double g_max_;
};

}  // namespace

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

}  // namespace tally
