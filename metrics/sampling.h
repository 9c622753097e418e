#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/curve_area.h"
#include "tally/metrics/inputs.h"
#include "tally/state/fields.h"
#include "tally/state/state.h"

/// What a metric says about the rows behind its value: which statistics apply
/// to it, besides drawing rows again. IntervalMetric and ModelComparison read
/// it; they know no metric by name.
namespace tally {

class Metric;

/// `successes` of `n` rows.
struct Proportion {
  double successes = 0;
  double n = 0;
};

/// Each element of the result is a function of a proportion of rows: Wilson's
/// and Clopper-Pearson's intervals.
struct RateSampling {
  /// Of each element of the result of a state without weights.
  std::function<std::vector<Proportion>(const AnyState&)> proportions;
  /// Monotone; null: the proportion itself.
  double (*value)(double proportion) = nullptr;
  /// A target of more dimensions has several trials a row, which depend on each
  /// other, and is refused.
  std::int64_t target_dims = 1;
};

/// Counts of rows by what a row adds to a state of sums.
struct CellTable {
  struct Cell {
    std::int64_t id = 0;
    std::int64_t count = 0;
    /// What one row adds: the place in the sums, and how much.
    std::vector<std::pair<std::size_t, double>> adds;
    std::int64_t target = 0;  ///< the class of its rows
  };
  std::vector<Cell> cells;  ///< those with rows
  std::size_t sums = 0;     ///< their number
  /// The metric's state of these sums.
  std::function<AnyState(const std::vector<double>&)> state;
  /// Rows that determine the value if all of them are right.
  double deciding = 0;
};

/// The value is a smooth function of the counts of a table: intervals by the
/// delta method on the logit scale, and by Poisson counts of its cells.
struct CellSampling {
  /// Of a state without weights.
  std::function<CellTable(const AnyState&)> table;
  /// What values lie between.
  double low = 0;
  double high = 1;
  /// The value is the mean of these over the classes that have any rows: the
  /// method of variance estimates recovery (MOVER).
  std::optional<RateSampling> averaged = std::nullopt;
  std::int64_t target_dims = 1;
  /// A metric whose state has the table, and from which this metric derives its
  /// own; null: this one.
  std::shared_ptr<const Metric> source = nullptr;
};

/// The samples with the same score: sums of their weights, and of the squares.
struct ScoreGroup {
  double positives = 0;
  double negatives = 0;
  double squared_positives = 0;
  double squared_negatives = 0;
};

/// The samples behind an area: how often a positive has the higher score.
struct ScoredSamples {
  std::vector<ScoreGroup> groups;  ///< by score, ascending
  double positives = 0;            ///< samples, whatever their weights
  double negatives = 0;
  bool is_weighted = false;
};

/// Of real scores without NaN [N], targets 0 and 1 [N], and weights [N]
/// (default: 1), of which those with 0 are skipped. REQUIRES: float64 on the
/// CPU.
ScoredSamples scored_samples(const at::Tensor& scores, const at::Tensor& target,
                             const at::Tensor& weight = {});

/// Each element of the result is the area under an ROC curve, the probability
/// that a positive has a higher score than a negative: DeLong's and Newcombe's
/// intervals.
struct PairSampling {
  using Use = std::function<void(std::int64_t element, ScoredSamples samples)>;
  /// Calls `use` for each element that is defined, from any thread.
  std::function<void(const AnyState&, const Use& use)> visit;
  std::int64_t target_dims = 1;
  /// Whether DeLong's interval takes rows with weights, where this is so.
  bool takes_weights = false;
};

/// The state keeps the scores and targets of rows, and the value is an area
/// under their curve: fast replicates, and DeLong's comparison.
struct ScoreSampling {
  struct Kept {
    const Rows& scores;
    const Rows& target;             ///< 0 and 1; others do not count
    const Rows* weights = nullptr;  ///< null: all 1
  };
  CurveArea area = CurveArea::kRoc;
  /// The samples without weights, then those with.
  std::function<std::vector<Kept>(const AnyState&)> kept;
  /// Of the metric's identity: makes states keep rows, however many. Null: they
  /// do.
  void (*keep_rows)(AnyState& identity) = nullptr;
};

/// Each element of the result is a quantile of rows' values: exact intervals
/// between two of them (David and Nagaraja 2003, section 7.1).
struct OrderSampling {
  double probability = 0.5;
  /// Of each element of the result of a state without weights.
  std::function<std::vector<std::vector<double>>(const AnyState&)> values;
};

/// The value is the root of a mean of squared gaps between what bins of rows
/// predict and what is observed: the interval of Sun, Chaudhari, Barnett and
/// Dobriban 2024.
struct GapSampling {
  struct Batch {
    AnyState state;  ///< the metric's
    /// By bin, float64 [4, bins]: of the weights w, of w^2, of w u and of
    /// (w u)^2, where u is target minus confidence.
    at::Tensor sums;
  };
  /// REQUIRES: tensors, or none.
  std::function<Batch(Inputs)> observe;
};

/// The value is the fraction of rows that are correct: McNemar's test.
struct MatchSampling {
  /// What is known of a row.
  enum Bits : std::uint8_t {
    kSeen = 1,   ///< it counts
    kWrong = 2,  ///< it is not correct
    kNan = 4,    ///< it has a NaN
  };

