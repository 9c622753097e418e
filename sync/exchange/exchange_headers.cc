#include "tally/sync/exchange/exchange_headers.h"

#include <ATen/ops/from_blob.h>

#include <cstring>
#include <sstream>
#include <utility>

#include "tally/state/joined.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync::internal {
namespace {

// No payload is longer.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;
constexpr std::int64_t kLongestSchema = std::int64_t{1} << 30;

// Every rank's block of `block` bytes, one after the other, on the CPU.
at::Tensor gather_blocks(Communicator& communicator, std::string_view own,
                         std::int64_t block, Timeout timeout) {
  at::Tensor output =
      bytes_on(communicator.device(), communicator.size() * block);
  communicator.all_gather(padded(own, block).to(communicator.device()), output,
                          timeout);
  return output.cpu();
}

}  // namespace

const char* name_of(MetricCall call) {
  switch (call) {
    case MetricCall::kNone:
      return "a sync";
    case MetricCall::kForward:
      return "forward()";
    case MetricCall::kCompute:
      return "compute()";
    case MetricCall::kSync:
      return "sync()";
    case MetricCall::kSyncAsync:
      return "sync_async()";
    case MetricCall::kMetricLoss:
      return "MetricLoss";
    case MetricCall::kSyncTogether:
      return "sync_together()";
    case MetricCall::kSave:
      return "save()";
  }
  return "an unknown call";
}

std::string name_of(const Contribution& own) {
  const std::string& label = own.label;
  if (own.kind == ExchangeKind::kBackward) {
    return "a backward pass (" + label + ")";
  }
  if (own.kind != ExchangeKind::kStates) return label;
  std::string text = name_of(own.call);
  text += " of " + label;
  if (own.flow != GradientFlow::kDetached) {
    text += std::string(" with gradient flow ") + to_string(own.flow);
  }
  if (own.updates >= 0) {
    text += " after " + std::to_string(own.updates) +
            (own.updates == 1 ? " update" : " updates");
  }
  return text;
}

std::string ways_to_be_alone(ExchangeKind kind, MetricCall call) {
  if (kind != ExchangeKind::kStates) return "";
  switch (call) {
    case MetricCall::kCompute:
    case MetricCall::kSync:
    case MetricCall::kSyncAsync:
    case MetricCall::kSyncTogether:
      return "; to evaluate on one rank only, use MetricOptions()."
             "sync_on_compute(false), or a CommunicatorGuard with "
             "single_process_communicator()";
    default:
      return "";
  }
}

at::Tensor padded(std::string_view bytes, std::int64_t size,
                  std::shared_ptr<const void> owner) {
  if (owner && static_cast<std::int64_t>(bytes.size()) == size) {
    return at::from_blob(
        const_cast<char*>(bytes.data()), {size},
        [kept = std::move(owner)](void*) {}, at::kByte);
  }
  at::Tensor block = bytes_on(at::kCPU, size);
  std::memcpy(chars(block), bytes.data(), bytes.size());
  std::memset(chars(block) + bytes.size(), 0, size - bytes.size());
  return block;
}

std::uint32_t checksum_of(std::string_view payload) {
  return static_cast<std::uint32_t>(fingerprint(payload));
}

std::uint32_t checksum_of(Header header) {
  header.checksum = 0;
  return checksum_of({reinterpret_cast<const char*>(&header), sizeof(Header)});
}

void require_intact(const char* part, const Communicator& communicator,
                    const Contribution& own, std::int64_t sequence,
                    c10::function_ref<bool(int rank)> is_intact) {
  SyncErrorDetails details;
  for (int r = 0; r < communicator.size(); ++r) {
    if (!is_intact(r)) details.peers.push_back(r);
  }
  if (details.peers.empty()) return;
  const std::string text =
      c10::str("a ", part, " did not arrive as it was sent, from rank ",
               c10::Join(", ", details.peers));
  details.metric = own.label;
  details.rank = communicator.rank();
  details.sequence = sequence;
  details.phase = part;
  throw SyncError(SyncErrorCode::kTransport, text, std::move(details));
}

