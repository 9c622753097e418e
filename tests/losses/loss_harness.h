#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/testing/thread_ranks.h"

namespace tally::testkit {

/// A loss that is ready to be called, and what it has to learn.
struct LossInstance {
  /// One number for a batch. Uses the default communicator, as losses do.
  std::function<at::Tensor(const std::vector<at::Tensor>& batch)> loss;
  /// Leaves that require gradients; module->named_parameters().pairs().
  std::vector<std::pair<std::string, at::Tensor>> parameters;
};

/// What check_loss() checks.
struct LossSubject {
  /// Called on every rank, and gives a new instance of equal values each time:
  /// ranks are threads, and must not share parameters.
  std::function<LossInstance()> make;
  /// All ranks' rows, float64 where gradients are wanted, for example the two
  /// sides' features and int64 labels.
  std::vector<at::Tensor> batch;
  /// The same loss by plain tensor operations, of an instance's parameters in
  /// their order and a batch, in one process. May be left out.
  std::function<at::Tensor(const std::vector<at::Tensor>& batch,
                           const std::vector<at::Tensor>& parameters)>
      reference = {};
  /// Ranks to deal the batch to.
  std::vector<int> ranks = {1, 2, 3, 5};
  /// Relative errors of values and of gradients' scale and direction.
  double tolerance = 1e-10;
  /// Compare gradients with differences of the loss. To be turned off where
  /// the graph is cut or bent on purpose: straight-through, stop-gradient.
  bool numerical = true;
  /// Every rank's loss is that of the global batch, not a part of its own.
  bool same_on_ranks = true;
  ThreadTransport transport = ThreadTransport::kMemory;
};

/// Checks that a loss is that of the global batch, however it is dealt:
///
/// * in one process, its value and all gradients are the reference's, and the
///   gradients are numerically the loss's derivatives, also of a multiple of
///   the loss; without gradients recorded it has the same value, and with
///   LibTorch's sums in another order (SumOrder) all are the same;
/// * over 1, 2, 3 and 5 ranks with different rows, dealt evenly, unevenly, with
///   a last or a first rank that has none and with all rows on one rank, the
///   mean of the ranks' losses, the gradients of the rows and the averaged
///   gradients of the parameters are those of one process with all rows
///   (check_distributed_gradients): factor 1, residual below the tolerance.
///   So they are over 2 ranks with LibTorch's sums in another order.
///
/// Losses whose state changes from call to call need tests of their own.
void check_loss(const LossSubject& subject);

/// Checks gradients of gradients, of a curved function of the loss (of the loss
/// itself where ranks have parts of it): all first derivatives, each times a
/// number of its own, add up to a loss whose derivatives are the second ones,
/// and which check_loss() checks, at as many of the subject's ranks as are at
/// most 3.
void check_second_derivatives(const LossSubject& subject);

/// Checks that, instead, every rank is told so: its error contains `message`.
void check_second_derivatives_are_refused(const LossSubject& subject,
                                          const std::string& message);

/// The derivative of the gradient of `loss` at `x`, times `direction`, by
/// autograd and by differences of gradients.
struct SecondDerivatives {
  at::Tensor by_autograd;
  at::Tensor by_differences;
};
SecondDerivatives second_derivatives(
    const std::function<at::Tensor(const at::Tensor& x)>& loss,
    const at::Tensor& x, const at::Tensor& direction);

/// A loss of two views, [rows, features] each, that go through one linear
/// layer.
LossSubject two_views_through_a_layer(
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& loss,
    std::int64_t rows, std::int64_t features);

/// Of `sizes`, drawn from a normal distribution, float64.
at::Tensor normal_rows(at::IntArrayRef sizes, std::uint64_t seed);
/// The same, with rows of length 1.
at::Tensor unit_rows(at::IntArrayRef sizes, std::uint64_t seed);
/// normal_rows() that require a gradient.
at::Tensor learned_rows(at::IntArrayRef sizes, std::uint64_t seed);
/// A float64 number that requires a gradient.
at::Tensor learned(double value);

}  // namespace tally::testkit
