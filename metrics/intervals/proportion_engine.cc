#include <c10/util/Exception.h>

#include <cmath>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/exact_match.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/hamming_distance.h"
#include "tally/metrics/classification/jaccard_index.h"
#include "tally/metrics/classification/negative_predictive_value.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/classification/specificity.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/proportions.h"

namespace tally::internal::intervals {
namespace {

using classification::ClassCounts;

struct Proportion {
  double successes = 0;
  double n = 0;
};

/// A proportion, and the value that it determines.
struct Rate {
  Proportion (*proportion)(const ClassCounts&);
  double (*value)(double proportion);
  bool decreases = false;
};

double same(double p) { return p; }
double complement(double p) { return 1 - p; }
double f1_of_jaccard(double p) { return 2 * p / (1 + p); }
double jaccard_of_accuracy(double p) { return p / (2 - p); }

constexpr Rate kAccuracy{[](const ClassCounts& c) {
                           return Proportion{c.tp + c.tn(), c.total};
                         },
                         same};
constexpr Rate kPrecision{[](const ClassCounts& c) {
                            return Proportion{c.tp, c.predicted};
                          },
                          same};
constexpr Rate kRecall{[](const ClassCounts& c) {
                         return Proportion{c.tp, c.target};
                       },
                       same};
constexpr Rate kSpecificity{[](const ClassCounts& c) {
                              return Proportion{c.tn(), c.tn() + c.fp()};
                            },
                            same};
constexpr Rate kNegativePredictiveValue{
    [](const ClassCounts& c) {
      return Proportion{c.tn(), c.tn() + c.fn()};
    },
    same};
constexpr Rate kHamming{[](const ClassCounts& c) {
                          return Proportion{c.fp() + c.fn(), c.total};
                        },
                        same};
constexpr Rate kMissed{kRecall.proportion, complement, true};
constexpr Rate kJaccard{[](const ClassCounts& c) {
                          return Proportion{c.tp, c.tp + c.fp() + c.fn()};
                        },
                        same};
constexpr Rate kF1{kJaccard.proportion, f1_of_jaccard};
constexpr Rate kMicroJaccard{kRecall.proportion, jaccard_of_accuracy};

Rate rate_of(const BinaryAccuracy&) { return kAccuracy; }
Rate rate_of(const BinaryPrecision&) { return kPrecision; }
Rate rate_of(const BinaryRecall&) { return kRecall; }
Rate rate_of(const BinarySpecificity&) { return kSpecificity; }
Rate rate_of(const BinaryNegativePredictiveValue&) {
  return kNegativePredictiveValue;
}
Rate rate_of(const BinaryHammingDistance&) { return kHamming; }
Rate rate_of(const BinaryJaccardIndex&) { return kJaccard; }
Rate rate_of(const BinaryF1Score&) { return kF1; }

Rate rate_of(const MultilabelAccuracy&) { return kAccuracy; }
Rate rate_of(const MultilabelPrecision&) { return kPrecision; }
Rate rate_of(const MultilabelRecall&) { return kRecall; }
Rate rate_of(const MultilabelSpecificity&) { return kSpecificity; }
Rate rate_of(const MultilabelNegativePredictiveValue&) {
  return kNegativePredictiveValue;
}
Rate rate_of(const MultilabelHammingDistance&) { return kHamming; }
Rate rate_of(const MultilabelJaccardIndex&) { return kJaccard; }
Rate rate_of(const MultilabelF1Score&) { return kF1; }

/// Of each class, and of all together: in the latter, every row is one target.
struct ClassRates {
  Rate each;
  std::optional<Rate> micro;
  bool micro_of_top_k = false;
};
ClassRates rates_of(const MulticlassAccuracy&) {
  return {kRecall, kRecall, true};
}
ClassRates rates_of(const MulticlassRecall&) {
  return {kRecall, kRecall, true};
}
ClassRates rates_of(const MulticlassHammingDistance&) {
  return {kMissed, kMissed, true};
}
ClassRates rates_of(const MulticlassPrecision&) {
  return {kPrecision, kRecall};
}
ClassRates rates_of(const MulticlassF1Score&) { return {kF1, kRecall}; }
ClassRates rates_of(const MulticlassJaccardIndex&) {
  return {kJaccard, kMicroJaccard};
}
ClassRates rates_of(const MulticlassSpecificity&) {
  return {kSpecificity, std::nullopt};
}
ClassRates rates_of(const MulticlassNegativePredictiveValue&) {
  return {kNegativePredictiveValue, std::nullopt};
}

/// The counts of each element of the result.
using Elements = std::vector<ClassCounts>;
using ElementsOf = std::function<Elements(const Metric&, const AnyState&)>;

class ProportionEngine final : public IntervalEngine {
 public:
  ProportionEngine(std::unique_ptr<Metric> metric,
                   const IntervalOptions& options, Rate rate,
                   std::int64_t target_dims, ElementsOf elements)
      : IntervalEngine(std::move(metric), options),
        rate_(rate),
        target_dims_(target_dims),
        elements_(std::move(elements)) {}

