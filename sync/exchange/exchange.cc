#include "tally/sync/exchange/exchange.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tally/state/outside_inference.h"
#include "tally/sync/errors.h"
#include "tally/sync/exchange/contribution.h"
#include "tally/sync/exchange/exchange_headers.h"
#include "tally/sync/exchange/readiness.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync::internal {

bool Contributions::any(std::uint32_t flag) const {
  return std::any_of(flags.begin(), flags.end(), [&](std::uint32_t of_rank) {
    return (of_rank & flag) != 0;
  });
}

void payload_mismatch(const Communicator& communicator,
                      const std::string& label, std::int64_t sequence,
                      const std::string& text, std::vector<int> peers) {
  SyncErrorDetails details;
  details.metric = label;
  details.rank = communicator.rank();
  details.peers = std::move(peers);
  details.sequence = sequence;
  details.phase = "payload";
  throw SyncError(SyncErrorCode::kMismatch, text, std::move(details));
}

void require_gradients(const Communicator& communicator,
                       const std::string& label, const Contributions& all) {
  std::vector<int> with_graph, others;
  for (int r = 0; r < communicator.size(); ++r) {
    const std::uint32_t of_rank = all.flags[r];
    if ((of_rank & flags::kHasGraph) != 0) with_graph.push_back(r);
    if ((of_rank & flags::kRecordsNothing) != 0) others.push_back(r);
  }
  if (with_graph.empty() || others.empty()) return;
  const std::string text =
      c10::str("the backward pass of rank ", with_graph.front(),
               " would wait for ranks that record no gradients: ",
               c10::Join(", ", others));
  payload_mismatch(communicator, label, all.sequence, text, std::move(others));
}

namespace {

// Holds the communicator, so that two threads cannot mix their rounds.
class InUse {
 public:
  enum class Busy { kRefuse, kWait };