  /// The bits of each row of inputs that the metric takes: uint8 [N, ...].
  std::function<at::Tensor(const at::Tensor& preds, const at::Tensor& target)>
      matches;
  std::int64_t target_dims = 1;
};

namespace internal {

/// For MetricSampling::row_sums: an input [N] as float64; undefined if it has
/// another form, is elsewhere, or has a NaN.
at::Tensor float64_column(Inputs inputs, std::size_t place);
/// The terms [N] times the weights at `place`, and the weights: [N, 2].
at::Tensor weighted_terms(const at::Tensor& terms, Inputs inputs,
                          std::size_t place);

}  // namespace internal

/// What a value can be; unbounded unless said otherwise.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  /// The range of "[0, 1]", "[0, inf)", "(-inf, 1]"; unbounded for other texts.
  /// Text after the closing bracket is ignored.
  static ValueRange parse(std::string_view text);
};

/// What a metric says about the rows behind its value; all of it is optional.
struct MetricSampling {
  std::optional<RateSampling> rate = std::nullopt;
  std::optional<CellSampling> cells = std::nullopt;
  std::optional<PairSampling> pairs = std::nullopt;
  std::optional<ScoreSampling> scores = std::nullopt;
  std::optional<MatchSampling> matches = std::nullopt;
  std::optional<OrderSampling> order = std::nullopt;
  /// Has an interval even if others are refused.
  std::optional<GapSampling> gaps = std::nullopt;
  /// What each row of a batch adds to the numbers of the state, in the order of
  /// its fields: float64 [N, numbers]. Only for speed; undefined where rows
  /// have to be observed one by one. REQUIRES: inputs that the metric takes.
  std::function<at::Tensor(Inputs)> row_sums = nullptr;
  /// How many rows decide the value: the positives of a recall, the smallest
  /// class of a macro average. Null: see deciding_rows().
  std::function<double(const AnyState&)> deciding = nullptr;
  /// What values lie between, so that the ends of intervals do: that of the
  /// metric's kSummary.
  ValueRange range = {};
  /// What is drawn as a whole: "row", "image", "text", "clip", "query".
  const char* unit = "row";
  /// The input, an integer for each row, that says to which unit it belongs:
  /// the queries of a retrieval metric. None: a row is one.
  std::optional<std::size_t> unit_input = std::nullopt;
  /// Whether the value is the best of several on the same rows, such as that of
  /// a threshold which is chosen on them: better than on new rows.
  bool is_selected = false;
  /// Why there is no interval, and what to use instead; null: there may be one.
  const char* refusal = nullptr;
  /// Whether a class of an average has no rows that decide its value, which is
  /// unknown. Null: no class can be missing.
  std::function<bool(const AnyState&)> has_missing_class = nullptr;
};

/// How many rows of a state decide the metric's value: what it says, or the
/// smaller class of pairs, or the positives under a curve; NaN where nothing is
/// known, and every row counts.
double deciding_rows(const MetricSampling& sampling, const AnyState& state);

}  // namespace tally
