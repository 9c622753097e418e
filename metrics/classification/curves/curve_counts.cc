#include "tally/metrics/classification/curves/curve_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>

#include <atomic>
#include <cmath>

#include "tally/metrics/classification/curves/curve_runs.h"
#include "tally/metrics/classification/curves/exact_samples.h"
#include "tally/metrics/classification/inputs/logit_tensors.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/progress.h"

namespace tally::internal::classification {
namespace {

at::Tensor joined(const at::Tensor& plain, const at::Tensor& weighted) {
  return at::cat({plain, weighted.to(plain.device())});
}

// The samples of an exact state, for any device.
struct DeviceScores {
  at::Tensor scores;  // [N, curves]
  at::Tensor codes;
  at::Tensor weights;  // the same, if there are any

  explicit DeviceScores(const ExactScores& exact)
      : scores(exact.needs_softmax()
                   ? log_softmaxes(exact.preds)
                   : exact.preds.reshape({-1, exact.shape.curves})),
        codes(exact.shape.task == CurveShape::Task::kMulticlass
                  ? exact.target.unsqueeze(1)
                        .eq(at::arange(exact.shape.curves,
                                       exact.target.options()))
                        .to(at::kByte)
                  : exact.target.reshape({-1, exact.shape.curves})) {
    if (exact.weights.defined()) {
      weights = exact.weights.unsqueeze(1).expand_as(codes);
    }
  }

  // Of what select() leaves of each.
  template <class Select>
  std::optional<ScoreCounts> counts(const Select& select) const {
    if (weights.defined()) {
      return WeightedScores::of(select(scores), select(codes), select(weights));
    }
    return DeviceRankedScores::of(select(scores), select(codes));
  }
};

// Float64 if there are weights.
at::Tensor checked_histogram(const CurveView& view) {
  const auto checked = [&](const at::Tensor& histogram, at::ScalarType dtype) {
    if (!histogram.defined()) return histogram;
    check_state(histogram.dim() == 3 &&
                histogram.size(0) == view.shape.curves &&
                histogram.size(1) == 2 && histogram.size(2) > 0 &&
                histogram.scalar_type() == dtype);
    return histogram.is_cpu() ? histogram : histogram.cpu();
  };
  const at::Tensor histogram = checked(view.state.counted(), at::kLong);
  const at::Tensor weighted =
      checked(view.state.weighted_counted(), at::kDouble);
  if (!weighted.defined()) return histogram;
  if (!histogram.defined()) return weighted;
  check_state(histogram.sizes() == weighted.sizes());
  return weighted.add(histogram);
}

std::optional<ScoreCounts> bucket_counts(const at::Tensor& histogram,
                                         std::int64_t curve) {
  if (histogram.scalar_type() == at::kDouble) {
    return WeightedScores::of(histogram, curve);
  }
  return BucketedScores::of(histogram, curve);
}

bool has_samples(const CurveState& state) {
  return state.unweighted.has_rows() || state.weighted.has_rows();
}

// The values of several curves, and the numbers of their positives; NaN in both
// where a score is.
class CurveValues {
 public:
  explicit CurveValues(std::int64_t curves)
      : values_(curves, kNaN), weights_(curves, kNaN) {}

  void set(std::int64_t c, double value, double weight) {
    values_[c] = value;
    weights_[c] = weight;
  }

  at::Tensor averaged(Average average) const {
    const std::size_t curves = values_.size();
    if (average == Average::kNone) return tensor_of(values_);
    double sum = 0;
    double total = 0;
    for (std::size_t c = 0; c < curves; ++c) {
      if (std::isnan(weights_[c])) return Number(kNaN);
      if (std::isnan(values_[c])) continue;
      const double weight = average == Average::kWeighted ? weights_[c] : 1;
      sum += weight * values_[c];
      total += weight;
    }
    return Number(sum / total);
  }

 private:
  std::vector<double> values_;
  std::vector<double> weights_;
};

// The progress of visits to several curves of so many rows that each takes a
// while.
class CurveSteps {
 public:
  explicit CurveSteps(const CurveView& view)
      : all_(view.shape.curves),
        is_long_(all_ > 1 && (reads_runs(view) ||
                              rows_of(view.state) > run_limits().most_rows)) {}

  // From any thread; reports on the one that has a ProgressGuard.
  void end_one() {
    const std::int64_t done = ++done_;
    if (is_long_) report_progress("curves", done, all_);
  }

