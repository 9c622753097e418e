#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <utility>

#include "tally/metrics/metric_base.h"

namespace tally {

/// A mean over `count` samples of this rank, for sync_together. `count` may be
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

/// An argument of sync_together.
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

/// Syncs several metrics, collections and whatever else accumulates
/// (MetricBase) and averages tensors at once: in a single collective if they
/// take about 16 KB or less in total, where separate calls would take one each.
/// Slices whose keys are not known beforehand add one exchange of keys, for all
/// of them together.
///
/// What is synced remains so, as after sync(), until their
/// unsync(). A SampleMean becomes the mean over the samples of all ranks,
///
///     sum over ranks r of  n_r / M * mean_r,   M = sum over ranks of n_r
///
/// summed in float64, ignoring the value of a rank with count 0 (such as NaN);
/// NaN if every count is 0. A plain tensor becomes the unweighted mean over the
/// ranks: for values that are the same on all ranks, such as a MetricLoss, or
/// batches of equal size. Both are replaced by a tensor of their dtype, without
/// a graph, bit-identical on every rank.
///
/// Collective: every rank passes the same arguments in the same order. All
/// metrics must have the same communicator, which is also used for tensors
/// (without metrics, sync::default_communicator()); the shortest timeout
/// applies. On error all arguments are unchanged: c10::Error for a metric that
/// is already synced; c10::ValueError for a metric passed twice, metrics with
/// different communicators, a tensor that is undefined or not of a real
/// floating-point dtype, and a count that is negative or not finite, while the
/// other ranks get SyncError kPeerFailed; kMismatch on every rank if their
/// arguments differ.
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
