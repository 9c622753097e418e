#include "tally/losses/calibration/entropy.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "tally/losses/calibration/entropy_kernels.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/labeled_positions.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/score_blocks.h"
#include "tally/losses/common/untouched.h"
#include "tally/metrics/common/fused.h"
#include "tally/state/fresh_tensor.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

std::int64_t classes_of(const EntropyTerms& terms, const at::Tensor& preds) {
  return terms.mode == LabelMode::kBinary ? 1 : preds.size(1);
}

/// REQUIRES: x is contiguous, if a kernel is to read it.
LabeledPositions positions_of(const EntropyTerms& terms, const at::Tensor& x,
                              const at::Tensor& target) {
  LabeledPositions result;
  result.preds = x;
  result.target = target.contiguous();
  result.index = target.dim() != x.dim();
  result.ignore_index = terms.ignore_index;
  if (terms.mode == LabelMode::kMultilabel && terms.class_weights.empty()) {
    // All labels are alike.
    result.samples = x.numel();
    result.classes = result.positions = 1;
    return result;
  }
  result.samples = x.size(0);
  result.classes = classes_of(terms, x);
  result.positions = c10::multiply_integers(
      x.sizes().slice(terms.mode == LabelMode::kBinary ? 1 : 2));
  return result;
}

/// -q log p (1 - p)^gamma; 0 without q, also if p is 0. Finite derivatives
/// where p is 1.
at::Tensor focal(const at::Tensor& all_log_p, const at::Tensor& q,
                 double gamma) {
  const at::Tensor log_p =
      at::where(q.gt(0), all_log_p, at::zeros({}, all_log_p.options()));
  if (gamma == 0) return log_p.mul(q).neg();
  // Below, the power has no derivative; its factor log p is 0 there.
  const at::Tensor rest = log_p.expm1().neg().clamp_min(1e-30);
  return log_p.mul(q).neg().mul(rest.pow(gamma));
}

/// Both sums by LibTorch's functions: for other devices, and second-order
/// gradients.
std::pair<at::Tensor, at::Tensor> composite(const EntropyTerms& terms,
                                            const at::Tensor& x,
                                            const at::Tensor& labels) {
  const bool binary = terms.mode == LabelMode::kBinary;
  const bool is_index = labels.dim() != x.dim();
  const std::int64_t classes = classes_of(terms, x);
  const at::Tensor counts = terms.ignore_index
                                ? labels.ne(*terms.ignore_index)
                                : at::ones_like(labels, at::kBool);
  // Of the size of x.
  std::vector<std::int64_t> per_class(x.dim(), 1);
  if (!binary) per_class[1] = classes;
  at::Tensor y;
  if (is_index) {
    y = labels.unsqueeze(1)
            .eq(at::arange(classes, labels.options().dtype(at::kLong))
                    .view(per_class))
            .to(x.scalar_type());
  } else {
    y = labels.to(x.scalar_type());
  }
  const at::Tensor there =
      (is_index ? counts.unsqueeze(1) : counts).expand_as(x);
  const at::Tensor weight = terms.class_weights.empty()
                                ? at::ones_like(y)
                                : at::tensor(terms.class_weights, y.options())
                                      .view(per_class)
                                      .expand_as(y);
  const double smoothing = terms.label_smoothing;
  const at::Tensor zero = at::zeros({}, x.options());
  // What does not count may be NaN.
  const at::Tensor clean = at::where(there, x, zero);
  at::Tensor loss, divisor;
  if (terms.mode == LabelMode::kMulticlass) {
    const at::Tensor q =
        y.mul(1 - smoothing).add(smoothing / static_cast<double>(classes));
    loss = focal(clean.log_softmax(1), q, terms.gamma);
    divisor = weight.mul(y);
  } else {
    const at::Tensor q = y.mul(1 - smoothing).add(smoothing / 2);
    loss = focal(at::log_sigmoid(clean), q, terms.gamma)
               .mul(terms.of_1)
               .add(focal(at::log_sigmoid(clean.neg()), q.neg().add(1),
                          terms.gamma)
                        .mul(terms.of_0));
    divisor = weight;
  }
  return {at::where(there, loss.mul(weight), zero).sum(at::kDouble),
          at::where(there, divisor, zero).sum(at::kDouble)};
}

/// What the kernels take.
template <class T>
struct Rule {
  explicit Rule(const EntropyTerms& terms, std::int64_t classes)
      : weights(terms.class_weights.begin(), terms.class_weights.end()) {
    weights.resize(static_cast<std::size_t>(classes), T(1));
    const bool softmax = terms.mode == LabelMode::kMulticlass;
    const double parts = softmax ? static_cast<double>(classes) : 2.0;
    rule = {softmax,
            weights.data(),
            static_cast<T>(1 - terms.label_smoothing),
            static_cast<T>(terms.label_smoothing / parts),
            static_cast<T>(terms.gamma),
            static_cast<T>(terms.of_1),
            static_cast<T>(terms.of_0)};
  }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  std::vector<T> weights;
  EntropyRule<T> rule;
};

struct Numbers {
  double loss, weight;
  at::Tensor kept;  ///< for the gradient, if there is to be one
};

