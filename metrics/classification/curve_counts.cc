#include "tally/metrics/classification/curve_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tally/metrics/classification/scratch.h"

namespace tally::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// For each row its largest logit and the logarithm of the softmax's
// denominator, relative to it: from these the logarithm of any class's
// probability, which does not saturate as the probability does.
template <class Score>
struct LogSoftmax {
  LogSoftmax(const Score* scores, std::int64_t count, std::int64_t classes)
      : max(count), log_sum(count) {
    at::parallel_for(
        0, count, 1 + 32768 / classes,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const Score* const row = scores + i * classes;
            const Score* const best = std::max_element(row, row + classes);
            max[i] = *best;
            double others = 0;
            for (const Score* score = row; score != row + classes; ++score) {
              if (score != best) others += std::exp(*score - max[i]);
            }
            log_sum[i] = std::isfinite(max[i]) ? std::log1p(others) : kNaN;
          }
        });
  }
  double operator()(Score score, std::int64_t i) const {
    return (score - max[i]) - log_sum[i];
  }

  std::vector<double> max;
  std::vector<double> log_sum;
};

// The samples of an exact state.
struct ExactScores {
  at::Tensor preds;
  at::Tensor target;
  CurveShape shape;
  ScoreKind input;

  explicit ExactScores(const CurveView& view)
      : preds(view.state.preds.tensor().contiguous()),
        target(view.state.target.tensor().contiguous()),
        shape(view.shape),
        input(view.input) {
    const bool binary = shape.task == CurveShape::Task::kBinary;
    check_state(preds.dim() == (binary ? 1 : 2) &&
                (binary || preds.size(1) == shape.curves) &&
                preds.is_floating_point() &&
                (has_codes()
                     ? preds.sizes() == target.sizes()
                     : target.dim() == 1 && target.size(0) == preds.size(0)) &&
                target.scalar_type() == (has_codes() ? at::kByte : at::kLong));
  }

  std::int64_t rows() const { return preds.size(0); }
  // Whether targets are codes, and not classes.
  bool has_codes() const { return shape.task != CurveShape::Task::kMulticlass; }
  bool needs_softmax() const {
    return !has_codes() && input == ScoreKind::kLogits;
  }
  bool has_loops() const {
    return preds.is_cpu() && (preds.scalar_type() == at::kFloat ||
                              preds.scalar_type() == at::kDouble);
  }
};

// The same on the CPU. Logarithms of probabilities are sorted with kSoftmax,
// else the scores.
template <class Given, bool kSoftmax>
class Samples {
 public:
  using Score = std::conditional_t<kSoftmax, double, Given>;
  using Ranked = RankedScores<
      std::conditional_t<sizeof(Score) == 4, std::uint32_t, std::uint64_t>>;

  explicit Samples(const ExactScores& exact)
      : exact_(exact),
        rows_(exact.rows()),
        columns_(exact.shape.curves),
        scores_(exact.preds.const_data_ptr<Given>()) {
    if constexpr (kSoftmax) {
      log_softmax_.emplace(scores_, rows_, columns_);
    }
  }

