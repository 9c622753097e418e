#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/sync/gradient_flow.h"

namespace tally::sync::internal {

/// Which call an exchange belongs to; ranks in different calls are a mismatch.
enum class ExchangeKind : std::uint16_t {
  kCollective = 1,
  kStates = 2,
  kBackward = 3,
  kGradients = 4,
};

/// Of a sync of metrics, what the program called; ranks that called different
/// things are a mismatch.
enum class SyncCall : std::uint16_t {
  kNone,
  kForward,
  kCompute,
  kSync,
  kSyncAsync,
  kMetricLoss,
  kSyncTogether,
  kSave,
};

/// What a rank says of itself, in every kind of exchange; seen by every rank.
namespace flags {
/// It does without the payloads; they are skipped if all ranks do.
inline constexpr std::uint32_t kCached = 1;
inline constexpr std::uint32_t kHasGraph = 2;
/// It records no gradients.
inline constexpr std::uint32_t kRecordsNothing = 4;
/// The payload lacks what collectives are to move.
inline constexpr std::uint32_t kMoves = 8;
/// From here on the meaning is the caller's.
inline constexpr std::uint32_t kFirstOwn = 1 << 8;
}  // namespace flags

/// What one rank brings to an exchange.
struct Contribution {
  ExchangeKind kind = ExchangeKind::kCollective;
  /// The name of what is synchronised, for errors.
  std::string label;
  /// What all ranks must have in common, and its hash. The text is asked for
  /// only when the hashes differ, to say how. One line per item.
  std::uint64_t fingerprint = 0;
  std::function<std::string()> schema = {};
  /// These, too.
  SyncCall call = SyncCall::kNone;
  GradientFlow flow = GradientFlow::kDetached;
  /// How often this metric was in an exchange of this group before. Ranks that
  /// know their number (from 1 on) must have the same.
  std::uint32_t uses = 0;
  /// For errors: the updates before this call; -1 if there is no such thing.
  std::int64_t updates = -1;
  std::uint32_t flags = 0;
  /// Null: nothing. A transport may still read it after a failed call.
  std::shared_ptr<const std::string> payload = {};
  /// Where this rank's tensors are that may be moved afterwards.
  c10::Device device = at::kCPU;
  /// Not empty: this rank failed and has no payload. It takes part, so that
  /// nobody waits for it; the others throw kPeerFailed with this text.
  std::string failure = {};
};

/// What every rank brought. Payloads are views into memory that `storage`
/// keeps alive; if they were long, they begin at multiples of 64 bytes.
struct Contributions {
  /// Whether some rank has this flag.
  bool any(std::uint32_t flag) const;

  std::vector<std::string_view> payloads;
  std::vector<std::uint32_t> flags;
  bool payloads_skipped = false;  ///< all ranks are kCached
  std::int64_t sequence = -1;
  /// The greatest of all ranks' numbers.
  std::uint32_t uses = 0;
  /// Where tensors have to be moved that were not part of payloads: the
  /// communicator's accelerator if some rank's are there, else its device.
  c10::Device device = at::kCPU;
  at::Tensor storage;
};

/// The ranks' payloads do not go together, as every rank has found out.
[[noreturn]] void payload_mismatch(const Communicator& communicator,
                                   const std::string& label,
                                   std::int64_t sequence,
                                   const std::string& text,
                                   std::vector<int> peers);

/// kMismatch, on every rank, if one has a graph and others record no gradients:
/// its backward pass would wait for theirs.
void require_gradients(const Communicator& communicator,
                       const std::string& label, const Contributions& all);

}  // namespace tally::sync::internal
