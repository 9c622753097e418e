#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <utility>

#include "tally/metrics/metric_base.h"

namespace tally {

/// A mean over so many samples of this rank, for sync_together. `count` may be
/// a sum of weights.
class SampleMean {
 public:
  SampleMean(at::Tensor& mean, double count) : mean_(&mean), count_(count) {}

 private:
  friend class internal::SyncPart;
  at::Tensor* mean_;
  double count_;
};

namespace internal {

/// One of those that are synced together.
class SyncPart {
 public:
  explicit SyncPart(MetricBase& metric)
      : accumulation_(&metric.accumulation_) {}
  explicit SyncPart(const SampleMean& mean)
      : mean_(mean.mean_), count_(mean.count_) {}
  explicit SyncPart(at::Tensor& mean) : SyncPart(SampleMean(mean, 1)) {}

  /// Null for a mean.
  Accumulation* accumulation() const { return accumulation_; }
  at::Tensor& mean() const { return *mean_; }
  double count() const { return count_; }

 private:
  Accumulation* accumulation_ = nullptr;
  at::Tensor* mean_ = nullptr;
  double count_ = 0;
};

void sync_parts(std::initializer_list<SyncPart> parts);

}  // namespace internal

/// Syncs several metrics and collections at once, and averages tensors beside
/// them: one collective for all that takes about 16 KB or less together, where
/// calls of their own would take one each.
///
/// Metrics and collections are synced afterwards, as by sync(), until their
/// unsync(). A SampleMean becomes the mean over the samples of all ranks,
///
///     sum over ranks r of  n_r / M * mean_r,   M = sum over ranks of n_r
///
/// summed in float64, whatever a rank with count 0 has (NaN, say); NaN if every
/// count is 0. A plain tensor becomes the mean over the ranks, each of which
/// counts 1: that of a value which all ranks have, such as a MetricLoss, or of
/// batches of one size. Both are replaced by a tensor of their dtype, without a
/// graph, bit-equal on every rank.
///
/// Collective: every rank passes the same things in the same order. Metrics
/// have one communicator, which tensors go by, too (without metrics,
/// sync::default_communicator()), and the shortest timeout counts. Whatever
/// throws leaves all of them as they were: c10::Error for a metric that is
/// synced already; c10::ValueError for one that is passed twice, metrics of
/// several communicators, a tensor that is undefined or not of a real
/// floating-point dtype, and a count that is negative or not finite, and the
/// other ranks SyncError kPeerFailed; kMismatch on every rank if they bring
/// different things.
///
/// Example:
///     MetricCollection metrics;
///     MeanMetric speed;
///     sync_together(metrics, speed, SampleMean(loss, preds.size(0)));
///     std::cout << metrics.compute() << speed.compute() << loss;
///     metrics.unsync();
///     speed.unsync();
template <class... Parts>
void sync_together(Parts&&... parts) {
  static_assert(sizeof...(Parts) > 0, "expected something to sync");
  internal::sync_parts({internal::SyncPart(std::forward<Parts>(parts))...});
}

}  // namespace tally
