#pragma once

#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <exception>
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
};

/// What one rank brings to an exchange.
struct Contribution {
  ExchangeKind kind = ExchangeKind::kCollective;
  /// The name of what is synchronised, for errors.
  std::string_view label;
  /// What all ranks must have in common, and its hash. The text is asked for
  /// only when the hashes differ, to say how. One line per item.
  std::uint64_t fingerprint = 0;
  c10::function_ref<std::string()> schema;
  /// These, too.
  SyncCall call = SyncCall::kNone;
  GradientFlow flow = GradientFlow::kDetached;
  /// How often this metric was in an exchange of this group before. Ranks that
  /// know their number (from 1 on) must have the same.
  std::uint32_t uses = 0;
  /// For errors: the updates before this call; -1 if there is no such thing.
  std::int64_t updates = -1;
  /// Seen by every rank; the meaning is the caller's.
  std::uint32_t flags = 0;
  /// With a bit set here in every rank's flags, payloads are not exchanged
  /// beyond what the first round carried.
  std::uint32_t skip_payload_if_all = 0;
  std::string_view payload = {};
  /// Keeps the payload alive, which is then sent from where it is: a transport
  /// may still read it after a failed call.
  std::shared_ptr<const void> payload_owner = {};
  /// Where this rank's tensors are that may be moved afterwards.
  c10::Device device = at::kCPU;
  /// Not empty: this rank failed and has no payload. It takes part, so that
  /// nobody waits for it; the others throw kPeerFailed with this text.
  std::string_view failure = {};
};

/// What every rank brought. Payloads are views into memory that `storage`
/// keeps alive; if they were long, they begin at multiples of 64 bytes.
struct Contributions {
  std::vector<std::string_view> payloads;
  std::vector<std::uint32_t> flags;
  bool payloads_skipped = false;
  std::int64_t sequence = -1;
  /// The greatest of all ranks' numbers.
  std::uint32_t uses = 0;
  /// Where tensors are to be moved that were not part of payloads: the
  /// communicator's accelerator if some rank's are there, else its device.
  c10::Device device = at::kCPU;
  at::Tensor storage;
};

/// The one way in which Tally gathers what differs between ranks.
///
/// Round 1 gathers a slot of constant size: a header (protocol, sequence,
/// fingerprint, status, sizes) and the payload where it fits. Because nothing
/// but the number of ranks decides on the slot's size, ranks that disagree on
/// anything still understand each other: every rank sees all headers, finds the
/// same fault and throws the same SyncError, and the group stays usable. Round
/// 2 gathers the payloads, padded to the longest, if any did not fit.
/// docs/sync_protocol.md has the details. If they are long the ranks tell each
/// other first whether they have the memory; whatever else keeps a rank from
/// taking part to the end finishes the group at once.
///
/// Collective. On the rank that passed a `failure` it gives no payloads and
/// does not throw for it. Errors name the contribution's label, sequence and
/// phase.
class Exchange final : private Communicator::Background {
 public:
  static constexpr std::int64_t kHeaderBytes = 64;
  /// Bytes that each of so many ranks sends in round 1.
  static constexpr std::int64_t slot_bytes(int ranks) {
    return ranks <= 64 ? 16384 : 4096;
  }
  /// The longest payload that needs no second round.
  static constexpr std::int64_t eager_bytes(int ranks) {
    return slot_bytes(ranks) - kHeaderBytes;
  }

  static Contributions run(Communicator& communicator, const Contribution& own,
                           Timeout timeout = {});

  /// Starts round 1 and returns; the exchange goes on while the caller does
  /// other things. Whenever another collective of the communicator is entered,
  /// or another exchange is finished, and round 1 is not yet, it is finished
  /// first and round 2 is started: at the same point of every rank's program.
  /// `own` and the communicator must outlive it.
  static std::unique_ptr<Exchange> start(Communicator& communicator,
                                         const Contribution& own,
                                         Timeout timeout = {});
  /// REQUIRES: called once.
  Contributions finish();
  /// Finishes it if nobody has, for the other ranks' sake.
  ~Exchange();

  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  Exchange(Communicator& communicator, const Contribution& own,
           Timeout timeout);
  std::int64_t slot_bytes() const { return slot_bytes(communicator_.size()); }
  std::int64_t eager_bytes() const { return eager_bytes(communicator_.size()); }
  void begin();
  void send_slot();
  void advance() noexcept override;
  Contributions finish_in_use();
  void receive_slots();
  template <class Call>
  void named(const char* phase, const Call& call) const;
  void give_up_after(const SyncError& error) const noexcept;

  Communicator& communicator_;
  const Contribution& own_;
  Timeout timeout_;
  std::int64_t sequence_;
  bool in_background_ = false;
  bool advanced_ = false;
  bool finished_ = false;
  std::exception_ptr error_;
  at::Tensor slot_;
  at::Tensor slots_;
  std::int64_t block_ = 0;  // of round 2; 0: there is none
  std::vector<std::int64_t> sizes_;
  std::vector<std::uint32_t> checksums_;
  Contributions result_;
  at::Tensor input_;
  at::Tensor output_;
  Transfer transfer_;
};

/// Takes part in the place of an exchange that `error` keeps from happening:
/// the others throw kPeerFailed with its text. Throws nothing itself: what went
/// wrong first matters more.
void report(Communicator& communicator, Contribution own,
            const std::exception_ptr& error, Timeout timeout) noexcept;

}  // namespace tally::sync::internal
