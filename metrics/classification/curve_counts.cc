#include "tally/metrics/classification/curve_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <limits>

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

// The samples of an exact state: calls curve(count, score, code) for each
// curve, or once for all of them.
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
    const bool labels = shape.task != CurveShape::Task::kMulticlass;
    check_state(preds.dim() == (binary ? 1 : 2) &&
                (binary || preds.size(1) == shape.curves) &&
                preds.is_floating_point() &&
                (labels
                     ? preds.sizes() == target.sizes()
                     : target.dim() == 1 && target.size(0) == preds.size(0)) &&
                target.scalar_type() == (labels ? at::kByte : at::kLong));
  }

  std::int64_t rows() const { return preds.size(0); }
  bool needs_softmax() const {
    return shape.task == CurveShape::Task::kMulticlass &&
           input == ScoreKind::kLogits;
  }

  // `use(key, score, code)` with score(i, c) and code(i, c).
  template <class Use>
  auto on_cpu(const Use& use) const {
    return preds.scalar_type() == at::kFloat
               ? with_scores(std::uint32_t{}, preds.const_data_ptr<float>(),
                             use)
               : with_scores(std::uint64_t{}, preds.const_data_ptr<double>(),
                             use);
  }
  bool has_loops() const {
    return preds.is_cpu() && (preds.scalar_type() == at::kFloat ||
                              preds.scalar_type() == at::kDouble);
  }

 private:
  template <class Key, class Score, class Use>
  auto with_scores(Key key, const Score* scores, const Use& use) const {
    const std::int64_t columns = shape.curves;
    const auto score = [=](std::int64_t i, std::int64_t c) {
      return scores[i * columns + c];
    };
    if (shape.task != CurveShape::Task::kMulticlass) {
      const auto* const codes = target.const_data_ptr<std::uint8_t>();
      return use(key, score, [=](std::int64_t i, std::int64_t c) {
        return codes[i * columns + c];
      });
    }
    const auto* const classes = target.const_data_ptr<std::int64_t>();
    const auto code = [=](std::int64_t i, std::int64_t c) {
      return classes[i] == c;
    };
    if (!needs_softmax()) return use(key, score, code);
    const LogSoftmax<Score> log_softmax(scores, rows(), columns);
    return use(
        std::uint64_t{},
        [&](std::int64_t i, std::int64_t c) {
          return log_softmax(scores[i * columns + c], i);
        },
        code);
  }
};

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
  exact.on_cpu([&](auto key, const auto& score, const auto& code) {
    at::parallel_for(
        0, shape.curves, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t c = begin; c < end; ++c) {
            visit(c,
                  RankedScores<decltype(key)>::of(
                      exact.rows(), [&](std::int64_t i) { return score(i, c); },
                      [&](std::int64_t i) { return code(i, c); }));
          }
        });
  });
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
  return exact.on_cpu([&](auto key, const auto& score,
                          const auto& code) -> std::optional<ScoreCounts> {
    // Each sample is asked for once, in order.
    std::int64_t row = 0;
    std::int64_t column = 0;
    return RankedScores<decltype(key)>::of(
        exact.rows() * shape.curves,
        [&](std::int64_t) { return score(row, column); },
        [&](std::int64_t) {
          const int kind = code(row, column);
          if (++column == shape.curves) {
            column = 0;
            ++row;
          }
          return kind;
        });
  });
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
