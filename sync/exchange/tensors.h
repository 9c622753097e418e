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

/// How the ranks agree on tensors before they move them.
namespace tally::sync::internal {

/// Tensors of so many bytes are gathered from where they are, since copying
/// them into payloads takes longer than a collective more.
inline constexpr std::int64_t kMovedBytes = std::int64_t{1} << 20;

/// An offer of tensors.
struct TensorOffer : Offer {
  /// Seen by every rank; from flags::kFirstOwn on.
  std::uint32_t flags = 0;
  /// A collective is to follow that moves what the payload does not hold.
  bool moves = false;
  /// Where this rank's tensors are.
  c10::Device device = at::kCPU;
};

struct TensorAgreement : Agreement {
  std::vector<std::uint32_t> flags;
  bool any_moves = false;
  /// Where tensors have to be moved.
  c10::Device device = at::kCPU;
};

/// See agree().
TensorAgreement agree_on_tensors(const Call& call,
                                 c10::function_ref<TensorOffer()> prepare);

/// `work()`, which has the collectives that follow: see or_give_up().
template <class Work>
auto carry_out(const Call& call, const TensorAgreement& agreement,
               const Work& work) -> decltype(work()) {
  return agreement.any_moves ? or_give_up(*call.communicator, work) : work();
}

/// See the other make_ready.
void make_ready(const Call& call, const Agreement& agreement,
                std::int64_t bytes, c10::function_ref<void()> prepare);

/// Brings a copy (see likely_device), of one size on every rank, to where all
/// ranks move theirs.
void bring(const Call& call, const TensorAgreement& agreement,
           at::Tensor& copy);

/// `make()`; errors of LibTorch (no memory, most of all) say what for.
template <class Make>
auto made_for(const std::string& what, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (c10::Error& error) {
    error.add_context("for " + what);
    throw;
  }
}

/// A c10::ValueError unless `tensor` is defined, dense, and has values.
void check_dense(const Call& call, const at::Tensor& tensor);

/// A c10::ValueError unless such tensors have such a reduction.
void check_reducible(const Call& call, Reduction reduction,
                     const at::Tensor& tensor);

/// The dtype of a sum of tensors of this one: int64 for integers and bool.
at::ScalarType sum_dtype(at::ScalarType dtype);

/// Appends sizes and dtype of tensors of one dtype to the payload and, if that
/// still fits in an exchange's first round, their bytes; else they are to move.
void pack(const std::vector<at::Tensor>& tensors, TensorOffer& offer);

/// An empty tensor that tells dtype and sizes of another, behind an additional
/// dimension of size 0.
at::Tensor shape_of(const at::Tensor& tensor);

/// A gather of every rank's rows, padded with zeros to `sizes`, one after the
/// other; this rank brings those of `own`, none if it is undefined. Where
/// `options` say. What it needs is there when it is made.
class PaddedGather {
 public:
  PaddedGather(const at::Tensor& own, std::vector<std::int64_t> sizes,
               const at::TensorOptions& options, int ranks);
  /// In one collective.
  at::Tensor run(Communicator& communicator, Timeout timeout);

 private:
  at::Tensor input_;
  at::Tensor output_;
};

/// What pack() wrote.
struct Parcel {
  /// c10::ValueError if it did not.
  explicit Parcel(std::string_view payload);

  /// Of its own memory, on the CPU. REQUIRES: complete
  at::Tensor tensor(std::size_t i) const;

  at::ScalarType dtype;
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::int64_t> counts;
  std::int64_t bytes() const;  ///< of all of them
  bool complete;               ///< the bytes are there

 private:
  std::string_view bytes_;
};

/// The parcels of all ranks, at the end of their payloads, of so many tensors
/// or none; all of them complete unless something is to move.
std::vector<Parcel> parcels_of(const Call& call,
                               const TensorAgreement& agreement,
                               std::size_t tensors, std::size_t offset = 0);

/// The ranks' tensors do not go together, as every rank has found out.
[[noreturn]] void mismatch(const Call& call, const Agreement& agreement,
                           const std::string& text, std::vector<int> peers);

}  // namespace tally::sync::internal