  IntervalMethod method() const override {
    return options_.method() == IntervalMethod::kAuto ? IntervalMethod::kWilson
                                                      : options_.method();
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, target_dims_);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state, std::int64_t n) const override {
    const FlatResult value = flat_result(*metric_, state);
    const Elements elements = elements_(*metric_, state);
    TORCH_CHECK(elements.size() == value.values.size(), "expected ",
                elements.size(), " values, got ", value.values.size());
    std::vector<Bounds> bounds;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      bounds.push_back(value.values[i] == value.values[i]
                           ? bounds_of(rate_.proportion(elements[i]))
                           : no_bounds());
    }
    return make_intervals(value, bounds, unfilled(n));
  }

 private:
  Bounds bounds_of(const Proportion& proportion) const {
    if (proportion.n == 0) return no_bounds();
    const auto [successes, n] = proportion;
    IntervalBounds ends =
        method() == IntervalMethod::kWilson
            ? wilson_interval(successes, n, options_.level())
            : clopper_pearson_interval(successes, n, options_.level());
    if (rate_.decreases) std::swap(ends.low, ends.high);
    const double p = successes / n;
    constexpr double kStep = 1e-6;
    const double slope =
        (rate_.value(p + kStep) - rate_.value(p - kStep)) / (2 * kStep);
    return {rate_.value(ends.low), rate_.value(ends.high),
            std::abs(slope) * std::sqrt(p * (1 - p) / n), 0};
  }

  Rate rate_;
  std::int64_t target_dims_;
  ElementsOf elements_;
};

// The counts of a state without weights, in rows of `classes`.
std::vector<double> counts_of(const at::Tensor& counts, std::size_t size) {
  std::vector<double> numbers(size, 0);
  if (!counts.defined()) return numbers;
  const at::Tensor values = counts.to(at::kCPU, at::kDouble).contiguous();
  const auto* const begin = values.const_data_ptr<double>();
  numbers.assign(begin, begin + values.numel());
  return numbers;
}

template <class M>
Elements binary_elements(const Metric&, const AnyState& state) {
  const auto& own = state.get<BinaryCounts::State>();
  const auto more =
      counts_of(own.device_counts, classification::kElementCounts);
  const auto count = [&](classification::ElementCount i) {
    return static_cast<double>(own.counts[i]) + more[i];
  };
  return {{count(classification::kTruePositives),
           count(classification::kPredicted), count(classification::kTarget),
           count(classification::kTotal), 0}};
}

template <class M>
Elements class_elements(const Metric& metric, const AnyState& state) {
  const auto& options = static_cast<const M&>(metric).options();
  const auto classes = static_cast<std::size_t>(options.num_classes());
  const auto counts =
      counts_of(state.get<MulticlassCounts::State>().counts, 3 * classes + 2);
  double total = 0;
  for (std::size_t c = 0; c < classes; ++c) total += counts[2 * classes + c];
  Elements elements;
  ClassCounts sum;
  for (std::size_t c = 0; c < classes; ++c) {
    elements.push_back(
        {counts[c], counts[classes + c], counts[2 * classes + c], total, 0});
    sum += elements.back();
  }
  if (options.average() == Average::kMicro) return {sum};
  return elements;
}

