#include <ATen/ops/arange.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/intervals/curve_samples.h"
#include "tally/metrics/intervals/interval_flags.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/resampling_engine.h"
#include "tally/metrics/progress.h"
#include "tally/metrics/sampling.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {
namespace {

std::vector<std::uint8_t> marks_of(CurveArea kind,
                                   const std::vector<CurveSample>& samples) {
  std::vector<std::uint8_t> marks;
  marks.reserve(samples.size());
  for (const CurveSample& sample : samples) {
    marks.push_back(sample.is_positive ? kIsPositive : 0);
  }
  for_each_score(samples, [&](std::size_t begin, std::size_t end) {
    const bool has_positives = samples[end - 1].is_positive;
    if (kind == CurveArea::kPrecisionRecall) {
      if (has_positives) marks[end - 1] |= kEndsStep;
      return;
    }
    const bool has_negatives = !samples[begin].is_positive;
    const bool is_tied = has_positives && has_negatives;
    const bool follows_positives = begin > 0 && samples[begin - 1].is_positive;
    if (begin > 0 && (is_tied || (has_negatives && follows_positives))) {
      marks[begin - 1] |= kEndsStep;
    }
    if (is_tied) marks[end - 1] |= kEndsStep | kIsTied;
  });
  if (!marks.empty()) marks.back() |= kEndsStep;
  return marks;
}

/// The ids of the rows of the scores that a metric keeps, in their order.
struct CurveIds {
  Rows unweighted;  // int64
  Rows weighted;
  void fields(Fields& f) { f("unweighted", unweighted)("weighted", weighted); }
};

class CurveEngine final : public ResamplingEngine {
 public:
  CurveEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
              ScoreSampling scores)
      : ResamplingEngine(std::move(metric), options),
        scores_(std::move(scores)) {}

