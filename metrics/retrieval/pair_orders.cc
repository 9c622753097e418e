#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"
#include "tally/metrics/retrieval/retrieval_auroc.h"
#include "tally/metrics/retrieval/retrieval_bpref.h"

namespace tally {
namespace {

namespace retrieval = internal::retrieval;
using retrieval::QueryValue;
using retrieval::QueryView;
using retrieval::TieGroup;

// Judged documents of one score.
struct Step {
  std::int64_t relevant = 0;
  std::int64_t others = 0;
};

// The area over all orders within steps; both kinds are there.
double area_of(const std::vector<Step>& steps, const Step& total,
               const std::optional<double>& max_fpr) {
  const auto relevant = static_cast<double>(total.relevant);
  const auto others = static_cast<double>(total.others);
  if (!max_fpr || *max_fpr == 1) {
    double pairs = 0;
    std::int64_t above = 0;
    for (const Step& step : steps) {
      pairs +=
          static_cast<double>(step.others) *
          (static_cast<double>(above) + static_cast<double>(step.relevant) / 2);
      above += step.relevant;
    }
    return pairs / (relevant * others);
  }
  // The height above the s-th of n others in a step of p relevant ones is
  // p s / (n + 1) in the mean.
  double left = *max_fpr * others;
  double pairs = 0;
  double above = 0;
  for (const Step& step : steps) {
    const auto own = static_cast<double>(step.others);
    const double taken = std::min(own, left);
    const double whole = std::floor(taken);
    const double rise = static_cast<double>(step.relevant) / (own + 1);
    pairs += taken * above +
             rise * (whole * (whole + 1) / 2 + (taken - whole) * (whole + 1));
    above += static_cast<double>(step.relevant);
    left -= taken;
    if (left <= 0) break;
  }
  const double least = *max_fpr * *max_fpr / 2;
  const double area = pairs / (relevant * others);
  return (1 + (area - least) / (*max_fpr - least)) / 2;
}

class QueryArea {
 public:
  QueryArea(const QueryView& query, std::int64_t k,
            const std::optional<double>& max_fpr)
      : max_fpr_(max_fpr) {
    bool is_cut = false;
    retrieval::for_each_group(query, k, [&](const TieGroup& group) {
      const Step step{group.relevant(), group.nonrelevant()};
      const std::int64_t slots = group.slots(k);
      if (slots < group.size) {
        is_cut = true;
        draw(step, group.size, slots);
        return;
      }
      steps_.push_back(step);
      total_.relevant += step.relevant;
      total_.others += step.others;
    });
    if (!is_cut) add(steps_, total_, 1);
  }

  QueryValue value() const {
    if (defined_ == 0) return QueryValue::none();
    // Of probabilities the sum may be off by rounding.
    return {sum_ / defined_,
            lacking_ == 0 ? 1 : defined_ / (defined_ + lacking_)};
  }

 private:
  // The last step, of which `slots` of `size` documents are among the best k.
  void draw(const Step& step, std::int64_t size, std::int64_t slots) {
    const std::int64_t judged = step.relevant + step.others;
    const retrieval::MarkedDraws judgments(size, judged, slots);
    std::vector<Step> steps = steps_;
    steps.emplace_back();
    for (std::int64_t n = judgments.least(); n <= judgments.most(); ++n) {
      const retrieval::MarkedDraws draws(judged, step.relevant, n);
      for (std::int64_t i = draws.least(); i <= draws.most(); ++i) {
        steps.back() = {i, n - i};
        add(steps, {total_.relevant + i, total_.others + n - i},
            judgments.probability(n) * draws.probability(i));
      }
    }
  }
  void add(const std::vector<Step>& steps, const Step& total,
           double probability) {
    if (total.relevant == 0 || total.others == 0) {
      lacking_ += probability;
      return;
    }
    sum_ += probability * area_of(steps, total, max_fpr_);
    defined_ += probability;
  }

  std::optional<double> max_fpr_;
  std::vector<Step> steps_;
  Step total_;
  double sum_ = 0;
  // The probabilities of orders with both kinds, and of others.
  double defined_ = 0;
  double lacking_ = 0;
};

double preference(const QueryView& query) {
  const auto most =
      static_cast<double>(std::min(query.nonrelevant, query.relevant));
  // Of a relevant document with so many others above it.
  const auto term = [&](std::int64_t above) {
    if (above == 0) return 1.0;
    return 1 - static_cast<double>(std::min(above, query.relevant)) / most;
  };
  double sum = 0;
  std::int64_t above = 0;
  retrieval::for_each_group(query, retrieval::depth_of({}),
                            [&](const TieGroup& group) {
                              const std::int64_t relevant = group.relevant();
                              const std::int64_t others = group.nonrelevant();
                              if (relevant > 0) {
                                // Each number of them above it is as likely.
                                double terms = 0;
                                for (std::int64_t i = 0; i <= others; ++i)
                                  terms += term(above + i);
                                sum += static_cast<double>(relevant) * terms /
                                       static_cast<double>(others + 1);
                              }
                              above += others;
                            });
  return sum / static_cast<double>(query.relevant);
}

}  // namespace

void RetrievalAUROCOptions::validate(const char* metric) const {
  TopKOptions::validate(metric);
  TORCH_CHECK_VALUE(!max_fpr_ || (*max_fpr_ > 0 && *max_fpr_ <= 1), metric,
                    ": expected max_fpr in (0, 1], got ", max_fpr_.value_or(0));
}

at::Tensor RetrievalAUROC::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const std::optional<double> max_fpr = options().max_fpr();
  return retrieval::evaluate_queries(
      state.ranked().get(), options().rules(kName),
      "a relevant document and another one among its best",
      [=](const QueryView& query) {
        return QueryArea(query, k, max_fpr).value();
      });
}

at::Tensor RetrievalBpref::evaluate(const State& state) const {
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [](const QueryView& query) { return preference(query); });
}

template class MetricOf<RetrievalAUROC, JudgedDocuments, at::Tensor,
                        RetrievalAUROCOptions>;
template class MetricOf<RetrievalBpref, JudgedDocuments, at::Tensor,
                        RetrievalBprefOptions>;

}  // namespace tally
