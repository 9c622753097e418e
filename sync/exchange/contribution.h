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

/// The call that an exchange belongs to; ranks in different calls are a
/// mismatch.
enum class ExchangeKind : std::uint16_t {
  kCollective = 1,
  kStates = 2,
  kBackward = 3,
  kGradients = 4,
};

/// For a sync of metrics, the function that the program called; different
/// functions are a mismatch.
enum class MetricCall : std::uint16_t {
  kNone,
  kForward,
  kCompute,
  kSync,
  kSyncAsync,
  kMetricLoss,
  kSyncTogether,
  kSave,
};
/// "compute()".
const char* name_of(MetricCall call);

/// Information about a rank in every kind of exchange; received by every rank.
namespace flags {
/// It does not need the payloads; they are skipped if no rank does.
inline constexpr std::uint32_t kCached = 1;
inline constexpr std::uint32_t kHasGraph = 2;
/// It records no gradients.
inline constexpr std::uint32_t kRecordsNothing = 4;
/// The payload lacks data that separate collectives will move.
inline constexpr std::uint32_t kMoves = 8;
/// Bits from here on belong to the caller.
inline constexpr std::uint32_t kFirstOwn = 1 << 8;
}  // namespace flags

/// One rank's contribution to an exchange.
struct Contribution {
  ExchangeKind kind = ExchangeKind::kCollective;
  /// The name of the synchronized object, for errors.
  std::string label;
  /// The hash of a text that must be the same on all ranks. The text is
  /// requested only if hashes differ, to name the difference. One line per
  /// item.
  std::uint64_t fingerprint = 0;
  std::function<std::string()> schema = {};
  /// These must also be the same.
  MetricCall call = MetricCall::kNone;
  GradientFlow flow = GradientFlow::kDetached;
  /// Number of earlier exchanges of this metric in this group. Must be equal on
  /// ranks where it is known (at least 1).
  std::uint32_t uses = 0;
  /// For errors: the number of updates before this call; -1 if not applicable.
  std::int64_t updates = -1;
  std::uint32_t flags = 0;
  /// Null: nothing. A transport may still read it after a failed call.
  std::shared_ptr<const std::string> payload = {};
  /// The device of this rank's tensors that may be moved afterwards.
  c10::Device device = at::kCPU;
  /// If not empty, this rank failed and has no payload. It takes part so that
  /// no rank waits for it; the others throw kPeerFailed with this text.
  std::string failure = {};
};

/// The contributions of all ranks. Payloads are views into memory owned by
/// `storage`; long ones are aligned to 64 bytes.
struct Contributions {
  /// Whether any rank has this flag.
  bool any(std::uint32_t flag) const;

  std::vector<std::string_view> payloads;
  std::vector<std::uint32_t> flags;
  bool payloads_skipped = false;  ///< all ranks are kCached
  std::int64_t sequence = -1;
  /// The maximum over all ranks.
  std::uint32_t uses = 0;
  /// The device for moving tensors that are not part of payloads: the
  /// communicator's accelerator if any rank's are there, otherwise its device.
  c10::Device device = at::kCPU;
  at::Tensor storage;
};

/// Throws for inconsistent payloads, which every rank has detected.
[[noreturn]] void payload_mismatch(const Communicator& communicator,
                                   const std::string& label,
                                   std::int64_t sequence,
                                   const std::string& text,
                                   std::vector<int> peers);

/// Throws kMismatch, on every rank, if one has a graph and others record no
/// gradients: its backward pass would wait for theirs.
void require_gradients(const Communicator& communicator,
                       const std::string& label, const Contributions& all);

}  // namespace tally::sync::internal