Headers::Headers(Communicator& communicator, const Contribution& own,
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

std::int64_t Headers::longest_payload() const {
  std::int64_t most = 0;
  for (const Header& h : headers_) most = std::max(most, h.payload_bytes);
  return most;
}

// Their protocols are equal: all headers mean the same.
void Headers::check_intact() const {
  const std::int64_t sequence = headers_[communicator_.rank()].sequence;
  require_intact("header", communicator_, own_, sequence, [&](int r) {
    const Header& h = headers_[r];
    return h.checksum == checksum_of(h) && h.payload_bytes >= 0 &&
           h.on_accelerator <= h.has_accelerator;
  });
  const std::int64_t eager = Exchange::eager_bytes(ranks());
  require_intact("payload", communicator_, own_, sequence, [&](int r) {
    const Header& h = headers_[r];
    if (h.payload_bytes > eager) return !h.failed;
    return h.payload_checksum == checksum_of(eager_payload(r));
  });
}

void Headers::check() const {
  const Header& first = headers_.front();
  if (all([](const Header& h) {
        return h.magic == kMagic && h.protocol == kProtocol;
      })) {
    check_intact();
  }
  const bool alike = all([&](const Header& h) {
    return well_formed(h) && h.sequence == first.sequence &&
           h.kind == first.kind && h.call == first.call &&
           h.flow == first.flow && h.fingerprint == first.fingerprint &&
           h.uses == first.uses && h.has_accelerator == first.has_accelerator &&
           (h.rider == 0) == (first.rider == 0) && !h.failed;
  });
  if (alike) return;
  std::vector<int> strangers;
  for (int r = 0; r < ranks(); ++r) {
    if (!well_formed(headers_[r])) strangers.push_back(r);
  }
  if (!strangers.empty()) {
    fail(SyncErrorCode::kMismatch,
         "the ranks speak different protocols: " + by_rank([&](int r) {
           const Header& h = headers_[r];
           if (well_formed(h) || (h.magic == kMagic && h.protocol != kProtocol))
             return std::to_string(h.protocol);
           return std::string("not Tally's");
         }),
         std::move(strangers));
  }
  require_equal("have different transports", [](const Header& h) {
    return h.has_accelerator ? "with an accelerator" : "without one";
  });
  if (!differing([](const Header& h) {
         return std::to_string(h.sequence);
       }).empty()) {
    // All go on from the same number, so that the group stays usable.
    std::int64_t latest = 0;
    for (const Header& h : headers_) latest = std::max(latest, h.sequence);
    next_sequence_ = latest + 1;
    require_equal("are at different syncs (one has synchronized more often)",
                  [](const Header& h) { return std::to_string(h.sequence); });
  }
  std::vector<int> failed;
  for (int r = 0; r < ranks(); ++r) {
    if (headers_[r].failed) failed.push_back(r);
  }
  if (!failed.empty()) {
    if (headers_[communicator_.rank()].failed) return;
    const auto reason = [&](int r) {
      return c10::str("rank ", r, " failed: ", eager_payload(r));
    };
    fail(SyncErrorCode::kPeerFailed,
         tally::internal::joined("; ", failed, reason), failed);
  }
  std::vector<int> others = differing([](const Header& h) {
    return c10::str(h.kind, ' ', h.call, ' ', static_cast<int>(h.flow));
  });
  if (!others.empty()) explain_calls(std::move(others));
  others =
      differing([](const Header& h) { return std::to_string(h.fingerprint); });
  if (!others.empty()) explain_schemas(std::move(others));
  require_equal_uses();
  require_equal("are not all in a loop of training::join", [](const Header& h) {
    return h.rider == 0 ? "outside of one" : "in one";
  });
}

bool Headers::well_formed(const Header& header) const {
  const std::int64_t most =
      header.failed ? Exchange::eager_bytes(ranks()) : kMostBytes;
  return header.magic == kMagic && header.protocol == kProtocol &&
         header.payload_bytes >= 0 && header.payload_bytes <= most;
}

std::uint32_t Headers::most_uses() const {
  std::uint32_t most = 0;
  for (const Header& h : headers_) most = std::max(most, h.uses);
  return most;
}

// Ranks that know no number, because the metric is new there, go along.
void Headers::require_equal_uses() const {
  std::uint32_t first = 0;
  std::vector<int> others;
  for (int r = 0; r < ranks(); ++r) {
    const std::uint32_t uses = headers_[r].uses;
    if (first == 0) first = uses;
    if (uses != 0 && uses != first) others.push_back(r);
  }
  if (others.empty()) return;
  fail(SyncErrorCode::kMismatch,
       "the ranks bring different metrics of one kind (one is in another call, "
       "or ahead): synced before, " +
           by_rank([&](int r) {
             return std::to_string(headers_[r].uses) + " times";
           }) +
           ways_to_be_alone(),
       std::move(others));
}

std::vector<int> Headers::differing(Text text) const {
  std::vector<int> others;
  for (int r = 1; r < ranks(); ++r) {
    if (text(headers_[r]) != text(headers_[0])) others.push_back(r);
  }
  return others;
}

void Headers::require_equal(const char* complaint, Text text) const {
  std::vector<int> others = differing(text);
  if (others.empty()) return;
  fail(SyncErrorCode::kMismatch,
       std::string("the ranks ") + complaint + ": " +
           by_rank([&](int r) { return text(headers_[r]); }),
       std::move(others));
}

std::string Headers::by_rank(c10::function_ref<std::string(int)> text) const {
  std::ostringstream out;
  for (int r = 0; r < ranks(); ++r) {
    out << (r == 0 ? "rank " : ", rank ") << r << ": " << text(r);
  }
  return out.str();
}

std::string Headers::ways_to_be_alone() const {
  for (const Header& h : headers_) {
    const std::string ways = internal::ways_to_be_alone(
        static_cast<ExchangeKind>(h.kind), static_cast<MetricCall>(h.call));
    if (!ways.empty()) return ways;
  }
  return "";
}

// First how long they are.
std::vector<std::string> Headers::texts_of_ranks(const std::string& own) const {
  const auto length = static_cast<std::int64_t>(own.size());
  const at::Tensor lengths = gather_blocks(
      communicator_, {reinterpret_cast<const char*>(&length), sizeof(length)},
      sizeof(length), timeout_);
  const auto* length_of = reinterpret_cast<const std::int64_t*>(chars(lengths));
  require_intact("schema", communicator_, own_,
                 headers_[communicator_.rank()].sequence, [&](int r) {
                   return length_of[r] >= 0 && length_of[r] <= kLongestSchema;
                 });
  const std::int64_t block = *std::max_element(length_of, length_of + ranks());
  const at::Tensor texts = gather_blocks(communicator_, own, block, timeout_);
  std::vector<std::string> result;
  for (int r = 0; r < ranks(); ++r) {
    result.emplace_back(chars(texts) + r * block, length_of[r]);
  }
  return result;
}

// Where ranks differ they show each other what they are at.
void Headers::explain_calls(std::vector<int> others) const {
  const std::vector<std::string> calls = texts_of_ranks(name_of(own_));
  std::string text = "the ranks are in different calls: " +
                     by_rank([&](int r) { return calls[r]; }) +
                     ways_to_be_alone();
  if (all([](const Header& h) { return h.rider == 0; })) {
    text +=
        "; a rank that runs out of batches before the others takes part in "
        "their steps by training::join";
  }
  fail(SyncErrorCode::kMismatch, text, std::move(others));
}

// Their schemas, to say which item it is.
void Headers::explain_schemas(std::vector<int> others) const {
  const std::vector<std::string> schemas = texts_of_ranks(own_.schema());
  std::vector<std::vector<std::string>> items(ranks());
  size_t count = 0;
  for (int r = 0; r < ranks(); ++r) {
    std::istringstream text(schemas[r]);
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
       "the ranks sync different metrics or options: " + by_rank(text) +
           ways_to_be_alone(),
       std::move(others), text(communicator_.rank()));
}

void Headers::fail(SyncErrorCode code, const std::string& message,
                   std::vector<int> peers, std::string state) const {
  SyncErrorDetails details;
  details.metric = own_.label;
  details.state = std::move(state);
  details.rank = communicator_.rank();
  details.peers = std::move(peers);
  details.sequence = headers_[communicator_.rank()].sequence;
  details.phase = "header";
  throw SyncError(code, message, std::move(details));
}

}  // namespace tally::sync::internal
