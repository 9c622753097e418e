#include "tally/sync/exchange/exchange.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "tally/cli/limits.h"
#include "tally/sync/exchange/exchange_headers.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"
#include "tally/tests/storm/calls.h"

namespace tally::fuzz {
namespace {

using std::chrono::milliseconds;
using sync::Communicator;
using sync::internal::Header;

constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
constexpr unsigned kSeeds = 8;

/// A byte that the other rank sends otherwise than this one.
struct Edit {
  std::uint8_t gather;  ///< which one of a call
  std::uint8_t low, high;
  std::uint8_t mask;

  std::int64_t offset() const { return low | high << 8; }
};

/// Rank 0 of two; the other one does what this one does, but for the edits.
class Mirror final : public Communicator {
 public:
  /// With `seals` the other rank's headers have checksums that are right.
  Mirror(std::vector<Edit> edits, bool seals)
      : Communicator(0, 2, at::kCPU, milliseconds(1000)),
        edits_(std::move(edits)),
        seals_(seals) {}
  std::string describe() const override { return "a mirror"; }

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds) override {
    const auto size = static_cast<std::int64_t>(input.nbytes());
    if (size == 0) return;
    auto* const own = static_cast<char*>(output.mutable_data_ptr());
    char* const other = own + size;
    std::memcpy(own, input.const_data_ptr(), size);
    std::memcpy(other, own, size);
    // Rows that travel by themselves have no checksum.
    if (input.scalar_type() != at::kByte) return;
    for (const Edit& edit : edits_) {
      if (edit.gather != gathers_ || edit.offset() >= size) continue;
      other[edit.offset()] ^= static_cast<char>(edit.mask);
    }
    ++gathers_;
    const bool is_slot = size == sync::internal::Exchange::slot_bytes(2);
    if (!seals_ || !is_slot) return;
    Header header;
    std::memcpy(&header, other, sizeof header);
    header.checksum = sync::internal::checksum_of(header);
    std::memcpy(other, &header, sizeof header);
  }
  void do_all_reduce(at::Tensor&, sync::ReduceOp, milliseconds) override {}
  void do_broadcast(at::Tensor& tensor, int root, milliseconds) override {
    if (root != 0) tensor.zero_();
  }
  void do_all_to_all(const at::Tensor& input, const std::vector<std::int64_t>&,
                     at::Tensor& output,
                     const std::vector<std::int64_t>& counts,
                     milliseconds) override {
    const std::int64_t most = input.numel();
    std::int64_t begin = 0;
    for (const std::int64_t count : counts) {
      const std::int64_t size = std::min(count, most);
      output.narrow(0, begin, size).copy_(input.narrow(0, 0, size));
      begin += count;
    }
  }
  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds timeout) override {
    do_all_gather(input, output, timeout);
    return [] {};
  }
  std::function<void()> do_start_send_receive(const at::Tensor& send, int,
                                              at::Tensor& receive, int,
                                              milliseconds) override {
    receive.copy_(send);
    return [] {};
  }

 private:
  std::vector<Edit> edits_;
  bool seals_;
  int gathers_ = 0;
};

const std::vector<storm::Call>& calls() {
  static const std::vector<storm::Call> list = [] {
    std::vector<storm::Call> all;
    for (auto& kind : {storm::collective_calls(), storm::metric_calls()}) {
      for (const storm::Call& call : kind) {
        // A mirror takes what is meant for the other rank as meant for it.
        if (call.name.rfind("all_to_all", 0) != 0) all.push_back(call);
      }
    }
    return all;
  }();
  return list;
}

std::string run(const storm::Call& call, unsigned seed, std::vector<Edit> edits,
                bool seals) {
  const sync::CommunicatorGuard guard(
      std::make_shared<Mirror>(std::move(edits), seals));
  return call.run(storm::Draw::kFewRows + seed);
}

const std::string& expected(std::size_t call, unsigned seed) {
  static std::map<std::pair<std::size_t, unsigned>, std::string> known;
  auto [found, is_new] = known.try_emplace({call, seed});
  if (is_new) found->second = run(calls()[call], seed, {}, false);
  return found->second;
}

}  // namespace

/// Which call, its seed (the highest bit: headers with checksums that are
/// right), and four bytes for each edit.
void read_exchange(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const std::size_t call =
      static_cast<unsigned char>(bytes[0]) % calls().size();
  const bool seals = static_cast<signed char>(bytes[1]) < 0;
  const unsigned seed = static_cast<unsigned char>(bytes[1]) % kSeeds;
  std::vector<Edit> edits((bytes.size() - 2) / sizeof(Edit));
  if (!edits.empty()) {
    std::memcpy(edits.data(), bytes.data() + 2, edits.size() * sizeof(Edit));
  }
  const cli::TensorLimit limit(kMostBytes);
  const std::string& value = expected(call, seed);
  try {
    const std::string got = run(calls()[call], seed, std::move(edits), seals);
    // Headers with a right checksum may say other things than this rank's.
    require(seals || got == value,
            "what a rank sends otherwise does not change a value");
  } catch (const sync::SyncError& error) {
    require(error.code() == sync::SyncErrorCode::kTransport ||
                error.code() == sync::SyncErrorCode::kMismatch ||
                error.code() == sync::SyncErrorCode::kPeerFailed ||
                error.code() == sync::SyncErrorCode::kGroupBroken,
            "what a rank sends otherwise is an error with its name");
  } catch (const c10::Error& error) {
    if (!seals) throw;
    require(sync::describe(error).find("INTERNAL ASSERT") == std::string::npos,
            "a header that makes no sense is refused");
  }
}

std::vector<std::string> exchange_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t call = 0; call < calls().size(); ++call) {
    // The protocol's version, the length of the payload, and its first byte.
    for (const char offset : {4, 24, 64}) {
      const char edits[] = {static_cast<char>(call),
                            static_cast<char>(call % kSeeds),
                            0,
                            offset,
                            0,
                            1};
      seeds.emplace_back(edits, sizeof edits);
    }
  }
  return seeds;
}

}  // namespace tally::fuzz
