#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/intrusive_ptr.h>

#include <vector>

namespace tally::internal {

/// A function of tensors with kernels for its value and its gradient: one node
/// of the graph, where a formula of ATen's operators has many, each with
/// tensors of its own. Derivatives of higher order are those of the formula.
class Fused : public c10::intrusive_ptr_target {
 public:
  /// Of inputs that are_fusible, without their graph; a new tensor, as it will
  /// hold this object.
  virtual at::Tensor value(at::TensorList inputs) const = 0;
  /// Of the inputs, from the gradient of the value, which has a stride of its
  /// own: one for each input, undefined where it is not wanted. Nothing where
  /// the kernel does not hold; then the formula's is taken.
  virtual std::vector<at::Tensor> gradients(
      at::TensorList inputs, const at::Tensor& gradient,
      c10::ArrayRef<bool> wanted) const = 0;
  /// The value, of any inputs, with a graph.
  virtual at::Tensor formula(at::TensorList inputs) const = 0;

 protected:
  /// Memory for the gradients that are wanted.
  static std::vector<at::Tensor> fresh_gradients(at::TensorList inputs,
                                                 c10::ArrayRef<bool> wanted);
};

/// Whether kernels can read all of them and write gradients of them: dense,
/// contiguous and on the CPU, all float32 or all float64.
bool are_fusible(at::TensorList inputs);

/// The value with its node. REQUIRES: are_fusible(inputs).
at::Tensor fused(c10::intrusive_ptr<Fused> function, at::TensorList inputs);

}  // namespace tally::internal
