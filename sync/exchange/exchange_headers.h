#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/sync/exchange/exchange.h"

/// The slots of an exchange's first round, used by exchange.cc.
namespace tally::sync::internal {

inline constexpr std::uint32_t kMagic = 0x594c4154;  // "TALY"
inline constexpr std::uint16_t kProtocol = 5;

struct Header {
  std::uint32_t magic;
  std::uint16_t protocol;
  std::uint16_t kind;
  std::int64_t sequence;
  std::uint64_t fingerprint;
  std::int64_t payload_bytes;
  std::uint32_t flags;
  std::uint16_t call;
  std::uint8_t flow;
  std::uint8_t failed;
  std::uint8_t has_accelerator;
  std::uint8_t on_accelerator;
  std::uint8_t rider;  // Rider::says; 0: there is none
  std::uint8_t reserved;
  std::uint32_t uses;
  std::uint32_t payload_checksum;
  std::uint32_t checksum;  // of the header, with 0 in this place
  std::array<std::uint32_t, 2> later;
};
static_assert(sizeof(Header) == Exchange::kHeaderBytes);

std::uint32_t checksum_of(std::string_view payload);
std::uint32_t checksum_of(Header header);

/// Describes the rank's call: "compute() of accuracy after 4 updates".
std::string name_of(const Contribution& own);

/// For messages about a call that all ranks must make: how to compute a rank's
/// own value instead. Empty for other calls.
std::string ways_to_be_alone(ExchangeKind kind, MetricCall call);

/// Throws kTransport, naming the ranks whose header or payload (`part`) is
/// corrupted.
void require_intact(const char* part, const Communicator& communicator,
                    const Contribution& own, std::int64_t sequence,
                    c10::function_ref<bool(int rank)> is_intact);

inline at::Tensor bytes_on(c10::Device device, std::int64_t size) {
  return at::empty({size}, at::TensorOptions().dtype(at::kByte).device(device));
}

inline char* chars(at::Tensor& bytes) {
  return static_cast<char*>(bytes.mutable_data_ptr());
}

inline const char* chars(const at::Tensor& bytes) {
  return static_cast<const char*>(bytes.const_data_ptr());
}

/// The length to which a payload is padded, so that the next one is aligned.
inline std::int64_t block_bytes(std::int64_t payload) {
  return (payload + 63) / 64 * 64;
}

/// A CPU tensor padded with zeros. Without padding, it refers to `bytes` if
/// `owner` keeps them alive.
at::Tensor padded(std::string_view bytes, std::int64_t size,
                  std::shared_ptr<const void> owner = {});

/// The headers of all ranks, checked in the same way by each of them: all
/// detect the same errors.
class Headers {
 public:
  /// Refers to its arguments.
  Headers(Communicator& communicator, const Contribution& own,
          const at::Tensor& slots, Timeout timeout);

  const Header& operator[](int rank) const { return headers_[rank]; }
  std::string_view eager_payload(int rank) const {
    return {slot(rank) + sizeof(Header),
            static_cast<size_t>(headers_[rank].payload_bytes)};
  }
  bool all(c10::function_ref<bool(const Header&)> test) const {
    return std::all_of(headers_.begin(), headers_.end(), test);
  }
  std::int64_t longest_payload() const;
  std::uint32_t most_uses() const;

  /// Throws SyncError, checking in the same order on every rank. Afterwards all
  /// ranks are known to make the same call for the same object, and none has
  /// failed except possibly this one; headers and eager payloads are intact.
  void check() const;
  /// The next sequence number, if check() had to change it.
  std::int64_t next_sequence(std::int64_t otherwise) const {
    return next_sequence_ < 0 ? otherwise : next_sequence_;
  }

 private:
  using Text = c10::function_ref<std::string(const Header&)>;

  int ranks() const { return communicator_.size(); }
  bool well_formed(const Header& header) const;
  const char* slot(int rank) const {
    return chars(slots_) + rank * Exchange::slot_bytes(ranks());
  }
  std::vector<int> differing(Text text) const;
  void require_equal(const char* complaint, Text text) const;
  void check_intact() const;
  std::string by_rank(c10::function_ref<std::string(int)> text) const;
  std::string ways_to_be_alone() const;
  std::vector<std::string> texts_of_ranks(const std::string& own) const;
  void require_equal_uses() const;
  [[noreturn]] void explain_calls(std::vector<int> others) const;
  [[noreturn]] void explain_schemas(std::vector<int> others) const;
  [[noreturn]] void fail(SyncErrorCode code, const std::string& message,
                         std::vector<int> peers, std::string state = {}) const;

  Communicator& communicator_;
  const Contribution& own_;
  const at::Tensor& slots_;
  Timeout timeout_;
  std::vector<Header> headers_;
  mutable std::int64_t next_sequence_ = -1;
};

}  // namespace tally::sync::internal
