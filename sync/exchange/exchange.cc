#include "tally/sync/exchange/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/exchange_headers.h"
#include "tally/sync/exchange/readiness.h"

namespace tally::sync::internal {
namespace {

// Holds the communicator, so that two threads cannot mix their rounds.
class InUse {
 public:
  enum class Busy { kRefuse, kWait };

  InUse(Turn& turn, const Communicator& communicator, Busy busy = Busy::kRefuse)
      : turn_(turn) {
    const bool wait = busy == Busy::kWait;
    if (!(wait ? turn_.enter() : turn_.try_enter())) {
      SyncErrorDetails details;
      details.rank = communicator.rank();
      details.phase = "header";
      throw SyncError(SyncErrorCode::kInvalidUse,
                      communicator.describe() +
                          ": expected one thread at a time, got a second",
                      std::move(details));
    }
  }
  ~InUse() { turn_.leave(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Turn& turn_;
};

}  // namespace

Exchange::Exchange(Communicator& communicator, const Contribution& own,
                   Timeout timeout)
    : communicator_(communicator),
      own_(own),
      timeout_(timeout),
      sequence_(communicator.sequence_) {}

Contributions Exchange::run(Communicator& communicator, const Contribution& own,
                            Timeout timeout) {
  const InUse in_use(communicator.exchange_turn_, communicator);
  Exchange exchange(communicator, own, timeout);
  exchange.begin();
  return owed(communicator, [&] { return exchange.finish_in_use(); });
}

std::unique_ptr<Exchange> Exchange::start(Communicator& communicator,
                                          const Contribution& own,
                                          Timeout timeout) {
  const InUse in_use(communicator.exchange_turn_, communicator);
  const std::lock_guard<std::recursive_mutex> lock(
      communicator.background_mutex_);
  auto exchange = owed(communicator, [&] {
    communicator.background_.reserve(communicator.background_.size() + 1);
    return std::unique_ptr<Exchange>(new Exchange(communicator, own, timeout));
  });
  exchange->begin();
  exchange->in_background_ = true;
  communicator.background_.push_back(exchange.get());
  return exchange;
}

Exchange::~Exchange() {
  if (!in_background_) return;
  if (!finished_) {
    try {
      const InUse in_use(communicator_.exchange_turn_, communicator_,
                         InUse::Busy::kWait);
      finish_in_use();
    } catch (...) {
      // Nobody asks for the result; the communicator keeps the reason.
    }
  }
  communicator_.leave_background(*this);
}

// `call`, with what this exchange knows in its errors.
template <class Call>
void Exchange::named(const char* phase, const Call& call) const {
  try {
    call();
  } catch (const SyncError& error) {
    SyncErrorDetails details = error.details();
    details.metric = std::string(own_.label);
    details.sequence = sequence_;
    details.phase = phase;
    throw SyncError(error.code(), error.message(), std::move(details));
  }
}

// Nothing is sent where another thread is in the way, or a timeout is refused.
void Exchange::begin() {
  try {
    send_slot();
  } catch (const SyncError&) {
    throw;
  } catch (const c10::ValueError&) {
    throw;
  } catch (...) {
    communicator_.give_up(std::current_exception());
    throw;
  }
}

// A transport that changes what it carries is not to be used again.
void Exchange::give_up_after(const SyncError& error) const noexcept {
  if (error.code() != SyncErrorCode::kTransport) return;
  try {
    communicator_.broken_reason_ = error.message();
    communicator_.do_give_up(communicator_.broken_reason_);
  } catch (...) {
    // The others find out by their timeout.
  }
}

// Round 1, in buffers that the communicator lends.
void Exchange::send_slot() {
  const tally::internal::OutsideInference outside;
  const c10::Device device = communicator_.device();
  const bool failed = !own_.failure.empty();
  const std::string_view payload =
      failed ? own_.failure.substr(0, eager_bytes()) : own_.payload;

  Header header{};
  header.magic = kMagic;
  header.protocol = kProtocol;
  header.kind = static_cast<std::uint16_t>(own_.kind);
  header.sequence = sequence_;
  header.fingerprint = own_.fingerprint;
  header.payload_bytes = static_cast<std::int64_t>(payload.size());
  header.flags = own_.flags;
  header.call = static_cast<std::uint16_t>(own_.call);
  header.flow = static_cast<std::uint8_t>(own_.flow);
  header.uses = own_.uses;
  header.failed = failed ? 1 : 0;
  header.has_accelerator = communicator_.accelerator() ? 1 : 0;
  header.on_accelerator = own_.device == communicator_.accelerator() ? 1 : 0;

  slot_ = std::exchange(communicator_.slot_, at::Tensor());
  if (!slot_.defined()) slot_ = bytes_on(at::kCPU, slot_bytes()).zero_();
  slots_ = std::exchange(communicator_.slots_, at::Tensor());
  if (!slots_.defined() || slots_.use_count() > 1) {
    slots_ = bytes_on(device, communicator_.size() * slot_bytes());
  }
  header.payload_checksum = checksum_of(payload);
  header.checksum = checksum_of(header);
  std::memcpy(chars(slot_), &header, sizeof(header));
  if (header.payload_bytes <= eager_bytes()) {
    std::memcpy(chars(slot_) + sizeof(header), payload.data(), payload.size());
  }
  named("header", [&] {
    transfer_ =
        communicator_.start_all_gather(slot_.to(device), slots_, timeout_);
  });
  communicator_.sequence_ = std::max(communicator_.sequence_, sequence_ + 1);
}

// Reads round 1, and finds out whether there is a round 2.
void Exchange::receive_slots() {
  named("header", [&] { transfer_.wait(); });
  result_.storage = slots_.cpu();
  result_.sequence = sequence_;
  communicator_.slot_ = std::exchange(slot_, at::Tensor());
  communicator_.slots_ = std::exchange(slots_, at::Tensor());

  const Headers headers(communicator_, own_, result_.storage, timeout_);
  try {
    headers.check();
  } catch (const SyncError& error) {
    communicator_.sequence_ = headers.next_sequence(communicator_.sequence_);
    give_up_after(error);
    throw;
  }
  if (!own_.failure.empty()) return;

  result_.uses = headers.most_uses();
  const int ranks = communicator_.size();
  const bool on_accelerator =
      !headers.all([](const Header& h) { return h.on_accelerator == 0; });
  result_.device =
      on_accelerator ? *communicator_.accelerator() : communicator_.device();
  for (int r = 0; r < ranks; ++r) {
    result_.flags.push_back(headers[r].flags);
    sizes_.push_back(headers[r].payload_bytes);
    checksums_.push_back(headers[r].payload_checksum);
  }
  result_.payloads_skipped =
      own_.skip_payload_if_all != 0 && headers.all([&](const Header& h) {
        return (h.flags & own_.skip_payload_if_all) == own_.skip_payload_if_all;
      });
  if (result_.payloads_skipped) return;
  const std::int64_t longest = headers.longest_payload();
  if (longest > eager_bytes()) {
    block_ = block_bytes(longest);
    return;
  }
  for (int r = 0; r < ranks; ++r) {
    result_.payloads.push_back(headers.eager_payload(r));
  }
}

// Finishes round 1 and starts round 2, if there is one.
void Exchange::advance() noexcept {
  if (std::exchange(advanced_, true)) return;
  try {
    receive_slots();
    if (block_ == 0) return;
    make_ready(communicator_, {own_.label, sequence_, timeout_}, block_, [&] {
      const c10::Device device = communicator_.device();
      input_ = padded(own_.payload, block_, own_.payload_owner).to(device);
      output_ = bytes_on(device, communicator_.size() * block_);
    });
    named("payload", [&] {
      transfer_ = communicator_.start_all_gather(input_, output_, timeout_);
    });
  } catch (...) {
    error_ = std::current_exception();
    communicator_.give_up(error_);
  }
}

void report(Communicator& communicator, Contribution own,
            const std::exception_ptr& error, Timeout timeout) noexcept {
  try {
    std::string reason = describe(error);
    if (reason.empty()) reason = "unknown reason";
    own.failure = reason;
    Exchange::run(communicator, own, timeout);
    communicator.others_know(error);
  } catch (const SyncError& found) {
    if (found.code() == SyncErrorCode::kMismatch) {
      communicator.others_know(error);
    }
  } catch (...) {
    communicator.give_up(error);
  }
}

Contributions Exchange::finish() {
  const InUse in_use(communicator_.exchange_turn_, communicator_);
  return owed(communicator_, [&] { return finish_in_use(); });
}

Contributions Exchange::finish_in_use() {
  finished_ = true;
  communicator_.advance_background();
  advance();
  if (error_) std::rethrow_exception(error_);
  if (block_ == 0) return std::move(result_);
  named("payload", [&] { transfer_.wait(); });
  result_.storage = output_.cpu();
  for (size_t r = 0; r < sizes_.size(); ++r) {
    result_.payloads.emplace_back(
        chars(result_.storage) + static_cast<std::int64_t>(r) * block_,
        static_cast<size_t>(sizes_[r]));
  }
  try {
    require_intact("payload", communicator_, own_, sequence_, [&](int r) {
      return checksum_of(result_.payloads[r]) == checksums_[r];
    });
  } catch (const SyncError& error) {
    give_up_after(error);
    throw;
  }
  return std::move(result_);
}

}  // namespace tally::sync::internal
