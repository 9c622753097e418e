#include "tally/metrics/classification/exact_match.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <utility>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/constants.h"

namespace tally {
namespace internal::classification {
namespace {

at::Tensor no_bits(at::IntArrayRef sizes) {
  at::Tensor bits(at::detail::empty_cpu(sizes, at::kByte));
  std::fill_n(bits.mutable_data_ptr<std::uint8_t>(), bits.numel(),
              std::uint8_t{0});
  return bits;
}

at::Tensor bits_of(const at::Tensor& seen, const at::Tensor& wrong,
                   const at::Tensor& nan) {
  const auto bit = [](const at::Tensor& mask, MatchSampling::Bits value) {
    return mask.to(at::kByte).mul(static_cast<std::int64_t>(value));
  };
  return bit(seen, MatchSampling::kSeen)
      .add(bit(wrong, MatchSampling::kWrong))
      .add(bit(nan, MatchSampling::kNan));
}

// NaN weights are checked, and NaN leaves under kIgnore.
at::Tensor match_weight(const at::Tensor& weight, const at::Tensor& target,
                        at::IntArrayRef sizes, NanPolicy nan_policy) {
  const at::Tensor weights = checked_weight(weight, target, sizes);
  if (nan_policy == NanPolicy::kPropagate) return weights;
  const at::Tensor nan = weights.isnan();
  if (nan_policy == NanPolicy::kError) {
    if (const auto index = first_true(nan)) refuse_nan("weight", *index);
  }
  return weights.masked_fill(nan, 0);
}

at::Tensor value_of(const Matches& state, bool samplewise) {
  if (!samplewise) return state.matches / state.total;
  return state.samples.defined() ? state.samples.tensor().clone()
                                 : at::full({0}, kNaN, at::kDouble);
}

}  // namespace

Matches sum_matches(const at::Tensor& bits, const at::Tensor& weight,
                    bool samplewise) {
  const auto mask = [&](std::int64_t bit) {
    return bits.bitwise_and(bit).ne(0);
  };
  Matches state;
  if (!bits.is_cpu()) {
    const at::Tensor counted = mask(MatchSampling::kSeen).to(at::kDouble);
    const at::Tensor right = counted.masked_fill(mask(MatchSampling::kWrong), 0)
                                 .masked_fill(mask(MatchSampling::kNan), kNaN);
    if (samplewise) {
      state.samples = Rows(right.sum(1).div(counted.sum(1)));
      return state;
    }
    const auto sum = [&](const at::Tensor& values) {
      return Number(weight.defined() ? values.mul(weight).sum() : values.sum());
    };
    state.matches = sum(right);
    state.total = sum(counted);
    return state;
  }
  const std::int64_t samples = bits.size(0);
  const std::int64_t parts = bits.size(1);
  const auto* const data = bits.const_data_ptr<std::uint8_t>();
  const double* const weights =
      weight.defined() ? weight.const_data_ptr<double>() : nullptr;
  at::Tensor values;
  if (samplewise) values = at::full({samples}, kNaN, at::kDouble);
  double matches = 0;
  double total = 0;
  for (std::int64_t n = 0; n < samples; ++n) {
    if (samplewise) matches = total = 0;
    for (std::int64_t i = n * parts; i < (n + 1) * parts; ++i) {
      if (!(data[i] & MatchSampling::kSeen)) continue;
      const double own = weights ? weights[i] : 1;
      total += own;
      if (data[i] & MatchSampling::kNan) matches = kNaN;
      if (!(data[i] & MatchSampling::kWrong)) matches += own;
    }
    if (samplewise) values.mutable_data_ptr<double>()[n] = matches / total;
  }
  if (samplewise) {
    state.samples = Rows(values);
  } else {
    state.matches = matches;
    state.total = total;
  }
  return state;
}

at::Tensor match_bits(const MulticlassBatch& batch) {
  at::Tensor bits = no_bits({batch.samples(), 1});
  auto* const data = bits.mutable_data_ptr<std::uint8_t>();
  for_each_prediction(batch, [=](std::int64_t, std::int64_t sample,
                                 std::int64_t predicted, std::int64_t target) {
    data[sample] |=
        MatchSampling::kSeen | (predicted == kNanClass ? MatchSampling::kNan
                                : predicted != target  ? MatchSampling::kWrong
                                                       : 0);
  });
  return bits;
}

at::Tensor match_bits_by_tensors(const MulticlassBatch& batch) {
  const PredictionTensors labels = prediction_tensors(batch);
  const at::Tensor seen = labels.target.ne(batch.rules().num_classes);
  const at::Tensor nan = labels.predicted.eq(kNanClass);
  const at::Tensor wrong =
      labels.predicted.ne(labels.target).logical_and(nan.logical_not());
  const auto any = [](const at::Tensor& mask) {
    return mask.any(1, /*keepdim=*/true);
  };
  return bits_of(any(seen), any(wrong), any(nan));
}

namespace {

std::uint8_t element_bits(int predicted, int target) {
  const bool is_nan = predicted == kNanElement;
  return static_cast<std::uint8_t>(
      MatchSampling::kSeen | (is_nan ? MatchSampling::kNan : 0) |
      (!is_nan && predicted != target ? MatchSampling::kWrong : 0));
}

// Of samples of one position, whose elements lie one after another.
void write_sample_bits(const BinaryBatch& batch, std::uint8_t* bits) {
  const std::int64_t labels = batch.labels();
  std::int64_t next_sample = labels;
  // Not kept in memory, where each element would wait for the one before.
  std::uint8_t own = 0;
  for_each_element(batch, [&](std::int64_t index, int predicted, int target) {
    for (; index >= next_sample; next_sample += labels) {
      *bits++ = std::exchange(own, std::uint8_t{0});
    }
    own |= element_bits(predicted, target);
  });
  if (own != 0) *bits = own;
}

}  // namespace

at::Tensor match_bits(const BinaryBatch& batch) {
  const std::int64_t positions = batch.positions();
  const std::int64_t row = batch.labels() * positions;
  at::Tensor bits = no_bits({batch.samples(), positions});
  auto* const data = bits.mutable_data_ptr<std::uint8_t>();
  if (positions == 1) {
    write_sample_bits(batch, data);
    return bits;
  }
  // Of the element's sample the first place, and where the next sample and this
  // label's positions begin: a division for each element would take most of the
  // time.
  std::int64_t sample = 0, next_sample = row, label = 0;
  for_each_element(batch, [&](std::int64_t index, int predicted, int target) {
    for (; index >= next_sample; next_sample += row) sample += positions;
    while (index >= label + positions) label += positions;
    data[sample + index - label] |= element_bits(predicted, target);
  });
  return bits;
}

at::Tensor match_bits_by_tensors(const BinaryBatch& batch) {
  const ElementTensors elements = element_tensors(batch);
  const auto any = [&](const at::Tensor& mask) {
    return mask.reshape({batch.samples(), batch.labels(), batch.positions()})
        .any(1);
  };
  const at::Tensor wrong = elements.predicted.ne(elements.target)
                               .logical_and(elements.kept)
                               .logical_and(elements.nan.logical_not());
  return bits_of(any(elements.kept), any(wrong), any(elements.nan));
}

namespace {

template <class Batch>
at::Tensor bits_of_batch(const Batch& batch) {
  return batch.target().is_cpu() ? match_bits(batch)
                                 : match_bits_by_tensors(batch);
}

RateSampling rate_of_matches(std::int64_t target_dims) {
  RateSampling rate;
  rate.proportions = [](const AnyState& state) {
    const auto& own = state.get<Matches>();
    return std::vector<Proportion>{{own.matches.value(), own.total.value()}};
  };
  rate.target_dims = target_dims;
  return rate;
}

// Several positions of a sample are one match.
constexpr std::int64_t kAnyDims = 64;

}  // namespace

MatchSampling binary_matches(const BinaryRules& rules) {
  return {[rules](const at::Tensor& preds, const at::Tensor& target) {
    return bits_of_batch(BinaryBatch(rules, preds, target));
  }};
}

MatchSampling class_matches(const MulticlassRules& rules,
                            std::int64_t target_dims) {
  return {[rules](const at::Tensor& preds, const at::Tensor& target) {
            return bits_of_batch(MulticlassBatch(rules, preds, target));
          },
          target_dims};
}

}  // namespace internal::classification

namespace classification = internal::classification;

MulticlassMatches::MulticlassMatches(const Options& options,
                                     const MetricOptions& metric_options)
    : rules_{options.num_classes(), options.top_k(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()},
      samplewise_(options.multidim_average() == MultidimAverage::kSamplewise) {}

MulticlassMatches::State MulticlassMatches::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MulticlassBatch batch(rules_, preds, target);
  if (samplewise_ && weight.defined()) {
    classification::refuse_weight("multidim_average samplewise");
  }
  at::Tensor weights;
  if (weight.defined()) {
    weights = classification::match_weight(weight, batch.target(),
                                           {batch.samples()}, rules_.nan_policy)
                  .unsqueeze(1);
  }
  return classification::sum_matches(classification::bits_of_batch(batch),
                                     weights, samplewise_);
}

MultilabelMatches::MultilabelMatches(const Options& options,
                                     const MetricOptions& metric_options)
    : num_labels_(options.num_labels()),
      rules_{options.threshold(),
             options.input(),
             options.ignore_index(),
             metric_options.nan_policy(),
             metric_options.validate_args(),
             /*takes_scores=*/true},
      samplewise_(options.multidim_average() == MultidimAverage::kSamplewise) {}

MultilabelMatches::State MultilabelMatches::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MultilabelBatch batch(rules_, num_labels_, preds,
                                              target, weight);
  if (samplewise_ && weight.defined()) {
    classification::refuse_weight("multidim_average samplewise");
  }
  at::Tensor weights;
  if (weight.defined()) {
    weights =
        classification::match_weight(batch.weight(), batch.target(),
                                     batch.weight().sizes(), rules_.nan_policy);
  }
  return classification::sum_matches(classification::bits_of_batch(batch),
                                     weights, samplewise_);
}

