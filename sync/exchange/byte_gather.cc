#include "tally/sync/exchange/byte_gather.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/set.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "tally/state/fresh_tensor.h"
#include "tally/sync/autograd.h"

namespace tally::sync::internal {
namespace {

// A rank receives as many more than there are, or an eighth of them, rather
// than take part in another collective.
constexpr std::int64_t kMostPadding = std::int64_t{1} << 20;
constexpr std::int64_t kPaddedPart = 8;
// Parts begin at multiples of it.
constexpr std::int64_t kPartBytes = 64;

at::Tensor empty_bytes(std::int64_t count, const at::TensorOptions& options) {
  return options.device().is_cpu()
             ? tally::internal::fresh_tensor({count}, at::kByte)
             : at::empty({count}, options);
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace

ByteGather::ByteGather(const at::Tensor& own, std::vector<std::int64_t> bytes,
                       Gaps gaps, c10::Device device, int rank)
    : bytes_(std::move(bytes)),
      block_(*std::max_element(bytes_.begin(), bytes_.end())) {
  const auto options = at::TensorOptions().dtype(at::kByte).device(device);
  own_ = own.defined() ? plain(own).to(device).view(-1).view(at::kByte)
                       : at::empty({0}, options);
  const std::int64_t total = sum(bytes_);
  const auto ranks = static_cast<std::int64_t>(bytes_.size());
  const std::int64_t padding = ranks * block_ - total;
  const bool pads = gaps == Gaps::kAllowed &&
                    (padding <= kMostPadding || padding <= total / kPaddedPart);
  if (padding > 0 && !pads) {
    even_out(rank);
    return;
  }
  if (own_.numel() < block_) {
    const at::Tensor padded = at::zeros({block_}, options);
    padded.narrow(0, 0, own_.numel()).copy_(own_);
    own_ = padded;
  }
  all_ = empty_bytes(ranks * block_, options);
}

void ByteGather::even_out(int rank) {
  block_ = 0;
  const std::int64_t total = sum(bytes_);
  const auto ranks = static_cast<std::int64_t>(bytes_.size());
  const std::int64_t part =
      (total + ranks * kPartBytes - 1) / (ranks * kPartBytes) * kPartBytes;
  // Those of rank `from` in the part of rank `to`.
  const auto shared = [&](int from, int to) {
    const std::int64_t first = std::max(begin(from), to * part);
    const std::int64_t last =
        std::min(begin(from) + bytes_[from], (to + 1) * part);
    return std::max<std::int64_t>(last - first, 0);
  };
  for (int r = 0; r < ranks; ++r) {
    sent_.push_back(shared(rank, r));
    received_.push_back(shared(r, rank));
  }
  part_ = empty_bytes(part, own_.options());
  const std::int64_t filled = sum(received_);
  part_.narrow(0, filled, part - filled).zero_();
  all_ = empty_bytes(ranks * part, own_.options());
}

Transfer ByteGather::start(Communicator& communicator, Timeout timeout) {
  if (part_.defined()) {
    at::Tensor filled = part_.narrow(0, 0, sum(received_));
    communicator.all_to_all(own_, sent_, filled, received_, timeout);
    own_ = std::exchange(part_, at::Tensor());
  }
  Transfer transfer = communicator.start_all_gather(own_, all_, timeout);
  own_ = at::Tensor();
  return transfer;
}

at::Tensor ByteGather::take() {
  return block_ > 0 ? std::move(all_) : all_.narrow(0, 0, sum(bytes_));
}

at::Tensor ByteGather::take_as(at::ScalarType dtype, at::IntArrayRef sizes) {
  if (!all_.is_cpu()) return take().view(dtype).view(sizes);
  at::Tensor whole = at::empty({0}, all_.options().dtype(dtype));
  whole.set_(std::exchange(all_, at::Tensor()).storage(), 0, sizes);
  // Gloo's thread lets go of what it received a moment after it says that it
  // has: whoever returned it before would make a copy.
  constexpr int kMostYields = 100;
  for (int i = 0; i < kMostYields && whole.storage().use_count() > 1; ++i) {
    std::this_thread::yield();
  }
  return whole;
}

std::int64_t ByteGather::begin(int rank) const {
  if (block_ > 0) return rank * block_;
  return std::accumulate(bytes_.begin(), bytes_.begin() + rank,
                         std::int64_t{0});
}

}  // namespace tally::sync::internal