template <class M>
Elements label_elements(const Metric& metric, const AnyState& state) {
  const auto& options = static_cast<const M&>(metric).options();
  const auto labels = static_cast<std::size_t>(options.num_labels());
  const auto counts = counts_of(state.get<MultilabelCounts::State>().counts,
                                classification::kElementCounts * labels);
  Elements elements;
  for (std::size_t l = 0; l < labels; ++l) {
    elements.push_back({counts[l], counts[labels + l], counts[2 * labels + l],
                        counts[3 * labels + l], 0});
  }
  return elements;
}

Elements matches(const Metric&, const AnyState& state) {
  const auto& own = state.get<classification::Matches>();
  ClassCounts counts;
  counts.tp = own.matches.value();
  counts.target = own.total.value();
  return {counts};
}

/// What an engine needs to know of a metric.
struct Form {
  Rate rate{};
  std::int64_t target_dims = 1;
  ElementsOf elements;
};

std::optional<Form> form_of(const Metric& metric) {
  std::optional<Form> form;
  const auto take = [&](Rate rate, std::int64_t dims, ElementsOf elements) {
    form = Form{rate, dims, std::move(elements)};
  };
  visit_metric<BinaryAccuracy, BinaryPrecision, BinaryRecall, BinarySpecificity,
               BinaryNegativePredictiveValue, BinaryHammingDistance,
               BinaryJaccardIndex, BinaryF1Score>(metric, [&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    if (m.options().multidim_average() == MultidimAverage::kGlobal) {
      take(rate_of(m), 1, binary_elements<M>);
    }
  });
  visit_metric<MulticlassAccuracy, MulticlassPrecision, MulticlassRecall,
               MulticlassSpecificity, MulticlassNegativePredictiveValue,
               MulticlassHammingDistance, MulticlassJaccardIndex,
               MulticlassF1Score>(metric, [&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    if (m.options().multidim_average() != MultidimAverage::kGlobal) return;
    const ClassRates rates = rates_of(m);
    const bool counts_once = m.options().top_k() == 1 || rates.micro_of_top_k;
    if (m.options().average() == Average::kNone) {
      take(rates.each, 1, class_elements<M>);
    } else if (m.options().average() == Average::kMicro && rates.micro &&
               counts_once) {
      take(*rates.micro, 1, class_elements<M>);
    }
  });
  visit_metric<MultilabelAccuracy, MultilabelPrecision, MultilabelRecall,
               MultilabelSpecificity, MultilabelNegativePredictiveValue,
               MultilabelHammingDistance, MultilabelJaccardIndex,
               MultilabelF1Score>(metric, [&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    if (m.options().multidim_average() == MultidimAverage::kGlobal &&
        m.options().average() == MultilabelAverage::kNone) {
      take(rate_of(m), 2, label_elements<M>);
    }
  });
  visit_metric<MulticlassExactMatch, MultilabelExactMatch>(
      metric, [&](const auto& m) {
        // Several positions of a sample are one match, but for labels.
        constexpr bool kIsMulticlass =
            std::is_same_v<std::decay_t<decltype(m)>, MulticlassExactMatch>;
        constexpr std::int64_t kAnyDims = 64;
        if (m.options().multidim_average() == MultidimAverage::kGlobal) {
          take(kRecall, kIsMulticlass ? kAnyDims : 2, matches);
        }
      });
  return form;
}

}  // namespace

std::unique_ptr<IntervalEngine> proportion_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  auto form = form_of(*metric);
  if (!form) return nullptr;
  return std::make_unique<ProportionEngine>(std::move(metric), options,
                                            form->rate, form->target_dims,
                                            std::move(form->elements));
}

}  // namespace tally::internal::intervals
