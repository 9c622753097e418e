#pragma once

#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/sync/exchange/byte_gather.h"
#include "tally/sync/exchange/contribution.h"
#include "tally/sync/exchange/session.h"

namespace tally::sync::internal {

/// The mechanism by which Tally gathers data that differs between ranks.
///
/// Round 1 gathers a slot of constant size: a header (protocol, sequence,
/// fingerprint, status, sizes) and the payload if it fits. Because the slot's
/// size depends only on the number of ranks, ranks that disagree on anything
/// can still communicate: every rank sees all headers, detects the same error
/// and throws the same SyncError, and the group remains usable. Round 2 gathers
/// the payloads if any did not fit. docs/sync_protocol.md has the details. If
/// they are long, the ranks first tell each other whether they have the memory;
/// any other failure of a rank to complete its part immediately makes the group
/// unusable.
///
/// Collective. On a rank that passed a `failure` it returns no payloads and
/// does not throw for it. Errors name the contribution's label, sequence and
/// phase.
class Exchange final : private Background {
 public:
  static constexpr std::int64_t kHeaderBytes = 64;
  /// Bytes that each rank sends in round 1.
  static constexpr std::int64_t slot_bytes(int ranks) {
    return ranks <= 64 ? 16384 : 4096;
  }
  /// The longest payload that needs no second round.
  static constexpr std::int64_t eager_bytes(int ranks) {
    return slot_bytes(ranks) - kHeaderBytes;
  }

  static Contributions run(Communicator& communicator, const Contribution& own,
                           Timeout timeout = {});

  /// Starts round 1 and returns; the exchange continues asynchronously.
  /// Whenever another collective of the communicator is entered, or another
  /// exchange is finished, a pending round 1 is finished first and round 2 is
  /// started: at the same point of every rank's program. `own` and the
  /// communicator must outlive it.
  static std::unique_ptr<Exchange> start(Communicator& communicator,
                                         const Contribution& own,
                                         Timeout timeout = {});
  /// REQUIRES: called once.
  Contributions finish();
  /// Finishes it if necessary, as other ranks rely on it.
  ~Exchange();

  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  Exchange(Communicator& communicator, const Contribution& own,
           Timeout timeout);
  std::int64_t slot_bytes() const { return slot_bytes(communicator_.size()); }
  std::int64_t eager_bytes() const { return eager_bytes(communicator_.size()); }
  std::string_view own_payload() const;
  void begin();
  void send_slot();
  void advance() noexcept override;
  Contributions finish_in_use();
  void receive_slots();
  void start_round_2();
  template <class Call>
  void named(const char* phase, const Call& call) const;

  Communicator& communicator_;
  ExchangeSession& session_;
  const Contribution& own_;
  Timeout timeout_;
  std::int64_t sequence_;
  bool in_background_ = false;
  bool advanced_ = false;
  bool finished_ = false;
  std::exception_ptr error_;
  at::Tensor slot_;
  at::Tensor slots_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::uint32_t> checksums_;
  Contributions result_;
  bool has_round_2_ = false;
  std::optional<ByteGather> gather_;  // of round 2
  Transfer transfer_;
};

/// `own`, completed by `fill`; a missing fingerprint is computed from the
/// schema. Its exceptions are rethrown after report().
Contribution prepared(Communicator& communicator, Contribution own,
                      Timeout timeout,
                      c10::function_ref<void(Contribution& own)> fill);

/// Takes part in place of an exchange prevented by `error`: the others throw
/// kPeerFailed with its text. Does not throw, so as not to hide the first
/// error.
void report(Communicator& communicator, ExchangeKind kind,
            const std::string& label, const std::exception_ptr& error,
            Timeout timeout) noexcept;

}  // namespace tally::sync::internal
