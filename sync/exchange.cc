#include "tally/sync/exchange.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <utility>

namespace tally::sync {
namespace {

constexpr std::uint32_t kMagic = 0x594c4154;  // "TALY"
constexpr std::uint16_t kProtocol = 1;

struct Header {
  std::uint32_t magic;
  std::uint16_t protocol;
  std::uint16_t kind;
  std::int64_t sequence;
  std::uint64_t fingerprint;
  std::int64_t payload_bytes;
  std::uint32_t flags;
  std::uint32_t failed;
  std::array<std::int64_t, 3> reserved;
};
static_assert(sizeof(Header) == Exchange::kHeaderBytes);

const char* kind_name(std::uint16_t kind) {
  switch (static_cast<ExchangeKind>(kind)) {
    case ExchangeKind::kCollective:
      return "a collective on tensors";
    case ExchangeKind::kStates:
      return "a sync of metrics";
    case ExchangeKind::kBackward:
      return "a backward pass";
    case ExchangeKind::kGradients:
      return "average_gradients";
  }
  return "an unknown call";
}

at::Tensor bytes_on(c10::Device device, std::int64_t size) {
  return at::empty({size}, at::TensorOptions().dtype(at::kByte).device(device));
}

char* chars(at::Tensor& bytes) {
  return static_cast<char*>(bytes.mutable_data_ptr());
}

const char* chars(const at::Tensor& bytes) {
  return static_cast<const char*>(bytes.const_data_ptr());
}

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

// On the CPU, with zeros behind.
at::Tensor padded(std::string_view bytes, std::int64_t size) {
  at::Tensor block = bytes_on(at::kCPU, size);
  std::memcpy(chars(block), bytes.data(), bytes.size());
  std::memset(chars(block) + bytes.size(), 0, size - bytes.size());
  return block;
}

// Every rank's block of `block` bytes, one after the other, on the CPU.
at::Tensor gather_blocks(Communicator& communicator, std::string_view own,
                         std::int64_t block, Timeout timeout) {
  at::Tensor output =
      bytes_on(communicator.device(), communicator.size() * block);
  communicator.all_gather(padded(own, block).to(communicator.device()), output,
                          timeout);
  return output.cpu();
}

// The headers of all ranks, read the same way by each of them: what one finds
// wrong, all find wrong.
class Headers {
 public:
  Headers(Communicator& communicator, const Contribution& own,
          const at::Tensor& slots, Timeout timeout)
      : communicator_(communicator),
        own_(own),
        slots_(slots),
        timeout_(timeout),
        headers_(communicator.size()) {
    for (int r = 0; r < ranks(); ++r) {
      std::memcpy(&headers_[r], slot(r), sizeof(Header));
    }
  }

  const Header& operator[](int rank) const { return headers_[rank]; }

  std::string_view eager_payload(int rank) const {
    return {slot(rank) + sizeof(Header),
            static_cast<size_t>(headers_[rank].payload_bytes)};
  }

  bool all(c10::function_ref<bool(const Header&)> test) const {
    return std::all_of(headers_.begin(), headers_.end(), test);
  }

  std::int64_t longest_payload() const {
    std::int64_t most = 0;
    for (const Header& h : headers_) most = std::max(most, h.payload_bytes);
    return most;
  }

  // In an order that is the same on every rank. Afterwards all ranks do the
  // same call for the same thing, and none has failed but perhaps this one.
  void check() const {
    require_equal("speak different protocols", [](const Header& h) {
      return h.magic == kMagic ? std::to_string(h.protocol) : "not Tally's";
    });
    if (!differing([](const Header& h) { return h.sequence; }).empty()) {
      // All go on from the same number, so that the group stays usable.
      std::int64_t latest = 0;
      for (const Header& h : headers_) latest = std::max(latest, h.sequence);
      next_sequence_ = latest + 1;
      require_equal("are at different syncs (one has synchronised more often)",
                    [](const Header& h) { return std::to_string(h.sequence); });
    }
    std::vector<int> failed;
    for (int r = 0; r < ranks(); ++r) {
      if (headers_[r].failed) failed.push_back(r);
    }
    if (!failed.empty()) {
      if (headers_[communicator_.rank()].failed) return;
      std::ostringstream text;
      for (int r : failed) {
        text << (r == failed.front() ? "" : "; ") << "rank " << r
             << " failed: " << eager_payload(r);
      }
      fail(SyncErrorCode::kPeerFailed, text.str(), failed);
    }
    require_equal("are in different calls",
                  [](const Header& h) { return kind_name(h.kind); });
    const std::vector<int> others =
        differing([](const Header& h) { return h.fingerprint; });
    if (!others.empty()) explain_schemas(others);
  }