 private:
  static std::int64_t rows_of(const CurveState& state) {
    return state.unweighted.preds.size() + state.weighted.preds.size();
  }

  std::int64_t all_;
  bool is_long_;
  std::atomic<std::int64_t> done_{0};
};

// The counts at each of the points' thresholds, of scores that are the numbers
// of buckets.
template <class Scores>
void count_at_thresholds(const Scores& scores, CurvePoints& points) {
  const std::size_t size = points.size();
  points.tp.resize(size);
  points.fp.resize(size);
  double* const tp_at = points.tp.data();
  double* const fp_at = points.fp.data();
  double tp = 0;
  double fp = 0;
  std::size_t next = 0;
  const auto fill_to = [&](std::size_t end) {
    for (; next < end; ++next) {
      tp_at[next] = tp;
      fp_at[next] = fp;
    }
  };
  scores.for_each([&](double score, auto more_tp, auto more_fp) {
    // Buckets between this one and the last have what came so far.
    fill_to(size - static_cast<std::size_t>(score));
    tp += static_cast<double>(more_tp);
    fp += static_cast<double>(more_fp);
  });
  fill_to(size);
}

std::optional<ScoreCounts> no_counts() { return RankedScores<std::uint32_t>(); }

}  // namespace

void ExactScores::set_rows(const at::Tensor& rows, const at::Tensor& targets) {
  preds = rows.contiguous();
  target = targets.contiguous();
  const bool binary = shape.task == CurveShape::Task::kBinary;
  check_state(
      preds.dim() == (binary ? 1 : 2) &&
      (binary || preds.size(1) == shape.curves) && preds.is_floating_point() &&
      (has_codes() ? preds.sizes() == target.sizes()
                   : target.dim() == 1 && target.size(0) == preds.size(0)) &&
      target.scalar_type() == (has_codes() ? at::kByte : at::kLong));
}

ExactScores::ExactScores(const CurveView& view)
    : shape(view.shape), input(view.input) {
  const auto read = [&](const CurveSamples& samples) {
    check_state(samples.preds.defined() && samples.target.defined());
    set_rows(samples.preds.tensor(), samples.target.tensor());
  };
  const CurveState& state = view.state;
  if (!state.weighted.has_rows()) {
    read(state.unweighted);
    return;
  }
  read(state.weighted);
  check_state(state.weights.defined());
  weights = state.weights.tensor().contiguous();
  check_state(weights.scalar_type() == at::kDouble && weights.dim() == 1 &&
              weights.size(0) == rows());
  if (!state.unweighted.has_rows()) return;
  const at::Tensor more_preds = preds;
  const at::Tensor more_target = target;
  read(state.unweighted);
  weights =
      joined(at::ones({rows()}, preds.options().dtype(at::kDouble)), weights);
  preds = joined(preds, more_preds);
  target = joined(target, more_target);
}

void visit_counts(const CurveView& view, const CountsVisit& visit_one) {
  const CurveState& state = view.state;
  const CurveShape& shape = view.shape;
  if (const at::Tensor histogram = checked_histogram(view);
      histogram.defined()) {
    for (std::int64_t c = 0; c < shape.curves; ++c) {
      visit_one(c, bucket_counts(histogram, c));
    }
    return;
  }
  CurveSteps steps(view);
  const CountsVisit visit = [&](std::int64_t c,
                                const std::optional<ScoreCounts>& counts) {
    visit_one(c, counts);
    steps.end_one();
  };
  if (reads_runs(view)) {
    const CurveRuns runs(view);
    at::parallel_for(0, shape.curves, 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t c = begin; c < end; ++c) {
                         visit(c, runs.counts(c));
                       }
                     });
    return;
  }
  if (!has_samples(state)) {
    for (std::int64_t c = 0; c < shape.curves; ++c) visit_one(c, no_counts());
    return;
  }
  const ExactScores exact(view);
  if (!exact.has_loops()) {
    const DeviceScores device(exact);
    for (std::int64_t c = 0; c < shape.curves; ++c) {
      visit(c, device.counts(
                   [&](const at::Tensor& all) { return all.select(1, c); }));
    }
    return;
  }
  with_samples(exact,
               [&](const auto& samples) { samples.visit_curves(visit); });
}