  explicit InUse(Communicator& communicator, Busy busy = Busy::kRefuse)
      : turn_(session_of(communicator).turn) {
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
      session_(session_of(communicator)),
      own_(own),
      timeout_(timeout),
      sequence_(session_.sequence) {}

Contributions Exchange::run(Communicator& communicator, const Contribution& own,
                            Timeout timeout) {
  const InUse in_use(communicator);
  Exchange exchange(communicator, own, timeout);
  exchange.begin();
  return or_give_up(communicator, [&] { return exchange.finish_in_use(); });
}

std::unique_ptr<Exchange> Exchange::start(Communicator& communicator,
                                          const Contribution& own,
                                          Timeout timeout) {
  const InUse in_use(communicator);
  BackgroundList& background = session_of(communicator).background;
  const auto lock = background.lock();
  auto exchange = or_give_up(communicator, [&] {
    background.reserve_one();
    return std::unique_ptr<Exchange>(new Exchange(communicator, own, timeout));
  });
  exchange->begin();
  exchange->in_background_ = true;
  background.add(*exchange);
  return exchange;
}

Exchange::~Exchange() {
  if (!in_background_) return;
  if (!finished_) {
    try {
      const InUse in_use(communicator_, InUse::Busy::kWait);
      finish_in_use();
    } catch (...) {
      // Nobody asks for the result; the communicator keeps the reason.
    }
  }
  session_.background.remove(*this);
}

// `call`, with what this exchange knows in its errors.
template <class Call>
void Exchange::named(const char* phase, const Call& call) const {
  try {
    call();
  } catch (const SyncError& error) {
    SyncErrorDetails details = error.details();
    details.metric = own_.label;
    details.sequence = sequence_;
    details.phase = phase;
    std::string message = error.message();
    const std::string ways = ways_to_be_alone(own_.kind, own_.call);
    const bool others_gone = error.code() == SyncErrorCode::kPeerLost ||
                             error.code() == SyncErrorCode::kTimeout;
    if (others_gone && !ways.empty()) {
      message += "; this rank was in " + name_of(own_) + ways;
    }
    throw SyncError(error.code(), message, std::move(details));
  }
}

std::string_view Exchange::own_payload() const {
  return own_.payload ? *own_.payload : std::string_view();
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

// Round 1, in buffers that the session lends.
void Exchange::send_slot() {
  const tally::internal::OutsideInference outside;
  const c10::Device device = communicator_.device();
  const bool failed = !own_.failure.empty();
  const std::string_view payload =
      failed ? std::string_view(own_.failure).substr(0, eager_bytes())
             : own_payload();

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
  header.rider = session_.rider ? session_.rider->says() : 0;
  header.uses = own_.uses;
  header.failed = failed ? 1 : 0;
  header.has_accelerator = communicator_.accelerator() ? 1 : 0;
  header.on_accelerator = own_.device == communicator_.accelerator() ? 1 : 0;

  slot_ = std::exchange(session_.slot, at::Tensor());
  if (!slot_.defined()) slot_ = bytes_on(at::kCPU, slot_bytes()).zero_();
  slots_ = std::exchange(session_.slots, at::Tensor());
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
  session_.sequence = std::max(session_.sequence, sequence_ + 1);
}

// Reads round 1, and finds out whether there is a round 2.
void Exchange::receive_slots() {
  named("header", [&] { transfer_.wait(); });
  result_.storage = slots_.cpu();
  result_.sequence = sequence_;
  session_.slot = std::exchange(slot_, at::Tensor());
  session_.slots = std::exchange(slots_, at::Tensor());

  const Headers headers(communicator_, own_, result_.storage, timeout_);
  try {
    headers.check();
  } catch (const SyncError&) {
    session_.sequence = headers.next_sequence(session_.sequence);
    throw;
  }
  if (!own_.failure.empty()) return;

  // Others may ask for what goes on in the background in another step.
  const int ranks = communicator_.size();
  if (session_.rider && !in_background_) {
    for (int r = 0; r < ranks; ++r) session_.rider->hear(r, headers[r].rider);
  }
  result_.uses = headers.most_uses();
  const bool on_accelerator =
      !headers.all([](const Header& h) { return h.on_accelerator == 0; });
  result_.device =
      on_accelerator ? *communicator_.accelerator() : communicator_.device();
  for (int r = 0; r < ranks; ++r) {
    result_.flags.push_back(headers[r].flags);
    sizes_.push_back(headers[r].payload_bytes);
    checksums_.push_back(headers[r].payload_checksum);
  }
  result_.payloads_skipped = headers.all(
      [](const Header& h) { return (h.flags & flags::kCached) != 0; });
  if (result_.payloads_skipped) return;
  has_round_2_ = headers.longest_payload() > eager_bytes();
  if (has_round_2_) return;
  for (int r = 0; r < ranks; ++r) {
    result_.payloads.push_back(headers.eager_payload(r));
  }
}

void Exchange::start_round_2() {
  std::vector<std::int64_t> blocks;
  for (const std::int64_t size : sizes_) blocks.push_back(block_bytes(size));
  const std::int64_t longest = *std::max_element(blocks.begin(), blocks.end());
  make_ready(communicator_, {own_.label, sequence_, timeout_}, longest, [&] {
    const int rank = communicator_.rank();
    const at::Tensor own = padded(own_payload(), blocks[rank], own_.payload);
    gather_.emplace(own, blocks, ByteGather::Gaps::kAllowed,
                    communicator_.device(), rank);
  });
  named("payload",
        [&] { transfer_ = gather_->start(communicator_, timeout_); });
}

// Finishes round 1 and starts round 2, if there is one.
void Exchange::advance() noexcept {
  if (std::exchange(advanced_, true)) return;
  try {
    receive_slots();
    if (has_round_2_) start_round_2();
  } catch (...) {
    error_ = std::current_exception();
    communicator_.give_up(error_);
  }
}

Contribution prepared(Communicator& communicator, Contribution own,
                      Timeout timeout,
                      c10::function_ref<void(Contribution& own)> fill) {
  try {
    fill(own);
    if (own.fingerprint == 0) own.fingerprint = fingerprint(own.schema());
    if (!at::GradMode::is_enabled()) own.flags |= flags::kRecordsNothing;
  } catch (...) {
    report(communicator, own.kind, own.label, std::current_exception(),
           timeout);
    throw;
  }
  return own;
}

void report(Communicator& communicator, ExchangeKind kind,
            const std::string& label, const std::exception_ptr& error,
            Timeout timeout) noexcept {
  try {
    Contribution own{kind, label};
    own.failure = describe(error);
    if (own.failure.empty()) own.failure = "unknown reason";
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
  const InUse in_use(communicator_);
  return or_give_up(communicator_, [&] { return finish_in_use(); });
}

Contributions Exchange::finish_in_use() {
  finished_ = true;
  session_.background.advance();
  advance();
  if (error_) std::rethrow_exception(error_);
  if (!has_round_2_) return std::move(result_);
  named("payload", [&] { transfer_.wait(); });
  result_.storage = gather_->take().cpu();
  for (int r = 0; r < communicator_.size(); ++r) {
    result_.payloads.emplace_back(chars(result_.storage) + gather_->begin(r),
                                  static_cast<size_t>(sizes_[r]));
  }
  // Also where nobody asks for the result.
  or_give_up(communicator_, [&] {
    require_intact("payload", communicator_, own_, sequence_, [&](int r) {
      return checksum_of(result_.payloads[r]) == checksums_[r];
    });
  });
  return std::move(result_);
}

}  // namespace tally::sync::internal
