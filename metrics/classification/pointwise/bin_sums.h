#pragma once

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tally/metrics/classification/pointwise/calibration_sums.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/state/fresh_tensor.h"

/// Loops that sum CalibrationBins. For sources compiled with -fopenmp.
namespace tally::internal::classification {

/// With more bins, neither blocks nor parts pay off.
inline constexpr std::int64_t kManyBins = 1024;

/// Equal-width bins, and the weights of what falls into them.
class WeighedBins {
 public:
  WeighedBins(std::int64_t n_bins, const LossWeights& weights)
      : n_bins_(n_bins),
        width_(static_cast<double>(n_bins)),
        weights_(weights) {}

  std::int64_t size() const { return n_bins_; }
  double width() const { return width_; }
  std::int64_t nans() const { return nans_; }
  /// Calls add(bin, weight) for a confidence that counts.
  template <class Add>
  void visit(double confidence, std::int64_t index, const Add& add) {
    if (!weights_.takes(confidence, index)) return;
    const double weight = weights_[index];
    if (std::isnan(confidence) || std::isnan(weight)) {
      ++nans_;
      return;
    }
    add(static_cast<std::int64_t>(
            std::clamp(confidence * width_, 0.0, width_ - 1)),
        weight);
  }

 private:
  std::int64_t n_bins_;
  double width_;
  const LossWeights& weights_;
  std::int64_t nans_ = 0;
};

/// Adds confidences one by one to sums [3, n_bins].
class BinSums {
 public:
  static constexpr std::int64_t kRows = 3;

  BinSums(double* sums, std::int64_t n_bins, const LossWeights& weights)
      : sums_(sums), n_bins_(n_bins), bins_(n_bins, weights) {}

  void add(double confidence, bool hit, std::int64_t index) {
    bins_.visit(confidence, index, [&](std::int64_t bin, double weight) {
      add_to(bin, weight, confidence, hit);
    });
  }
  /// Adds a block with weights of 1. Returns false and adds nothing unless all
  /// are in [0, 1].
  bool add_block(const double* confidences, const std::uint8_t* hits,
                 std::int64_t size) {
    bool inside = true;
    for (std::int64_t i = 0; i < size; ++i) {
      inside &= confidences[i] >= 0 && confidences[i] <= 1;
    }
    if (!inside) return false;
    if (spread_.empty()) spread_.resize(kSpread * 2 * n_bins_);
    // Several tables, so that an addition need not wait for the previous one.
    for (std::int64_t i = 0; i < size; ++i) {
      const auto bin =
          std::min(static_cast<std::int64_t>(confidences[i] * bins_.width()),
                   n_bins_ - 1);
      BinTotal& total = spread_[(i % kSpread * n_bins_ + bin) * 2 + hits[i]];
      total.confidence += confidences[i];
      ++total.count;
    }
    return true;
  }
  /// To be called after all blocks.
  void finish() {
    for (std::size_t i = 0; i < spread_.size(); ++i) {
      const auto bin = static_cast<std::int64_t>(i / 2) % n_bins_;
      const auto count = static_cast<double>(spread_[i].count);
      sums_[bin] += count;
      sums_[n_bins_ + bin] += spread_[i].confidence;
      sums_[2 * n_bins_ + bin] += i % 2 == 1 ? count : 0;
    }
    spread_.clear();
  }
  std::int64_t nans() const { return bins_.nans(); }

 protected:
  void add_to(std::int64_t bin, double weight, double confidence, bool hit) {
    sums_[bin] += weight;
    sums_[n_bins_ + bin] += weight * confidence;
    sums_[2 * n_bins_ + bin] += hit ? weight : 0;
  }

  double* sums_;
  std::int64_t n_bins_;
  WeighedBins bins_;

 private:
  struct BinTotal {
    double confidence;
    std::int64_t count;
  };
  static constexpr std::int64_t kSpread = 4;

  // By copy, bin and hit.
  std::vector<BinTotal> spread_;
};

/// The same, and below these the sums of squared weights, of gaps times weights
/// and of the squares of these: [6, n_bins].
class GapSums : private BinSums {
 public:
  static constexpr std::int64_t kRows = 6;

  using BinSums::BinSums;
  using BinSums::nans;

  void add(double confidence, bool hit, std::int64_t index) {
    bins_.visit(confidence, index, [&](std::int64_t bin, double weight) {
      add_to(bin, weight, confidence, hit);
      const double gap = weight * ((hit ? 1 : 0) - confidence);
      sums_[3 * n_bins_ + bin] += weight * weight;
      sums_[4 * n_bins_ + bin] += gap;
      sums_[5 * n_bins_ + bin] += gap * gap;
    });
  }
};

/// The sum of add(begin, end, sums) over parts of `count` positions with the
/// given number of scores each; from several threads if there is much to do.
/// The parts, whose sums are added in order, do not depend on the number of
/// threads.
template <class Sums, class Add>
CalibrationBins sum_parts(std::int64_t n_bins, std::int64_t count,
                          std::int64_t scores, const LossWeights& weights,
                          const Add& add) {
  // Number of scores worth a thread.
  constexpr std::int64_t kPart = std::int64_t{1} << 16;
  const std::int64_t step = std::max<std::int64_t>(kPart / scores, 1);
  const std::int64_t parts =
      n_bins > kManyBins ? 1 : std::max<std::int64_t>(count / step, 1);
  const std::int64_t row = Sums::kRows * n_bins;
  CalibrationBins bins;
  bins.bins = fresh_tensor({Sums::kRows, n_bins}, at::kDouble);
  auto* const total = bins.bins.mutable_data_ptr<double>();
  std::fill_n(total, row, 0.0);
  const auto add_all = [&] {
    Sums sums(total, n_bins, weights);
    add(0, count, sums);
    bins.nans = Number(sums.nans());
    return bins;
  };
  if (parts == 1) return add_all();
  std::vector<double> own(parts * row);
  std::vector<std::int64_t> nans(parts);
  std::atomic<bool> refused{false};
  at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last && !refused; ++part) {
      Sums sums(own.data() + part * row, n_bins, weights);
      try {
        add(count * part / parts, count * (part + 1) / parts, sums);
      } catch (const c10::Error&) {
        refused = true;
      }
      nans[part] = sums.nans();
    }
  });
  // The error should report the first invalid position.
  if (refused) return add_all();
  for (std::size_t i = 0; i < own.size(); ++i) total[i % row] += own[i];
  bins.nans =
      Number(std::accumulate(nans.begin(), nans.end(), std::int64_t{0}));
  return bins;
}

}  // namespace tally::internal::classification