std::optional<ScoreCounts> pooled_counts(const CurveView& view) {
  const CurveState& state = view.state;
  const CurveShape& shape = view.shape;
  if (const at::Tensor histogram = checked_histogram(view);
      histogram.defined()) {
    return bucket_counts(
        shape.curves == 1 ? histogram : histogram.sum(0, /*keepdim=*/true), 0);
  }
  if (reads_runs(view)) return CurveRuns(view).pooled();
  if (!has_samples(state)) return no_counts();
  const ExactScores exact(view);
  if (!exact.has_loops()) {
    return DeviceScores(exact).counts(
        [](const at::Tensor& all) { return all.reshape(-1); });
  }
  return with_samples(exact,
                      [](const auto& samples) { return samples.pooled(); });
}

void PointReader::make_probabilities(std::vector<double>& scores) const {
  if (input_ != ScoreKind::kLogits) return;
  const auto size = static_cast<std::int64_t>(scores.size());
  if (task_ == CurveShape::Task::kMulticlass) {
    exps(scores.data(), size, scores.data());
  } else {
    sigmoids(scores.data(), size, scores.data());
  }
}

PointReader::PointReader(const CurveView& view)
    : task_(view.shape.task), input_(view.input) {
  const ThresholdGrid grid(view.thresholds);
  thresholds_.reserve(static_cast<std::size_t>(grid.size()));
  for (std::int64_t i = grid.size(); i-- > 0;) {
    thresholds_.push_back(grid.threshold(i));
  }
}

CurvePoints PointReader::operator()(
    const std::optional<ScoreCounts>& counts) const {
  CurvePoints points;
  points.thresholds = thresholds_;
  const bool has_thresholds = points.size() > 0;
  if (!counts) {
    if (!has_thresholds) points.thresholds.push_back(kNaN);
    points.tp.assign(points.size(), kNaN);
    points.fp.assign(points.size(), kNaN);
    points.positives = points.negatives = kNaN;
    return points;
  }
  std::visit(
      [&](const auto& scores) {
        points.positives = static_cast<double>(scores.positives());
        points.negatives = static_cast<double>(scores.negatives());
        if (has_thresholds) {
          count_at_thresholds(scores, points);
          return;
        }
        double tp = 0;
        double fp = 0;
        scores.for_each([&](double score, auto more_tp, auto more_fp) {
          points.thresholds.push_back(score);
          points.tp.push_back(tp += static_cast<double>(more_tp));
          points.fp.push_back(fp += static_cast<double>(more_fp));
        });
      },
      *counts);
  if (!has_thresholds) make_probabilities(points.thresholds);
  return points;
}

at::Tensor average_values(const CurveView& view, Average average,
                          const ValueOf& value) {
  const CurveShape& shape = view.shape;
  if (shape.task == CurveShape::Task::kBinary || average == Average::kMicro) {
    const auto counts = pooled_counts(view);
    return Number(counts ? value(*counts) : kNaN);
  }
  CurveValues values(shape.curves);
  visit_counts(view,
               [&](std::int64_t c, const std::optional<ScoreCounts>& counts) {
                 if (!counts) return;
                 const double positives = std::visit(
                     [](const auto& scores) {
                       return static_cast<double>(scores.positives());
                     },
                     *counts);
                 values.set(c, value(*counts), positives);
               });
  return values.averaged(average);
}

std::optional<at::Tensor> average_areas(const CurveView& view,
                                        Average average) {
  const CurveShape& shape = view.shape;
  if (shape.task != CurveShape::Task::kMulticlass ||
      average == Average::kMicro || reads_runs(view) ||
      !view.state.unweighted.preds.defined() ||
      !view.state.unweighted.target.defined() ||
      view.state.weighted.preds.defined()) {
    return std::nullopt;
  }
  const ExactScores exact(view);
  if (!exact.has_loops()) return std::nullopt;
  CurveValues values(shape.curves);
  CurveSteps steps(view);
  with_samples(exact, [&](const auto& samples) {
    samples.visit_pairs(
        [&](std::int64_t c, const std::optional<CurvePairs>& pairs) {
          if (pairs) {
            const double all = pairs->positives * pairs->negatives;
            values.set(c, all == 0 ? kNaN : pairs->in_order / all,
                       pairs->positives);
          }
          steps.end_one();
        });
  });
  return values.averaged(average);
}

}  // namespace tally::internal::classification
