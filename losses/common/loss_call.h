#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/losses/common/untouched.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"

/// Common parts of contrastive losses: collective checks of arguments, and the
/// backward pass.
namespace tally::losses::internal {

/// Throws c10::ValueError unless it is a dense floating-point matrix.
void check_features(const sync::Call& call, const char* name,
                    const at::Tensor& features);

/// The same for two, which must have the same size, dtype and device.
void check_features(const sync::Call& call, const char* name_a,
                    const at::Tensor& a, const char* name_b,
                    const at::Tensor& b);

/// The value of a floating-point tensor with one element.
double checked_number(const sync::Call& call, const char* name,
                      const at::Tensor& tensor);

/// Of the memory for logits. Throws c10::ValueError for a negative number.
void check_budget(const char* loss, std::int64_t bytes);

/// The ranks' numbers of rows, from one exchange with this rank's `offer` and
/// number of rows.
struct RowAgreement {
  RankRows rows;
  std::int64_t sequence;
  bool any_graph;
};
struct RowOffer {
  std::int64_t rows;
  std::string schema;  ///< see sync::Offer
  bool has_graph;
};
RowAgreement agree_on_rows(const sync::Call& call,
                           c10::function_ref<RowOffer()> prepare);

/// Tensors that must not be modified before a backward pass, if there is one to
/// come; detects it if they are.
class Untouched {
 public:
  Untouched(bool has_backward, at::TensorList tensors);
  void check(const sync::Call& call) const;

 private:
  std::vector<UntouchedTensor> tensors_;
};

/// The incoming gradients of the ranks' losses. If this rank cannot continue,
/// it throws c10::Error, and the others SyncError kPeerFailed.
std::vector<double> agree_on_gradients(const sync::Call& backward,
                                       const at::Tensor& gradient,
                                       const Untouched& inputs);

/// `sum` divided by `count`; 0 if `count` is 0.
double mean(double sum, double count);

/// The mean of the ranks' losses, the same on every rank. Each rank's gradient
/// of it reaches the losses of all ranks, as do second-order gradients.
at::Tensor mean_over_ranks(const sync::Call& call, const at::Tensor& loss);

/// `tensor`, without second-order gradients: requesting them is a c10::Error
/// that includes `reason`.
at::Tensor differentiable_once(const sync::Call& call, const at::Tensor& tensor,
                               const char* reason);

/// The sum of the ranks' numbers, the same on every rank.
double sum_over_ranks(const sync::Call& call, double value);

/// sync::attach() for the only rank, whose backward pass no other relies on.
at::Tensor attach_alone(const std::vector<at::Tensor>& inputs,
                        const at::Tensor& output, sync::Adjoint adjoint);

/// `loss`, computed by `tiles`, with their backward pass if any rank has a
/// graph.
template <class Tiles>
at::Tensor attach_tiles(const RowAgreement& agreement, const at::Tensor& loss,
                        const std::shared_ptr<Tiles>& tiles) {
  if (!agreement.any_graph) return loss;
  const auto backward = [tiles](const std::vector<at::Tensor>& gradients) {
    return tiles->backward(gradients[0]);
  };
  if (agreement.rows.ranks() == 1) {
    return attach_alone(tiles->inputs(), loss, backward);
  }
  return sync::attach(tiles->inputs(), {loss}, backward)[0];
}

/// `value` as a gradient of `input`; undefined if it requires none.
at::Tensor number_like(const at::Tensor& input, double value);

}  // namespace tally::losses::internal