at::Tensor MulticlassExactMatch::evaluate(const State& state) const {
  return classification::value_of(
      state, options().multidim_average() == MultidimAverage::kSamplewise);
}

at::Tensor MultilabelExactMatch::evaluate(const State& state) const {
  return classification::value_of(
      state, options().multidim_average() == MultidimAverage::kSamplewise);
}

MetricSampling MulticlassExactMatch::sampling() const {
  if (options().multidim_average() != MultidimAverage::kGlobal) return {};
  MetricSampling sampling = MetricOf::sampling();
  sampling.rate = classification::rate_of_matches(classification::kAnyDims);
  sampling.matches = classification::class_matches(
      {options().num_classes(), options().top_k(), options().ignore_index(),
       metric_options().nan_policy(), metric_options().validate_args()},
      classification::kAnyDims);
  return sampling;
}

MetricSampling MultilabelExactMatch::sampling() const {
  if (options().multidim_average() != MultidimAverage::kGlobal) return {};
  MetricSampling sampling = MetricOf::sampling();
  sampling.rate = classification::rate_of_matches(/*target_dims=*/2);
  const classification::BinaryRules rules{options().threshold(),
                                          options().input(),
                                          options().ignore_index(),
                                          metric_options().nan_policy(),
                                          metric_options().validate_args(),
                                          /*takes_scores=*/true};
  sampling.matches = MatchSampling{
      [rules, labels = options().num_labels()](const at::Tensor& preds,
                                               const at::Tensor& target) {
        return classification::bits_of_batch(
            classification::MultilabelBatch(rules, labels, preds, target));
      },
      /*target_dims=*/2};
  return sampling;
}

template class MetricOf<MulticlassExactMatch, MulticlassMatches, at::Tensor>;
template class MetricOf<MultilabelExactMatch, MultilabelMatches, at::Tensor>;

}  // namespace tally
