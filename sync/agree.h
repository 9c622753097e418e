#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/sync/communicator.h"

/// The first step of collectives and losses: the ranks agree on the operation.
/// Together with autograd.h and reduce.h, the basis for custom distributed
/// losses: docs/gradients.md ("A loss of your own"), examples/custom_loss.cc.
namespace tally::sync {

namespace internal {
enum class ExchangeKind : std::uint16_t;
}  // namespace internal

/// A call that all ranks make together.
struct Call {
  /// The name, including options, must be the same on all ranks. A null
  /// communicator is default_communicator(), an empty timeout the
  /// communicator's.
  explicit Call(std::string call_name,
                std::shared_ptr<Communicator> ranks = nullptr,
                Timeout limit = {});

  int rank() const { return communicator->rank(); }
  int size() const { return communicator->size(); }
  /// The backward pass of the call whose agreement had this sequence number.
  Call backward(std::int64_t sequence) const;
  /// The backward pass of a gradient.
  Call backward_of_gradient() const;
  /// Names the call in accounts and profiles during its lifetime.
  AskedBy asked() const { return AskedBy(asker.empty() ? name : asker); }

  std::string name;
  std::shared_ptr<Communicator> communicator;
  Timeout timeout;
  std::string asker;  ///< in accounts; empty: `name`
  internal::ExchangeKind kind;
};

/// This rank's contribution.
struct Offer {
  /// Must be the same on all ranks, like the call's name; for dtypes, options
  /// and the like.
  std::string schema;
  /// May differ; received by every rank.
  std::string payload;
  /// Whether this rank's backward pass communicates. If any rank's does, all
  /// ranks must take part in it, which attach() ensures.
  bool has_graph = false;
};

/// The contributions of all ranks.
struct Agreement {
  /// In rank order. Views into memory owned by `storage`.
  std::vector<std::string_view> payloads;
  bool any_graph = false;
  /// For Call::backward.
  std::int64_t sequence = -1;
  at::Tensor storage;
};

/// Exchanges the ranks' offers, in one collective for up to about 16 KB per
/// rank (4 KB above 64 ranks), otherwise in two.
///
/// Exceptions of `prepare`, which should validate arguments, are thrown here,
/// while the other ranks throw SyncError kPeerFailed with the text and do not
/// wait. kMismatch on every rank if calls or schemas differ, or if one has a
/// graph while others record no gradients. The group remains usable after both.
///
/// All ranks must do the same after an agreement; wrap anything that may fail
/// on a single rank in or_give_up().
Agreement agree(const Call& call, c10::function_ref<Offer()> prepare);

/// Takes part in the ranks' next agreement in place of this rank's call, which
/// is prevented by `error`: the others throw kPeerFailed with its text. To be
/// called before `error` is rethrown.
void report_failure(const Call& call, const std::exception_ptr& error) noexcept;

}  // namespace tally::sync