  void visit_curves(const CountsVisit& visit) const {
    if (exact_.has_codes() && columns_ == 1) return visit(0, flat(codes()));
    at::parallel_for(0, columns_, 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch<Score> scores(rows_);
      Scratch<std::uint8_t> codes(rows_);
      for (std::int64_t c = begin; c < end; ++c) {
        copy_column(c, scores.data(), codes.data());
        visit(c, Ranked::of(scores.data(), codes.data(), rows_));
      }
    });
  }

  std::optional<ScoreCounts> pooled() const {
    if (exact_.has_codes()) return flat(codes());
    Scratch<std::uint8_t> codes(rows_ * columns_);
    const auto* const classes = exact_.target.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t c = 0; c < columns_; ++c) {
        codes[i * columns_ + c] = classes[i] == c;
      }
    }
    return flat(codes.data());
  }

 private:
  const std::uint8_t* codes() const {
    return exact_.target.const_data_ptr<std::uint8_t>();
  }
  Score score(std::int64_t i, std::int64_t c) const {
    const Given given = scores_[i * columns_ + c];
    if constexpr (kSoftmax) {
      return (*log_softmax_)(given, i);
    } else {
      return given;
    }
  }

  void copy_column(std::int64_t c, Score* scores, std::uint8_t* codes) const {
    for (std::int64_t i = 0; i < rows_; ++i) scores[i] = score(i, c);
    if (exact_.has_codes()) {
      const std::uint8_t* const all = this->codes();
      for (std::int64_t i = 0; i < rows_; ++i) codes[i] = all[i * columns_ + c];
    } else {
      const auto* const classes = exact_.target.const_data_ptr<std::int64_t>();
      for (std::int64_t i = 0; i < rows_; ++i) codes[i] = classes[i] == c;
    }
  }

  // All samples, of all curves.
  std::optional<ScoreCounts> flat(const std::uint8_t* codes) const {
    if constexpr (kSoftmax) {
      Scratch<Score> scores(rows_ * columns_);
      for (std::int64_t i = 0; i < rows_; ++i) {
        for (std::int64_t c = 0; c < columns_; ++c) {
          scores[i * columns_ + c] = score(i, c);
        }
      }
      return Ranked::of(scores.data(), codes, rows_ * columns_);
    } else {
      return Ranked::of(scores_, codes, rows_ * columns_);
    }
  }

  const ExactScores& exact_;
  std::int64_t rows_;
  std::int64_t columns_;
  const Given* scores_;
  std::optional<LogSoftmax<Given>> log_softmax_;
};

// use(samples), of the dtypes that the state has.
template <class Use>
auto with_samples(const ExactScores& exact, const Use& use) {
  const bool wide = exact.preds.scalar_type() == at::kDouble;
  if (exact.needs_softmax()) {
    return wide ? use(Samples<double, true>(exact))
                : use(Samples<float, true>(exact));
  }
  return wide ? use(Samples<double, false>(exact))
              : use(Samples<float, false>(exact));
}

// The same for any device.
struct DeviceScores {
  at::Tensor scores;  // [N, curves]
  at::Tensor codes;

  explicit DeviceScores(const ExactScores& exact)
      : scores(exact.needs_softmax()
                   ? exact.preds.log_softmax(1, at::kDouble)
                   : exact.preds.reshape({-1, exact.shape.curves})),
        codes(exact.shape.task == CurveShape::Task::kMulticlass
                  ? exact.target.unsqueeze(1)
                        .eq(at::arange(exact.shape.curves,
                                       exact.target.options()))
                        .to(at::kByte)
                  : exact.target.reshape({-1, exact.shape.curves})) {}
};

at::Tensor checked_histogram(const CurveView& view) {
  at::Tensor histogram = view.state.counted();
  if (!histogram.defined()) return histogram;
  check_state(histogram.dim() == 3 && histogram.size(0) == view.shape.curves &&
              histogram.size(1) == 2 && histogram.size(2) > 0 &&
              histogram.scalar_type() == at::kLong);
  return histogram.is_cpu() ? histogram : histogram.cpu();
}

std::optional<ScoreCounts> no_counts() { return RankedScores<std::uint32_t>(); }

}  // namespace