template <class T>
Numbers scanned(const EntropyTerms& terms, const LabeledPositions& input,
                bool with_gradient) {
  const Rule<T> own(terms, input.classes);
  const ScoreBlocks<T> blocks(input, /*by_sample=*/false);
  Numbers total{0, 0, {}};
  if (with_gradient && own.rule.softmax) total.kept = blocks.kept_memory();
  std::optional<double> wrong;
  const std::vector<double> sums = blocks.sums(
      kEntropySums, total.kept,
      [&](const ScoreBlock<T>& block, double* group) {
        add_entropy(block, own.rule, group);
      },
      wrong);
  if (wrong) refuse_label(terms.loss, input, *wrong);
  for (std::size_t i = 0; i < sums.size(); i += kEntropySums) {
    total.loss += sums[i];
    total.weight += sums[i + 1];
  }
  return total;
}

template <class T>
at::Tensor gradients_of(const EntropyTerms& terms,
                        const LabeledPositions& input, const at::Tensor& kept,
                        double given) {
  const Rule<T> own(terms, input.classes);
  return ScoreBlocks<T>(input, /*by_sample=*/false)
      .gradients(own.rule.is_of_class(input.index), kept,
                 [&](std::int64_t, const ScoreBlock<T>& block, T* rows,
                     std::int64_t stride) {
                   entropy_gradients(block, own.rule, static_cast<T>(given),
                                     rows, stride);
                 });
}

at::Tensor number(double value, at::ScalarType dtype) {
  const at::Tensor result = tally::internal::fresh_tensor({}, dtype);
  if (dtype == at::kFloat) {
    *result.mutable_data_ptr<float>() = static_cast<float>(value);
  } else {
    *result.mutable_data_ptr<double>() = value;
  }
  return result;
}

/// The sum of losses, times a factor. Keeps two numbers of each position.
class FusedEntropy final : public tally::internal::Fused {
 public:
  FusedEntropy(const EntropyTerms& terms, at::Tensor target, Numbers sums,
               double factor, at::ScalarType dtype)
      : terms_(terms),
        target_(std::move(target)),
        sums_(std::move(sums)),
        factor_(factor),
        dtype_(dtype) {}

  at::Tensor value(at::TensorList) const override {
    return number(sums_.loss * factor_, dtype_);
  }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool>) const override {
    const LabeledPositions input =
        positions_of(terms_, inputs[0].contiguous(), target());
    const double given = number_at(gradient, 0) * factor_;
    return {inputs[0].scalar_type() == at::kFloat
                ? gradients_of<float>(terms_, input, sums_.kept, given)
                : gradients_of<double>(terms_, input, sums_.kept, given)};
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const AutocastOff as_written;
    return composite(terms_, inputs[0], target()).first.mul(factor_).to(dtype_);
  }

 private:
  const at::Tensor& target() const {
    return target_.get(terms_.loss, "target");
  }

  EntropyTerms terms_;
  UntouchedTensor target_;
  Numbers sums_;
  double factor_;
  at::ScalarType dtype_;
};

void check_inputs(const EntropyTerms& terms, const at::Tensor& preds,
                  const at::Tensor& target) {
  check_labels(terms.loss, terms.mode, terms.ignore_index, preds, target);
  const std::int64_t classes = classes_of(terms, preds);
  const auto given = static_cast<std::int64_t>(terms.class_weights.size());
  TORCH_CHECK_VALUE(given == 0 || given == classes, terms.loss, ": expected ",
                    classes, " class_weights, got ", given);
}

/// In the dtype of sums, and as kernels read it if they can.
at::Tensor working(const at::Tensor& preds) {
  const at::Tensor x = in_dtype_of_losses(preds);
  return x.is_cpu() ? x.contiguous() : x;
}

bool can_scan(const at::Tensor& x, const at::Tensor& target) {
  return tally::internal::are_fusible(x) && target.has_storage();
}

Numbers scanned(const EntropyTerms& terms, const at::Tensor& x,
                const at::Tensor& target) {
  const LabeledPositions input = positions_of(terms, x, target);
  const bool with_gradient = sync::has_graph(x);
  return x.scalar_type() == at::kFloat
             ? scanned<float>(terms, input, with_gradient)
             : scanned<double>(terms, input, with_gradient);
}

/// The sum of losses times a factor, with the graph of x.
at::Tensor attached(const EntropyTerms& terms, const at::Tensor& x,
                    const at::Tensor& target, const Numbers& sums,
                    double factor, at::ScalarType dtype) {
  if (!sync::has_graph(x)) return number(sums.loss * factor, dtype);
  return tally::internal::fused(
      c10::make_intrusive<FusedEntropy>(terms, target, sums, factor, dtype), x);
}

}  // namespace

EntropySums entropy_sums(const EntropyTerms& terms, const at::Tensor& preds,
                         const at::Tensor& target) {
  check_inputs(terms, preds, target);
  const at::Tensor x = working(preds);
  if (can_scan(x, target)) {
    const Numbers sums = scanned(terms, x, target);
    return {attached(terms, x, target, sums, 1, at::kDouble),
            at::tensor({sums.loss, sums.weight}, at::kDouble)};
  }
  check_label_values(terms.loss, positions_of(terms, x, target));
  const auto [loss, weight] = composite(terms, x, target);
  return {loss, at::stack({loss.detach(), weight})};
}

at::Tensor entropy_ratio(const EntropyTerms& terms, const at::Tensor& preds,
                         const at::Tensor& target) {
  check_inputs(terms, preds, target);
  const at::Tensor x = working(preds);
  if (!can_scan(x, target)) return {};
  const Numbers sums = scanned(terms, x, target);
  return attached(terms, x, target, sums,
                  1 / (sums.weight > 0 ? sums.weight : 1), x.scalar_type());
}

}  // namespace tally::losses::internal
