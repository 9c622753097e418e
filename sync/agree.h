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

/// What collectives and losses begin with: the ranks agree on what they are
/// about to do. With autograd.h and reduce.h a loss over all ranks is written:
/// docs/gradients.md ("A loss of your own"), examples/custom_loss.cc.
namespace tally::sync {

namespace internal {
enum class ExchangeKind : std::uint16_t;
}  // namespace internal

/// A call that all ranks make together.
struct Call {
  /// The name, with its options, is what all ranks must have in common. Null:
  /// default_communicator(). Empty: the communicator's timeout.
  explicit Call(std::string call_name,
                std::shared_ptr<Communicator> ranks = nullptr,
                Timeout limit = {});

  int rank() const { return communicator->rank(); }
  int size() const { return communicator->size(); }
  /// The backward pass of the call whose agreement had this number.
  Call backward(std::int64_t sequence) const;
  /// The backward pass of a gradient.
  Call backward_of_gradient() const;
  /// Names the call in accounts and profiles, for as long as it lives.
  AskedBy asked() const { return AskedBy(asker.empty() ? name : asker); }

  std::string name;
  std::shared_ptr<Communicator> communicator;
  Timeout timeout;
  std::string asker;  ///< in accounts; empty: `name`
  internal::ExchangeKind kind;
};

/// What this rank brings.
struct Offer {
  /// What all ranks must have in common besides the call's name, such as dtypes
  /// and options.
  std::string schema;
  /// What may differ, and every rank is to know.
  std::string payload;
  /// Whether this rank's backward pass communicates. If any rank's does, all of
  /// them have to take part in it: attach() sees to that.
  bool has_graph = false;
};

/// What all ranks bring.
struct Agreement {
  /// In rank order. Views into memory that `storage` keeps.
  std::vector<std::string_view> payloads;
  bool any_graph = false;
  /// For Call::backward.
  std::int64_t sequence = -1;
  at::Tensor storage;
};

/// Exchanges the ranks' offers, in one collective up to about 16 KB a rank (4
/// KB above 64 ranks), else in two.
///
/// What `prepare` throws (checks of arguments belong there) is thrown here, and
/// the other ranks throw SyncError kPeerFailed with its text: nobody waits.
/// kMismatch on every rank if they are in different calls or bring other
/// schemas, or if one has a graph while others record no gradients. Both leave
/// the group usable.
///
/// What follows on an agreement is the same on every rank; where a rank may
/// fail in it alone, it belongs in or_give_up().
Agreement agree(const Call& call, c10::function_ref<Offer()> prepare);

/// Takes part in the ranks' next agreement in the place of this rank's call,
/// which `error` keeps from happening: the others throw kPeerFailed with its
/// text. To be called before `error` goes on its way.
void report_failure(const Call& call, const std::exception_ptr& error) noexcept;

}  // namespace tally::sync
