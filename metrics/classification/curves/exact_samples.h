#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "tally/metrics/classification/curves/exact_scores.h"
#include "tally/metrics/classification/curves/score_counts.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
#include "tally/metrics/common/key_sort.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/common/scratch.h"

/// Reads exact curves from the samples of a CurveState.
namespace tally::internal::classification {

/// The components of the area under a class's ROC curve.
struct CurvePairs {
  double in_order = 0;  // see RankedScores
  double positives = 0;
  double negatives = 0;
};

/// The same on the CPU. Sorts logarithms of probabilities with kSoftmax,
/// otherwise the scores.
template <class Given, bool kSoftmax>
class ExactSamples {
 public:
  using Score = std::conditional_t<kSoftmax, double, Given>;
  using Ranked = RankedScores<
      std::conditional_t<sizeof(Score) == 4, std::uint32_t, std::uint64_t>>;

  explicit ExactSamples(const ExactScores& exact)
      : exact_(exact),
        rows_(exact.rows()),
        columns_(exact.shape.curves),
        scores_(exact.preds.const_data_ptr<Given>()),
        weights_(exact.weights.defined()
                     ? exact.weights.const_data_ptr<double>()
                     : nullptr) {
    if constexpr (kSoftmax) {
      terms_.resize(rows_);
      at::parallel_for(0, rows_, 1 + 32768 / columns_,
                       [&](std::int64_t begin, std::int64_t end) {
                         log_softmax_terms(scores_ + begin * columns_,
                                           end - begin, columns_,
                                           terms_.data() + begin);
                       });
    }
  }

  void visit_curves(const CountsVisit& visit) const {
    if (exact_.has_codes() && columns_ == 1) return visit(0, flat(codes()));
    for_each_curve(
        [&](std::int64_t c, const Score* scores, const std::uint8_t* codes,
            const PositiveRows&) { visit(c, counts_of(scores, codes, 1)); });
  }

  /// visit(c, ranked) for every curve in turn, of samples without weights.
  template <class Visit>
  void visit_ranked(const Visit& visit) const {
    if (exact_.has_codes() && columns_ == 1) {
      return visit(0, Ranked::of(scores_, codes(), rows_));
    }
    use_some(0, columns_, PositiveRows(*this),
             [&](std::int64_t c, const Score* scores, const std::uint8_t* codes,
                 const PositiveRows&) {
               visit(c, Ranked::of(scores, codes, rows_));
             });
  }

  /// visit(c, pairs) for every class, from several threads; see RankTable.
  template <class Visit>
  void visit_pairs(const Visit& visit) const {
    for_each_curve([&](std::int64_t c, const Score* scores,
                       const std::uint8_t* codes,
                       const PositiveRows& positives) {
      visit(c, pairs_of(scores, codes, positives.begin(c), positives.end(c)));
    });
  }

  std::optional<ScoreCounts> pooled() const {
    if (exact_.has_codes()) return flat(codes());
    Scratch<std::uint8_t> codes(rows_ * columns_);
    std::fill_n(codes.data(), rows_ * columns_, std::uint8_t{0});
    const std::int64_t* const own = classes();
    for (std::int64_t i = 0; i < rows_; ++i) {
      if (is_class(own[i])) codes[i * columns_ + own[i]] = 1;
    }
    return flat(codes.data());
  }

 private:
  // Number of curves processed together.
  static constexpr std::int64_t kColumns = 8;

  const std::uint8_t* codes() const {
    return exact_.target.const_data_ptr<std::uint8_t>();
  }
  Score score(std::int64_t i, std::int64_t c) const {
    const Given given = scores_[i * columns_ + c];
    if constexpr (kSoftmax) {
      return terms_[i](given);
    } else {
      return given;
    }
  }

  const std::int64_t* classes() const {
    return exact_.target.const_data_ptr<std::int64_t>();
  }
  bool is_class(std::int64_t c) const { return c >= 0 && c < columns_; }

  // The rows whose class is that of a column; none if targets are codes.
  class PositiveRows {
   public:
    explicit PositiveRows(const ExactSamples& samples)
        : begins_(samples.columns_ + 2) {
      if (samples.exact_.has_codes()) return;
      const std::int64_t* const classes = samples.classes();
      rows_.resize(samples.rows_);
      for (std::int64_t i = 0; i < samples.rows_; ++i) {
        if (samples.is_class(classes[i])) ++begins_[classes[i] + 2];
      }
      std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
      for (std::int64_t i = 0; i < samples.rows_; ++i) {
        if (samples.is_class(classes[i])) {
          rows_[begins_[classes[i] + 1]++] = i;
        }
      }
    }
    const std::int64_t* begin(std::int64_t c) const {
      return rows_.data() + begins_[c];
    }
    const std::int64_t* end(std::int64_t c) const { return begin(c + 1); }
    void mark(std::int64_t c, std::uint8_t code, std::uint8_t* codes) const {
      for (const auto* row = begin(c); row != end(c); ++row) {
        codes[*row] = code;
      }
    }

