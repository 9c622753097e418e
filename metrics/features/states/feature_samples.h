#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/features/inputs/declared_inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// Keeps all features: the observer of metrics that compare real with
/// generated samples one by one, which share it in a collection.
///
/// update(features, real, ids = {}): real [N, D], whether they are of real
/// samples, and ids of samples, integers or texts (see Keys).
/// Without ids a hash of its features stands for a sample's id, so that a value
/// depends neither on the order of samples nor on how they were split over
/// ranks.
/// NaN: propagates; NanPolicy::kIgnore skips the row.
/// Errors: c10::ValueError for other shapes, for D or a dtype that changes,
/// for flags other than 0 and 1, and for NaN with NanPolicy::kError;
/// c10::TypeError for flags that are not integers, for ids that are neither
/// integers nor texts, and for complex or sparse features.
class FeatureSamples {
 public:
  static constexpr const char* kName = "FeatureSamples";
  static constexpr const auto& kInputs = internal::features::kSampleInputs;
  /// Features of float32 as they are, half and bfloat16 as float32, others as
  /// float64.
  struct State {
    Rows real, generated;          // [N, D]
    Rows real_ids, generated_ids;  // int64 [N]
    void fields(Fields& f) {
      f("real", real)("generated", generated);
      f("real_ids", real_ids)("generated_ids", generated_ids);
    }
  };

  template <class Options>
  FeatureSamples(const Options&, const MetricOptions& metric_options)
      : options_(metric_options) {}

  State observe(const at::Tensor& features, const at::Tensor& real,
                const Keys& ids = {}) const;

 private:
  MetricOptions options_;
};

namespace internal::features {

struct Samples;

/// What is kept of samples: their features, and their ids or the hashes that
/// stand for these.
Rows kept_features(const Samples& samples);
Rows kept_ids(const Samples& samples);

/// A hash of each row, int64 [N]: equal for equal rows, whatever the dtype.
at::Tensor hashes_of(const at::Tensor& rows);

/// Rows as they are kept, [N, D], and which of them come one after another in
/// the order of their ids, which is the same on any split; on the CPU.
/// Undefined without rows.
struct RowOrder {
  std::int64_t size() const { return rows.defined() ? rows.size(0) : 0; }

  at::Tensor rows, ids, order;
};
/// c10::ValueError for a state of which the parts do not fit.
RowOrder order_of(const Rows& rows, const Rows& ids);

/// The rows in that order, float64.
struct OrderedRows {
  std::int64_t size() const { return rows.defined() ? rows.size(0) : 0; }

  at::Tensor rows, ids;
};
OrderedRows ordered(const Rows& rows, const Rows& ids);

/// The same as long as real and generated features fit each other.
struct OrderedSamples {
  OrderedRows real, generated;
};
OrderedSamples ordered(const FeatureSamples::State& state);

}  // namespace internal::features
}  // namespace tally