  IntervalMethod method() const override {
    return has_replicates() ? ResamplingEngine::method()
                            : IntervalMethod::kObuchowski;
  }
  bool has_bca() const override {
    return has_replicates() && scores_.area == CurveArea::kRoc;
  }
  bool has_strata() const override { return has_replicates(); }
  AnyState identity() const override {
    AnyState state = identity_with(AnyState::of(CurveIds()));
    if (scores_.keep_rows) {
      scores_.keep_rows(state.get<StateParts>().parts()[0]);
    }
    return state;
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;
  std::vector<std::vector<double>> replicates(const AnyState& state,
                                              std::int64_t) const override {
    return {replicate_areas(scores_.area, weights_, samples_of(state),
                            options_.stratified())};
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override;
  std::optional<DrawnResult> draw(const AnyState& state,
                                  const RowCount& count) const override {
    if (!has_replicates()) return std::nullopt;
    return ResamplingEngine::draw(state, count);
  }

 protected:
  std::vector<double> accelerations(const AnyState& state,
                                    std::size_t) const override {
    return {roc_acceleration(samples_of(state))};
  }

 private:
  bool has_replicates() const {
    return options_.method() == IntervalMethod::kPoisson ||
           options_.method() == IntervalMethod::kDoubleOrNothing;
  }
  at::Tensor kept_positions(Inputs inputs) const;
  std::vector<CurveSample> samples_of(const AnyState& state) const;

  ScoreSampling scores_;
};

const at::Tensor& tensor_at(Inputs inputs, std::size_t i) {
  return *inputs[i].as<at::Tensor>();
}

// The positions that the state keeps of a batch that it has observed. They are
// their own weights here, which the state keeps as they are.
at::Tensor CurveEngine::kept_positions(Inputs inputs) const {
  const at::Tensor& target = tensor_at(inputs, 1);
  at::Tensor places =
      at::arange(1, target.numel() + 1, at::kDouble).reshape(target.sizes());
  if (inputs.size() > 2 && !inputs[2].is_none()) {
    const at::Tensor weight = tensor_at(inputs, 2).to(at::kCPU, at::kDouble);
    at::Tensor dropped = weight.eq(0);
    if (metric_->metric_options().nan_policy() == NanPolicy::kIgnore) {
      dropped = dropped.logical_or(weight.isnan());
    }
    places = places.masked_fill(dropped.reshape(target.sizes()), 0);
  }
  places = places.to(target.device());
  AnyState placed = metric_->make_state();
  metric_->observe_into(placed, {inputs[0], inputs[1], InputRef::of(places)},
                        BatchOrigin());
  return scores_.kept(placed)
      .back()
      .weights->tensor()
      .to(at::kCPU, at::kLong)
      .sub(1);
}

AnyState CurveEngine::observe(Inputs inputs,
                              const std::vector<std::int64_t>& ids) const {
  AnyState batch = identity();
  auto& parts = batch.get<StateParts>().parts();
  metric_->observe_into(parts[0], inputs, BatchOrigin());
  const auto scores = scores_.kept(parts[0]);
  const bool is_weighted = scores.back().scores.size() > 0;
  const std::int64_t kept =
      (is_weighted ? scores.back() : scores.front()).scores.size();
  if (kept == 0) return batch;
  const auto rows = static_cast<std::int64_t>(ids.size());
  at::Tensor own = tensor_of(ids);
  const std::int64_t positions = tensor_at(inputs, 1).numel();
  if (positions != rows) {
    own = own.unsqueeze(1).expand({rows, positions / rows}).reshape(-1);
  }
  if (kept != positions) own = own.index_select(0, kept_positions(inputs));
  auto& into = parts[1].get<CurveIds>();
  (is_weighted ? into.weighted : into.unweighted) = Rows(own);
  return batch;
}

std::vector<CurveSample> CurveEngine::samples_of(const AnyState& state) const {
  const auto kept = scores_.kept(whole(state));
  const auto& ids = resampled(state).get<CurveIds>();
  std::vector<CurveSample> samples;
  const auto add = [&](const ScoreSampling::Kept& some, const Rows& some_ids) {
    if (some.scores.size() == 0) return;
    const auto on_cpu = [](const Rows& rows, at::ScalarType dtype) {
      return rows.tensor().to(at::kCPU, dtype).reshape(-1).contiguous();
    };
    const at::Tensor scores = on_cpu(some.scores, at::kDouble);
    const at::Tensor codes = on_cpu(some.target, at::kByte);
    const at::Tensor own_ids = on_cpu(some_ids, at::kLong);
    const at::Tensor own_weights = some.weights == nullptr
                                       ? at::Tensor()
                                       : on_cpu(*some.weights, at::kDouble);
    TORCH_CHECK_VALUE(
        codes.numel() == scores.numel() && own_ids.numel() == scores.numel() &&
            (!own_weights.defined() || own_weights.numel() == scores.numel()),
        "expected an id, target and weight for each score in the state");
    const auto* const score = scores.const_data_ptr<double>();
    const auto* const code = codes.const_data_ptr<std::uint8_t>();
    const auto* const id = own_ids.const_data_ptr<std::int64_t>();
    const auto* const weight =
        own_weights.defined() ? own_weights.const_data_ptr<double>() : nullptr;
    for (std::int64_t i = 0; i < scores.numel(); ++i) {
      if (code[i] > 1) continue;
      samples.push_back(
          {score[i], weight == nullptr ? 1 : weight[i], id[i], code[i] == 1});
    }
  };
  samples.reserve(static_cast<std::size_t>(kept.front().scores.size() +
                                           kept.back().scores.size()));
  add(kept.front(), ids.unweighted);
  add(kept.back(), ids.weighted);
  return samples;
}

Intervals CurveEngine::intervals(const AnyState& state,
                                 const RowCount& count) const {
  if (has_replicates()) return ResamplingEngine::intervals(state, count);
  const FlatResult value = flat_result(*metric_, whole(state));
  const ClusteredArea area = clustered_area(samples_of(state));
  Interval unfilled = this->unfilled(count);
  unfilled.units = area.clusters;
  unfilled.counted = area.estimate.positives + area.estimate.negatives;
  Bounds bounds;
  const double degrees = area.estimate.degrees_of_freedom();
  bounds.flags.add(IntervalFlag::kFewUnits,
                   area.deciding < (count.are_groups ? kFewGroups : kFewRows));
  bounds.flags.add(IntervalFlag::kUnevenUnits,
                   degrees + 1 < kUneven * area.deciding);
  bounds.flags.add(IntervalFlag::kSmallClass,
                   std::min(area.estimate.positives, area.estimate.negatives) <
                       kSmallestClass);
  if (value.values[0] == value.values[0]) {
    const double error = area.estimate.standard_error;
    bounds.standard_error = error;
    bounds.degrees_of_freedom = degrees;
    bounds.flags.add(error == error ? IntervalFlag::kNoVariation
                                    : IntervalFlag::kUndefinedBlocks,
                     !(error > 0));
    // In perfect order, clusters say what so many rows would.
    if (degrees >= 1) {
      const IntervalBounds ends =
          delong_interval(area.estimate, options_.level());
      bounds.low = ends.low;
      bounds.high = ends.high;
    }
  }
  return make_intervals(value, {bounds}, unfilled);
}

}  // namespace

namespace {

// Running sums of each replicate over all samples, which are sorted.
class ReplicateSums {
 public:
  ReplicateSums(CurveArea kind, const ReplicateWeights& weights,
                const std::vector<CurveSample>& samples)
      : kind_(kind),
        weights_(weights),
        samples_(samples),
        marks_(marks_of(kind, samples)),
        is_weighted_(std::any_of(
            samples.begin(), samples.end(),
            [](const CurveSample& sample) { return sample.weight != 1; })),
        width_(static_cast<std::size_t>(weights.stride())),
        all_(5 * width_) {}

