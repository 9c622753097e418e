#include "tally/sync/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tally/state/outside_inference.h"
#include "tally/sync/exchange_headers.h"

namespace tally::sync {
namespace {

using internal::bytes_on;
using internal::chars;
using internal::Header;
using internal::Headers;

// Holds the communicator's flag, so that two threads cannot mix their rounds.
class InUse {
 public:
  InUse(std::atomic<bool>& flag, const Communicator& communicator)
      : flag_(flag) {
    if (flag_.exchange(true, std::memory_order_acquire)) {
      SyncErrorDetails details;
      details.rank = communicator.rank();
      details.phase = "header";
      throw SyncError(SyncErrorCode::kInvalidUse,
                      communicator.describe() +
                          ": expected one thread at a time, got a second",
                      std::move(details));
    }
  }
  ~InUse() { flag_.store(false, std::memory_order_release); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  std::atomic<bool>& flag_;
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
  const InUse in_use(communicator.exchange_in_use_, communicator);
  Exchange exchange(communicator, own, timeout);
  exchange.send_slot();
  return exchange.finish_in_use();
}

std::unique_ptr<Exchange> Exchange::start(Communicator& communicator,
                                          const Contribution& own,
                                          Timeout timeout) {
  const InUse in_use(communicator.exchange_in_use_, communicator);
  std::unique_ptr<Exchange> exchange(new Exchange(communicator, own, timeout));
  exchange->send_slot();
  exchange->in_background_ = true;
  communicator.background_.push_back(exchange.get());
  return exchange;
}

Exchange::~Exchange() {
  if (finished_ || !in_background_) return;
  try {
    finish();
  } catch (const std::exception&) {
    // Nobody asks for the result; the communicator keeps the reason.
  }
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

// Round 1, in buffers that the communicator lends.
void Exchange::send_slot() {
  const tally::internal::OutsideInference outside;
  const c10::Device device = communicator_.device();
  const bool failed = !own_.failure.empty();
  const std::string_view payload =
      failed ? own_.failure.substr(0, eager_bytes()) : own_.payload;
  sequence_ = communicator_.sequence_++;

  Header header{};
  header.magic = internal::kMagic;
  header.protocol = internal::kProtocol;
  header.kind = static_cast<std::uint16_t>(own_.kind);
  header.sequence = sequence_;
  header.fingerprint = own_.fingerprint;
  header.payload_bytes = static_cast<std::int64_t>(payload.size());
  header.flags = own_.flags;
  header.failed = failed ? 1 : 0;
  header.has_accelerator = communicator_.accelerator() ? 1 : 0;
  header.on_accelerator = own_.device == communicator_.accelerator() ? 1 : 0;

  slot_ = std::exchange(communicator_.slot_, at::Tensor());
  if (!slot_.defined()) slot_ = bytes_on(at::kCPU, slot_bytes()).zero_();
  slots_ = std::exchange(communicator_.slots_, at::Tensor());
  if (!slots_.defined() || slots_.use_count() > 1) {
    slots_ = bytes_on(device, communicator_.size() * slot_bytes());
  }
  std::memcpy(chars(slot_), &header, sizeof(header));
  if (header.payload_bytes <= eager_bytes()) {
    std::memcpy(chars(slot_) + sizeof(header), payload.data(), payload.size());
  }
  named("header", [&] {
    transfer_ =
        communicator_.start_all_gather(slot_.to(device), slots_, timeout_);
  });
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
  } catch (const SyncError&) {
    communicator_.sequence_ = headers.next_sequence(communicator_.sequence_);
    throw;
  }
  if (!own_.failure.empty()) return;

  const int ranks = communicator_.size();
  const bool on_accelerator =
      !headers.all([](const Header& h) { return h.on_accelerator == 0; });
  result_.device =
      on_accelerator ? *communicator_.accelerator() : communicator_.device();
  for (int r = 0; r < ranks; ++r) {
    result_.flags.push_back(headers[r].flags);
    sizes_.push_back(headers[r].payload_bytes);
  }
  result_.payloads_skipped =
      own_.skip_payload_if_all != 0 && headers.all([&](const Header& h) {
        return (h.flags & own_.skip_payload_if_all) == own_.skip_payload_if_all;
      });
  if (result_.payloads_skipped) return;
  const std::int64_t longest = headers.longest_payload();
  if (longest > eager_bytes()) {
    block_ = internal::block_bytes(longest);
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
    const c10::Device device = communicator_.device();
    input_ =
        internal::padded(own_.payload, block_, own_.payload_owner).to(device);
    output_ = bytes_on(device, communicator_.size() * block_);
    named("payload", [&] {
      transfer_ = communicator_.start_all_gather(input_, output_, timeout_);
    });
  } catch (const std::exception&) {
    error_ = std::current_exception();
  }
}

Contributions Exchange::finish() {
  const InUse in_use(communicator_.exchange_in_use_, communicator_);
  return finish_in_use();
}

Contributions Exchange::finish_in_use() {
  finished_ = true;
  communicator_.advance_background();
  if (in_background_) {
    auto& list = communicator_.background_;
    Communicator::Background* const self = this;
    list.erase(std::remove(list.begin(), list.end(), self), list.end());
  }
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
  return std::move(result_);
}

}  // namespace tally::sync