   private:
    std::vector<std::int64_t> begins_;
    std::vector<std::int64_t> rows_;
  };

  // use(c, scores, codes, positives), the last only for classes.
  template <class Use>
  void for_each_curve(const Use& use) const {
    const PositiveRows positives(*this);
    const std::int64_t threads =
        at::in_parallel_region() ? 1 : at::get_num_threads();
    // Several threads sort one curve, or each thread sorts one.
    if (columns_ < threads) return use_some(0, columns_, positives, use);
    const std::int64_t grain = std::min(kColumns, columns_ / threads);
    at::parallel_for(0, columns_, grain,
                     [&](std::int64_t begin, std::int64_t end) {
                       use_some(begin, end, positives, use);
                     });
  }

  // Copies a few columns at a time: a row's scores are adjacent in memory.
  template <class Use>
  void use_some(std::int64_t begin, std::int64_t end,
                const PositiveRows& positives, const Use& use) const {
    const std::int64_t width = std::min(kColumns, end - begin);
    Scratch<Score> scores(width * rows_);
    Scratch<std::uint8_t> codes(rows_);
    if (!exact_.has_codes()) {
      std::fill_n(codes.data(), rows_, std::uint8_t{0});
    }
    for (std::int64_t first = begin; first < end; first += width) {
      const std::int64_t count = std::min(width, end - first);
      for (std::int64_t i = 0; i < rows_; ++i) {
        for (std::int64_t c = 0; c < count; ++c) {
          scores[c * rows_ + i] = score(i, first + c);
        }
      }
      for (std::int64_t c = first; c < first + count; ++c) {
        const Score* const own = scores.data() + (c - first) * rows_;
        if (exact_.has_codes()) {
          const std::uint8_t* const all = this->codes();
          for (std::int64_t i = 0; i < rows_; ++i) {
            codes[i] = all[i * columns_ + c];
          }
          use(c, own, codes.data(), positives);
        } else {
          positives.mark(c, 1, codes.data());
          use(c, own, codes.data(), positives);
          positives.mark(c, 0, codes.data());
        }
      }
    }
  }

  // For one class, whose rows are [begin, end).
  std::optional<CurvePairs> pairs_of(const Score* scores,
                                     const std::uint8_t* codes,
                                     const std::int64_t* begin,
                                     const std::int64_t* end) const {
    const std::int64_t count = end - begin;
    const auto positives = static_cast<double>(count);
    const auto negatives = static_cast<double>(rows_ - count);
    if constexpr (std::is_same_v<Score, float>) {
      if (count > 0 && count <= rows_ / 8 && count < (1 << 15)) {
        std::vector<std::uint32_t> keys;
        for (const auto* row = begin; row != end; ++row) {
          keys.push_back(ordered_bits(scores[*row]));
        }
        sort_keys(keys.data(), count);
        const RankTable table(keys.data(), count);
        if (table.is_fast()) {
          const RankSum ranks = sum_ranks(scores, rows_, table);
          if (ranks.nan) return std::nullopt;
          // Positives among themselves contribute count^2.
          const std::uint64_t twice =
              static_cast<std::uint64_t>(2 * count * rows_) - ranks.sum -
              static_cast<std::uint64_t>(count * count);
          return CurvePairs{static_cast<double>(twice) / 2, positives,
                            negatives};
        }
      }
    }
    const auto ranked = Ranked::of(scores, codes, rows_);
    if (!ranked) return std::nullopt;
    return CurvePairs{ranked->pairs_in_order(), positives, negatives};
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
      return counts_of(scores.data(), codes, columns_);
    } else {
      return counts_of(scores_, codes, columns_);
    }
  }

  // With this number of scores per row.
  std::optional<ScoreCounts> counts_of(const Score* scores,
                                       const std::uint8_t* codes,
                                       std::int64_t columns) const {
    if (weights_ != nullptr) {
      return WeightedScores::of(scores, codes, weights_, rows_ * columns,
                                columns);
    }
    return Ranked::of(scores, codes, rows_ * columns);
  }

  const ExactScores& exact_;
  std::int64_t rows_;
  std::int64_t columns_;
  const Given* scores_;
  const double* weights_;
  std::vector<LogSoftmaxTerms> terms_;
};

/// use(samples), with the dtypes of the state.
template <class Use>
auto with_samples(const ExactScores& exact, const Use& use) {
  const bool wide = exact.preds.scalar_type() == at::kDouble;
  if (exact.needs_softmax()) {
    return wide ? use(ExactSamples<double, true>(exact))
                : use(ExactSamples<float, true>(exact));
  }
  return wide ? use(ExactSamples<double, false>(exact))
              : use(ExactSamples<float, false>(exact));
}

}  // namespace tally::internal::classification