  /// `negative_factors`: see CurveSums.
  CurveSums add_all(const double* negative_factors) {
    std::fill(all_.begin(), all_.end(), 0);
    double* const all = all_.data();
    const CurveSums sums = {all,
                            all + width_,
                            all + 2 * width_,
                            all + 3 * width_,
                            all + 4 * width_,
                            negative_factors};
    std::vector<std::uint8_t> drawn(width_ * kMostSamples);
    std::int64_t ids[kMostSamples];
    double factors[kMostSamples];
    bool continues = false;
    for (std::size_t first = 0; first < samples_.size();
         first += kMostSamples) {
      const auto count = std::min<std::int64_t>(
          kMostSamples, static_cast<std::int64_t>(samples_.size() - first));
      for (std::int64_t i = 0; i < count; ++i) {
        const CurveSample& sample =
            samples_[first + static_cast<std::size_t>(i)];
        ids[i] = sample.id;
        factors[i] = sample.weight;
      }
      weights_.fill(ids, count, drawn.data());
      const std::uint8_t* const own = marks_.data() + first;
      add_samples(kind_, drawn.data(), own, is_weighted_ ? factors : nullptr,
                  count, weights_.stride(), continues, sums);
      continues = (own[count - 1] & kEndsStep) == 0;
      report_progress("rows", static_cast<std::int64_t>(first) + count,
                      static_cast<std::int64_t>(samples_.size()));
    }
    return sums;
  }
  /// What negatives count so that classes have the weights of all samples.
  std::vector<double> negative_factors() {
    double weights[2] = {0, 0};
    for (const CurveSample& sample : samples_) {
      weights[sample.is_positive] += sample.weight;
    }
    std::vector<double> factors(width_, 1);
    if (weights[0] == 0) return factors;
    const CurveSums sums = add_all(nullptr);
    for (std::size_t r = 0; r < width_; ++r) {
      factors[r] =
          weights[0] / sums.negatives[r] * sums.positives[r] / weights[1];
    }
    return factors;
  }

 private:
  CurveArea kind_;
  const ReplicateWeights& weights_;
  const std::vector<CurveSample>& samples_;
  std::vector<std::uint8_t> marks_;
  bool is_weighted_;
  std::size_t width_;
  std::vector<double> all_;
};

}  // namespace

std::vector<double> replicate_areas(CurveArea kind,
                                    const ReplicateWeights& weights,
                                    std::vector<CurveSample> samples,
                                    bool stratified) {
  const auto replicates = static_cast<std::size_t>(weights.replicates());
  if (samples.empty() || !are_numbers(samples)) {
    return std::vector<double>(samples.empty() ? 0 : replicates, kNaN);
  }
  sort_samples(kind, samples);
  ReplicateSums of_samples(kind, weights, samples);
  std::vector<double> factors;
  // An area under an ROC curve is one of given classes as it is.
  if (stratified && kind == CurveArea::kPrecisionRecall) {
    factors = of_samples.negative_factors();
  }
  const CurveSums sums =
      of_samples.add_all(factors.empty() ? nullptr : factors.data());
  std::vector<double> areas;
  for (std::size_t r = 0; r < replicates; ++r) {
    const double all_pairs = kind == CurveArea::kRoc
                                 ? sums.positives[r] * sums.negatives[r]
                                 : sums.positives[r];
    areas.push_back(all_pairs > 0 ? sums.area[r] / all_pairs : kNaN);
  }
  return areas;
}

std::unique_ptr<IntervalEngine> curve_engine(std::unique_ptr<Metric>& metric,
                                             const IntervalOptions& options) {
  auto scores = metric->sampling().scores;
  if (!scores) return nullptr;
  return std::make_unique<CurveEngine>(std::move(metric), options,
                                       *std::move(scores));
}

}  // namespace tally::internal::intervals
