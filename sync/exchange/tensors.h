#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/sync/agree.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/readiness.h"
#include "tally/sync/reduction.h"

/// Agreement between ranks on tensors before they are moved.
namespace tally::sync::internal {

/// Tensors of at least this many bytes are gathered without copying them first,
/// since copying them into payloads takes longer than another collective.
inline constexpr std::int64_t kMovedBytes = std::int64_t{1} << 20;

/// An offer of tensors.
struct TensorOffer : Offer {
  /// Received by every rank; bits from flags::kFirstOwn on.
  std::uint32_t flags = 0;
  /// Whether a collective will follow that moves data not contained in the
  /// payload.
  bool moves = false;
  /// The device of this rank's tensors.
  c10::Device device = at::kCPU;
};

struct TensorAgreement : Agreement {
  std::vector<std::uint32_t> flags;
  bool any_moves = false;
  /// The device on which tensors are moved.
  c10::Device device = at::kCPU;
};

/// See agree().
TensorAgreement agree_on_tensors(const Call& call,
                                 c10::function_ref<TensorOffer()> prepare);

/// Calls `work()`, which contains the subsequent collectives: see or_give_up().
template <class Work>
auto carry_out(const Call& call, const TensorAgreement& agreement,
               const Work& work) -> decltype(work()) {
  return agreement.any_moves ? or_give_up(*call.communicator, work) : work();
}

/// See the other make_ready.
void make_ready(const Call& call, const Agreement& agreement,
                std::int64_t bytes, c10::function_ref<void()> prepare);

/// Moves a copy (see likely_device), with the same size on every rank, to the
/// device on which all ranks move theirs.
void bring(const Call& call, const TensorAgreement& agreement,
           at::Tensor& copy);

/// Calls `make()`; LibTorch's errors (mainly out of memory) are extended by the
/// purpose.
template <class Make>
auto made_for(const std::string& what, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (c10::Error& error) {
    error.add_context("for " + what);
    throw;
  }
}

/// Throws c10::ValueError unless `tensor` is defined, dense, and has values.
void check_dense(const Call& call, const at::Tensor& tensor);

/// Throws c10::ValueError unless the reduction is supported for such tensors.
void check_reducible(const Call& call, Reduction reduction,
                     const at::Tensor& tensor);

/// The dtype of a sum of tensors of this dtype: int64 for integers and bool.
at::ScalarType sum_dtype(at::ScalarType dtype);

/// Appends sizes and dtype of tensors of one dtype to the payload and, if they
/// fit in an exchange's first round, their bytes; otherwise they are moved
/// separately. Nothing on a single rank, which reads own_copy().
void pack(const Call& call, const std::vector<at::Tensor>& tensors,
          TensorOffer& offer);

/// What a single rank receives from itself, without a way through the memory of
/// the host.
at::Tensor own_copy(const at::Tensor& tensor);

/// An empty tensor that represents dtype and sizes of another, with an
/// additional first dimension of size 0.
at::Tensor shape_of(const at::Tensor& tensor);

/// The output of pack().
struct Parcel {
  /// Throws c10::ValueError for anything else.
  explicit Parcel(std::string_view payload);

  /// A CPU tensor that owns its memory. REQUIRES: complete
  at::Tensor tensor(std::size_t i) const;

  at::ScalarType dtype;
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::int64_t> counts;
  std::int64_t bytes() const;  ///< of all of them
  bool complete;               ///< whether it contains the bytes

 private:
  std::string_view bytes_;
};

/// The parcels of all ranks, at the end of their payloads, each with this
/// number of tensors or none; all complete unless data is moved separately.
std::vector<Parcel> parcels_of(const Call& call,
                               const TensorAgreement& agreement,
                               std::size_t tensors, std::size_t offset = 0);

/// Throws for inconsistent tensors, which every rank has detected.
[[noreturn]] void mismatch(const Call& call, const Agreement& agreement,
                           const std::string& text, std::vector<int> peers);

}  // namespace tally::sync::internal
