#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/contrastive/ring.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"

/// What contrastive losses have in common: checks of arguments, in which the
/// ranks take part, and the way back.
namespace tally::losses::internal {

/// A c10::ValueError unless it is a dense matrix of floats.
void check_features(const sync::Call& call, const char* name,
                    const at::Tensor& features);

/// The same of two, which must be of one size, dtype and device.
void check_features(const sync::Call& call, const char* name_a,
                    const at::Tensor& a, const char* name_b,
                    const at::Tensor& b);

/// The value of a tensor of one floating number.
double checked_number(const sync::Call& call, const char* name,
                      const at::Tensor& tensor);

/// The ranks' numbers of rows, from one exchange in which this rank brings
/// `offer` and its own number of rows.
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

/// Tensors that a backward pass needs as they are. Knows when they are not.
class Untouched {
 public:
  explicit Untouched(std::vector<at::Tensor> tensors);
  void check(const sync::Call& call) const;

 private:
  std::vector<std::pair<at::Tensor, std::int64_t>> versions_;
};

/// The gradients that arrive at the ranks' losses. If this rank cannot go on,
/// it throws c10::Error, and the others SyncError kPeerFailed.
std::vector<double> agree_on_gradients(const sync::Call& backward,
                                       const at::Tensor& gradient,
                                       const Untouched& inputs);

/// `sum` divided by `count`; 0 if there is nothing to count.
double mean(double sum, double count);

/// The mean of the ranks' losses, the same on every rank. Each rank's gradient
/// of it reaches all of theirs, as do gradients of gradients.
at::Tensor mean_over_ranks(const sync::Call& call, const at::Tensor& loss);

/// `tensor`, whose gradients have none themselves: a c10::Error that says
/// `reason` where they are asked for.
at::Tensor differentiable_once(const sync::Call& call, const at::Tensor& tensor,
                               const char* reason);

/// The sum of the ranks' numbers, the same on every rank.
double sum_over_ranks(const sync::Call& call, double value);

/// `loss`, that of `tiles`, with their backward pass, if any rank has a graph.
template <class Tiles>
at::Tensor attach_tiles(const RowAgreement& agreement, const at::Tensor& loss,
                        const std::shared_ptr<Tiles>& tiles) {
  if (!agreement.any_graph) return loss;
  return sync::attach(tiles->inputs(), {loss},
                      [tiles](const std::vector<at::Tensor>& gradients) {
                        return tiles->backward(gradients[0]);
                      })[0];
}

/// `value` as a gradient of `input`; undefined if it has none.
at::Tensor number_like(const at::Tensor& input, double value);

}  // namespace tally::losses::internal