void visit_counts(const CurveView& view, const CountsVisit& visit) {
  const CurveState& state = view.state;
  const CurveShape& shape = view.shape;
  if (const at::Tensor histogram = checked_histogram(view);
      histogram.defined()) {
    for (std::int64_t c = 0; c < shape.curves; ++c) {
      visit(c, BucketedScores::of(histogram, c));
    }
    return;
  }
  check_state(state.preds.defined() == state.target.defined());
  if (!state.preds.defined()) {
    for (std::int64_t c = 0; c < shape.curves; ++c) visit(c, no_counts());
    return;
  }
  const ExactScores exact(view);
  if (!exact.has_loops()) {
    const DeviceScores device(exact);
    for (std::int64_t c = 0; c < shape.curves; ++c) {
      visit(c, DeviceRankedScores::of(device.scores.select(1, c),
                                      device.codes.select(1, c)));
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
    return BucketedScores::of(
        shape.curves == 1 ? histogram : histogram.sum(0, /*keepdim=*/true), 0);
  }
  check_state(state.preds.defined() == state.target.defined());
  if (!state.preds.defined()) return no_counts();
  const ExactScores exact(view);
  if (!exact.has_loops()) {
    const DeviceScores device(exact);
    return DeviceRankedScores::of(device.scores.reshape(-1),
                                  device.codes.reshape(-1));
  }
  return with_samples(exact,
                      [](const auto& samples) { return samples.pooled(); });
}

double PointReader::probability(double score) const {
  if (input_ == ScoreKind::kProbabilities) return score;
  return task_ == CurveShape::Task::kMulticlass ? std::exp(score)
                                                : 1 / (1 + std::exp(-score));
}

CurvePoints PointReader::operator()(
    const std::optional<ScoreCounts>& counts) const {
  CurvePoints points;
  for (std::int64_t i = grid_.size(); i-- > 0;) {
    points.thresholds.push_back(grid_.threshold(i));
  }
  const std::size_t given = points.size();
  if (!counts) {
    if (given == 0) points.thresholds.push_back(kNaN);
    points.tp.assign(points.size(), kNaN);
    points.fp.assign(points.size(), kNaN);
    points.positives = points.negatives = kNaN;
    return points;
  }
  std::visit(
      [&](const auto& scores) {
        points.positives = static_cast<double>(scores.positives());
        points.negatives = static_cast<double>(scores.negatives());
        double tp = 0;
        double fp = 0;
        scores.for_each(
            [&](double score, std::int64_t more_tp, std::int64_t more_fp) {
              if (given > 0) {
                // Buckets between this one and the last have what came so far.
                const auto below = given - static_cast<std::size_t>(score);
                points.tp.resize(below, tp);
                points.fp.resize(below, fp);
              } else {
                points.thresholds.push_back(probability(score));
              }
              points.tp.push_back(tp += static_cast<double>(more_tp));
              points.fp.push_back(fp += static_cast<double>(more_fp));
            });
        points.tp.resize(points.size(), tp);
        points.fp.resize(points.size(), fp);
      },
      *counts);
  return points;
}

at::Tensor average_values(const CurveView& view, Average average,
                          const ValueOf& value) {
  const CurveShape& shape = view.shape;
  if (shape.task == CurveShape::Task::kBinary || average == Average::kMicro) {
    const auto counts = pooled_counts(view);
    return Number(counts ? value(*counts) : kNaN);
  }
  std::vector<double> values(shape.curves, kNaN);
  std::vector<double> weights(shape.curves, kNaN);
  visit_counts(
      view, [&](std::int64_t c, const std::optional<ScoreCounts>& counts) {
        if (!counts) return;
        values[c] = value(*counts);
        weights[c] = static_cast<double>(std::visit(
            [](const auto& scores) { return scores.positives(); }, *counts));
      });
  if (average == Average::kNone) {
    const at::Tensor result = at::empty({shape.curves}, at::kDouble);
    std::copy(values.begin(), values.end(), result.mutable_data_ptr<double>());
    return result;
  }
  double sum = 0;
  double total = 0;
  for (std::int64_t c = 0; c < shape.curves; ++c) {
    if (std::isnan(weights[c])) return Number(kNaN);
    if (std::isnan(values[c])) continue;
    const double weight = average == Average::kWeighted ? weights[c] : 1;
    sum += weight * values[c];
    total += weight;
  }
  return Number(sum / total);
}

}  // namespace tally::internal
