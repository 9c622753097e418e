#pragma once

#include <vector>

#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of LipVertexError.
///
/// Example:
///     LipVertexError error(LipVertexErrorOptions({0, 4, 17}));
struct LipVertexErrorOptions {
  /// The indexes of the vertices of the lips.
  LipVertexErrorOptions(std::vector<std::int64_t> mouth_map)
      : mouth_map_(std::move(mouth_map)) {}
  explicit LipVertexErrorOptions(internal::Unset) {}

  /// The indexes of the vertices of the lips, at least one.
  TORCH_ARG(std::vector<std::int64_t>, mouth_map);

 public:
  void visit(OptionVisitor& v) {
    v("mouth_map", mouth_map_, "Indexes of the vertices of the lips.");
  }
  void validate(const char* metric) const;
};

/// The observer of LipVertexError.
class LipErrors {
 public:
  static constexpr const char* kName = "LipErrors";
  static constexpr InputInfo kInputs[] = {
      {"vertices_pred", InputKind::kReal, "real [T, V, 3]"},
      {"vertices_gt", InputKind::kReal, "real [T, V, 3]"}};
  using Options = LipVertexErrorOptions;
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
  };

  LipErrors(const Options& options, const MetricOptions& metric_options)
      : mouth_map_(options.mouth_map()),
        nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& vertices_pred,
                const at::Tensor& vertices_gt) const;

 private:
  std::vector<std::int64_t> mouth_map_;
  NanPolicy nan_policy_;
};

/// The lip vertex error (LVE) of animated faces: the largest squared distance
/// of a vertex of the lips from its place in the reference, averaged over
/// frames.
///
///     mean over frames of max over the lips' vertices v of |p_v - t_v|^2
///
/// update(vertices_pred, vertices_gt): meshes [T, V, 3] of the same shape, any
/// real dtypes; each of T frames has V vertices.
/// Result: 0-dim float64, 0 or more; NaN without frames.
/// State: the sum in float64 and the number of frames, merged by addition.
/// NaN at the lips: propagates; NanPolicy::kIgnore skips the frame.
/// Errors: c10::ValueError for other or different shapes, for fewer vertices
/// than `mouth_map` names, and for NaN with NanPolicy::kError; c10::TypeError
/// for complex or sparse inputs.
/// Differentiable in both inputs, by the vertex that is farthest off.
/// Source: Richard et al. 2021.
///
/// Example:
///     LipVertexError error(LipVertexErrorOptions({0, 4, 17}));
///     error.update(at::randn({10, 100, 3}), at::randn({10, 100, 3}));
///     double value = error.compute().item<double>();
class LipVertexError final
    : public MetricOf<LipVertexError, LipErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "LipVertexError";
  static constexpr MetricSummary kSummary{
      "Largest squared error of a lip vertex, averaged over frames.",
      "[0, inf]",
      "mouth_map=[0, 1, 2]",
      "lve, lip vertex error",
      R"(\frac{1}{T} \sum_t \max_{v \in lips} \|\hat x_{tv} - x_{tv}\|^2)",
      "Richard et al. 2021"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<LipVertexError, LipErrors, at::Tensor>;

}  // namespace tally