  // The sequence number that follows, if check() had to move it.
  std::int64_t next_sequence(std::int64_t otherwise) const {
    return next_sequence_ < 0 ? otherwise : next_sequence_;
  }

 private:
  int ranks() const { return communicator_.size(); }
  const char* slot(int rank) const {
    return chars(slots_) + rank * Exchange::kSlotBytes;
  }

  template <class Value>
  std::vector<int> differing(const Value& value) const {
    std::vector<int> others;
    for (int r = 1; r < ranks(); ++r) {
      if (value(headers_[r]) != value(headers_[0])) others.push_back(r);
    }
    return others;
  }

  void require_equal(const char* complaint,
                     c10::function_ref<std::string(const Header&)> text) const {
    std::vector<int> others = differing(text);
    if (others.empty()) return;
    fail(SyncErrorCode::kMismatch,
         std::string("the ranks ") + complaint + ": " +
             by_rank([&](int r) { return text(headers_[r]); }),
         std::move(others));
  }

  std::string by_rank(c10::function_ref<std::string(int)> text) const {
    std::ostringstream out;
    for (int r = 0; r < ranks(); ++r) {
      out << (r == 0 ? "rank " : ", rank ") << r << ": " << text(r);
    }
    return out.str();
  }

  // The fingerprints differ: the ranks show each other their schemas, first
  // how long they are, to say which item it is.
  [[noreturn]] void explain_schemas(std::vector<int> others) const {
    const std::string own = own_.schema();
    const auto length = static_cast<std::int64_t>(own.size());
    const at::Tensor lengths = gather_blocks(
        communicator_, {reinterpret_cast<const char*>(&length), sizeof(length)},
        sizeof(length), timeout_);
    const auto* length_of =
        reinterpret_cast<const std::int64_t*>(chars(lengths));
    const std::int64_t block =
        *std::max_element(length_of, length_of + ranks());
    const at::Tensor texts = gather_blocks(communicator_, own, block, timeout_);
    std::vector<std::vector<std::string>> items(ranks());
    size_t count = 0;
    for (int r = 0; r < ranks(); ++r) {
      std::istringstream text(
          std::string(chars(texts) + r * block, length_of[r]));
      for (std::string line; std::getline(text, line);) {
        items[r].push_back(line);
      }
      count = std::max(count, items[r].size());
    }
    for (auto& list : items) list.resize(count, "nothing");
    size_t item = 0;
    while (item + 1 < count &&
           std::all_of(items.begin(), items.end(), [&](const auto& list) {
             return list[item] == items[0][item];
           })) {
      ++item;
    }
    const auto text = [&](int r) { return items[r][item]; };
    fail(SyncErrorCode::kMismatch,
         "the ranks synchronise different things: " + by_rank(text),
         std::move(others), text(communicator_.rank()));
  }

  [[noreturn]] void fail(SyncErrorCode code, const std::string& message,
                         std::vector<int> peers, std::string state = {}) const {
    SyncErrorDetails details;
    details.metric = std::string(own_.label);
    details.state = std::move(state);
    details.rank = communicator_.rank();
    details.peers = std::move(peers);
    details.sequence = headers_[communicator_.rank()].sequence;
    details.phase = "header";
    throw SyncError(code, message, std::move(details));
  }

  Communicator& communicator_;
  const Contribution& own_;
  const at::Tensor& slots_;
  Timeout timeout_;
  std::vector<Header> headers_;
  mutable std::int64_t next_sequence_ = -1;
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
  const c10::Device device = communicator_.device();
  const bool failed = !own_.failure.empty();
  const std::string_view payload =
      failed ? own_.failure.substr(0, kEagerBytes) : own_.payload;
  sequence_ = communicator_.sequence_++;

  Header header{};
  header.magic = kMagic;
  header.protocol = kProtocol;
  header.kind = static_cast<std::uint16_t>(own_.kind);
  header.sequence = sequence_;
  header.fingerprint = own_.fingerprint;
  header.payload_bytes = static_cast<std::int64_t>(payload.size());
  header.flags = own_.flags;
  header.failed = failed ? 1 : 0;

  slot_ = std::exchange(communicator_.slot_, at::Tensor());
  if (!slot_.defined()) slot_ = bytes_on(at::kCPU, kSlotBytes).zero_();
  slots_ = std::exchange(communicator_.slots_, at::Tensor());
  if (!slots_.defined() || slots_.use_count() > 1) {
    slots_ = bytes_on(device, communicator_.size() * kSlotBytes);
  }
  std::memcpy(chars(slot_), &header, sizeof(header));
  if (header.payload_bytes <= kEagerBytes) {
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
  if (longest > kEagerBytes) {
    block_ = longest;
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
    input_ = padded(own_.payload, block_).to(device);
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
