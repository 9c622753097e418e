#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/readiness.h"

/// How the ranks agree on tensors before they move them.
namespace tally::sync::internal {

/// Tensors of so many bytes are gathered from where they are, since copying
/// them into payloads takes longer than a collective more.
inline constexpr std::int64_t kMovedBytes = std::int64_t{1} << 20;

/// The call that the ranks are in.
struct Call {
  ExchangeKind kind;
  /// With its options: what all ranks must have in common.
  std::string name;
  std::shared_ptr<Communicator> communicator;
  Timeout timeout;
  /// In accounts; `name` if empty.
  std::string asker = {};

  int rank() const { return communicator->rank(); }
  int size() const { return communicator->size(); }
  /// What the backward pass of the exchange with this number is.
  Call backward(std::int64_t sequence) const;
  AskedBy asked() const { return AskedBy(asker.empty() ? name : asker); }
};

/// A Call with defaults filled in.
Call collective(std::string name, std::shared_ptr<Communicator> communicator,
                Timeout timeout);

/// What this rank brings.
struct Offer {
  /// What else all ranks must have in common.
  std::string schema;
  std::string payload;
  /// Seen by every rank; the lowest eight bits are taken.
  std::uint32_t flags = 0;
  /// Backward communicates if any rank's tensors have one.
  bool has_graph = false;
  /// A collective is to follow that moves what the payload does not hold.
  bool moves = false;
  /// Where this rank's tensors are.
  c10::Device device = at::kCPU;
};

/// What all ranks bring.
struct Agreement {
  Contributions all;
  bool any_graph = false;
  bool any_moves = false;
};

/// Exchanges the ranks' offers. If `prepare` throws here, the others throw
/// kPeerFailed with its text. kMismatch if calls or schemas differ, or if some
/// rank would wait in its backward pass for one that records no gradients.
Agreement agree(const Call& call, c10::function_ref<Offer()> prepare);

/// `work()`, which has the collectives that follow: see owed().
template <class Work>
auto carry_out(const Call& call, const Agreement& agreement, const Work& work)
    -> decltype(work()) {
  return agreement.any_moves ? owed(*call.communicator, work) : work();
}

/// See the other make_ready.
void make_ready(const Call& call, const Agreement& agreement,
                std::int64_t bytes, c10::function_ref<void()> prepare);

/// Brings a copy (see likely_device), of one size on every rank, to where all
/// ranks move theirs.
void bring(const Call& call, const Agreement& agreement, at::Tensor& copy);

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

/// Whether backward leads to this tensor.
bool has_graph(const at::Tensor& tensor);

/// The values, contiguous and without a graph.
at::Tensor plain(const at::Tensor& tensor);

/// What sums of this dtype are kept in: float32 or wider, int64 for integers
/// and bool. Undefined for what has no sums.
at::ScalarType wide(at::ScalarType dtype);

/// The dtype of a sum of tensors of this one: int64 for integers and bool.
at::ScalarType sum_dtype(at::ScalarType dtype);

/// Appends sizes and dtype of tensors of one dtype to the payload and, if that
/// still fits in an exchange's first round, their bytes; else they are to move.
void pack(const std::vector<at::Tensor>& tensors, Offer& offer);

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
std::vector<Parcel> parcels_of(const Call& call, const Agreement& agreement,
                               std::size_t tensors, std::size_t offset = 0);

/// The ranks' tensors do not go together, as every rank has found out.
[[noreturn]] void mismatch(const Call& call, const Agreement& agreement,
                           const std::string& text, std::vector<int> peers);

}  // namespace tally::sync::internal
