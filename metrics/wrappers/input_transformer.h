#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// A metric on transformed inputs: the base of the classes below, and of custom
/// transformers.
///
/// update(): as for the metric, whose first input is preds, the second target.
/// Results, state, errors and the handling of NaN and empty inputs are those of
/// the metric; also throws c10::TypeError if preds and target are not tensors.
/// Differentiable if the metric is.
class MetricInputTransformer : public MetricWrapper {
 public:
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const final;
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const final;
  void compute_into(const AnyState& state, AnyState& kept,
                    const std::string& name, Results& results) const final;

 protected:
  /// The constructor of a derived class calls set_state() in its body.
  using MetricWrapper::MetricWrapper;
  void set_state() { MetricWrapper::set_state(metric().make_state()); }

  /// Must not modify their argument. Default: identity.
  virtual at::Tensor transform_preds(const at::Tensor& preds) const {
    return preds;
  }
  virtual at::Tensor transform_target(const at::Tensor& target) const {
    return target;
  }

  /// Derived from name and options, which must identify the transformation.
  StateKey key() const override;
};

/// Options of LambdaInputTransformer.
struct LambdaInputTransformerOptions {
  using Transform = std::function<at::Tensor(const at::Tensor&)>;

  LambdaInputTransformerOptions(std::string label = "")
      : label_(std::move(label)) {}
  /// Identifies the functions, which cannot be compared: metrics with equal
  /// labels share states in a collection, load each other's checkpoints, and
  /// sync.
  TORCH_ARG(std::string, label);
  /// Default: null, which leaves the input unchanged.
  TORCH_ARG(Transform, preds) = nullptr;
  TORCH_ARG(Transform, target) = nullptr;

 public:
  void visit(OptionVisitor& v) {
    v("label", label_, "Name of the function, in messages and files.");
  }
  void validate(const char* metric) const;
};

/// A metric on inputs transformed by functions. See MetricInputTransformer.
///
/// Errors: c10::ValueError without a label or without a function.
///
/// Example:
///     LambdaInputTransformer error(
///         MeanSquaredError(),
///         LambdaInputTransformerOptions("exp").preds(
///             [](const at::Tensor& logs) { return logs.exp(); }));
///     error.update(preds, target);
class LambdaInputTransformer final : public MetricInputTransformer {
 public:
  using Options = LambdaInputTransformerOptions;
  static constexpr const char* kName = "LambdaInputTransformer";

  LambdaInputTransformer(OwnedMetric metric, Options options);

  const Options& options() const { return options_; }
  std::string name() const override { return kName; }

 protected:
  at::Tensor transform_preds(const at::Tensor& preds) const override;
  at::Tensor transform_target(const at::Tensor& target) const override;
  std::string options_text() const override { return options_repr(options_); }
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<LambdaInputTransformer>(std::move(metric),
                                                    options_);
  }

 private:
  Options options_;
};

/// Options of BinaryTargetTransformer.
struct BinaryTargetTransformerOptions {
  BinaryTargetTransformerOptions(double threshold = 0)
      : threshold_(threshold) {}
  /// Default: 0.
  TORCH_ARG(double, threshold);

 public:
  void visit(OptionVisitor& v) {
    v("threshold", threshold_, "Targets above this become 1.");
  }
  void validate(const char* metric) const;
};

/// A metric on targets binarized by a threshold. See MetricInputTransformer.
///
///     target_i' = target_i > threshold
///
/// The target may have any real dtype; the transformed one is int64; NaN
/// becomes 0. Errors: c10::ValueError for a threshold of NaN, c10::TypeError
/// for complex and sparse targets.
///
/// Example:
///     BinaryTargetTransformer auroc{BinaryAUROC(), 2.5};
///     auroc.update(preds, target);  // three stars and more are positive
class BinaryTargetTransformer final : public MetricInputTransformer {
 public:
  using Options = BinaryTargetTransformerOptions;
  static constexpr const char* kName = "BinaryTargetTransformer";
  static constexpr MetricSummary kSummary{
      "A metric on targets binarized by a threshold.", "any",
      "metric=MeanSquaredError()", "binarize targets"};

  explicit BinaryTargetTransformer(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }
  std::string name() const override { return kName; }
  /// The target may have any real dtype.
  static void change_inputs(std::vector<InputInfo>& inputs);
  c10::ArrayRef<InputInfo> inputs() const override { return inputs_; }

 protected:
  at::Tensor transform_target(const at::Tensor& target) const override;
  std::string options_text() const override { return options_repr(options_); }
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<BinaryTargetTransformer>(std::move(metric),
                                                     options_);
  }

 private:
  Options options_;
  std::vector<InputInfo> inputs_;
};

}  // namespace tally
