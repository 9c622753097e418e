#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/sync/agree.h"
#include "tally/sync/gradient_flow.h"

/// The collectives underlying the public ones. Each is differentiable; its
/// backward pass is the adjoint, which is again one of them.
///
/// `prepare` returns this rank's contribution; its exceptions reach every rank.
namespace tally::sync::internal {

/// One tensor per rank.
struct Chunks {
  std::vector<at::Tensor> tensors;
  std::string schema;  ///< what all ranks must have in common, besides dtypes
};

/// The ranks' tensors, in rank order: see gather_all_tensors. Throws kMismatch
/// if sizes do not match as required by `alike`.
enum class Alike { kDimensions, kRows };
std::vector<at::Tensor> gather(const Call& call, GradientFlow flow, Alike alike,
                               c10::function_ref<at::Tensor()> prepare);

/// The ranks' chunks for this one, in rank order.
std::vector<at::Tensor> exchange_chunks(const Call& call,
                                        c10::function_ref<Chunks()> prepare);

/// The sum of the ranks' chunks for this one, divided by `divisor`. Chunks for
/// the same rank have the same sizes everywhere. Sums of integers are int64.
at::Tensor sum_chunks(const Call& call, double divisor,
                      c10::function_ref<std::vector<at::Tensor>()> prepare);

/// Adds gradients to gathered values: `slots[r][i]` is rank r's i-th tensor in
/// exchange `sequence` (without a graph), `own[i]` this rank's, possibly with
/// one. The result has the values of the slots; its backward sums each slot's
/// gradient over the ranks and passes rank r's to rank r, in one exchange for
/// all of them. Every rank calls it if one does, and every rank's backward
/// takes part.
std::vector<std::vector<at::Tensor>> attach_all_ranks(
    const std::vector<at::Tensor>& own,
    const std::vector<std::vector<at::Tensor>>& slots,
    std::shared_ptr<Communicator> communicator, std::int64_t sequence);

}  // namespace tally::sync::internal
