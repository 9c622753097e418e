#include "tally/sync/exchange/agree.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include "tally/sync/exchange/fingerprint.h"

namespace tally::sync::internal {
namespace {

constexpr std::uint32_t kHasGraph = 1;
constexpr std::uint32_t kRecordsNothing = 2;
constexpr std::uint32_t kMoves = 4;
// Of tensors that travel in the slot, whatever the number of ranks.
constexpr std::size_t kPackedBytes =
    Exchange::eager_bytes(std::numeric_limits<int>::max());

void append(std::string& bytes, std::int64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::int64_t take(std::string_view& bytes) {
  TORCH_CHECK_VALUE(bytes.size() >= sizeof(std::int64_t),
                    "expected more about its tensors, got ", bytes.size(),
                    " bytes");
  std::int64_t value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

// A number of things of which each takes an integer at least.
std::size_t take_count(std::string_view& bytes) {
  const std::int64_t count = take(bytes);
  const auto most = static_cast<std::int64_t>(bytes.size() / sizeof count);
  TORCH_CHECK_VALUE(count >= 0 && count <= most, "expected a number of up to ",
                    most, ", got ", count);
  return static_cast<std::size_t>(count);
}

// No tensor has more elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 60;

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    TORCH_CHECK_VALUE(size >= 0, "expected sizes, got ",
                      c10::IntArrayRef(sizes));
    if (size == 0) return 0;
  }
  for (const std::int64_t size : sizes) {
    TORCH_CHECK_VALUE(size <= kMostElements / result, "expected sizes, got ",
                      c10::IntArrayRef(sizes));
    result *= size;
  }
  return result;
}

at::ScalarType take_dtype(std::string_view& bytes) {
  const std::int64_t dtype = take(bytes);
  TORCH_CHECK_VALUE(dtype >= -1 && dtype < static_cast<std::int64_t>(
                                               at::ScalarType::Undefined),
                    "expected a dtype, got ", dtype);
  return static_cast<at::ScalarType>(dtype);
}

void check_grad_modes(const Call& call, Agreement& agreement) {
  std::vector<int> recording, others;
  for (int r = 0; r < call.size(); ++r) {
    const std::uint32_t flags = agreement.all.flags[r];
    if ((flags & kHasGraph) != 0) recording.push_back(r);
    if ((flags & kRecordsNothing) != 0) others.push_back(r);
  }
  agreement.any_graph = !recording.empty();
  if (recording.empty() || others.empty()) return;
  const int rank = recording.front();
  mismatch(call, agreement,
           c10::str("the backward pass of rank ", rank,
                    " would wait for ranks that record no gradients: ",
                    c10::Join(", ", others)),
           others);
}

}  // namespace

Call Call::backward(std::int64_t sequence) const {
  return {ExchangeKind::kBackward,
          c10::str("backward of exchange ", sequence, ", ", name), communicator,
          timeout, asker.empty() ? "backward of " + name : asker};
}

Call collective(std::string name, std::shared_ptr<Communicator> communicator,
                Timeout timeout) {
  if (!communicator) communicator = default_communicator();
  return {ExchangeKind::kCollective, std::move(name), std::move(communicator),
          timeout};
}

Agreement agree(const Call& call, c10::function_ref<Offer()> prepare) {
  Offer offer;
  const auto schema = [&] {
    return offer.schema.empty() ? call.name : call.name + ", " + offer.schema;
  };
  Contribution own{call.kind, call.name, 0, schema};
  try {
    offer = prepare();
  } catch (...) {
    report(*call.communicator, own, std::current_exception(), call.timeout);
    throw;
  }
  own.fingerprint = fingerprint(schema());
  const auto payload =
      std::make_shared<const std::string>(std::move(offer.payload));
  own.payload = *payload;
  own.payload_owner = payload;
  own.device = offer.device;
  own.flags = offer.flags | (offer.has_graph ? kHasGraph : 0) |
              (offer.moves ? kMoves : 0) |
              (at::GradMode::is_enabled() ? 0 : kRecordsNothing);
  Agreement agreement;
  agreement.all = Exchange::run(*call.communicator, own, call.timeout);
  for (const std::uint32_t flags : agreement.all.flags) {
    agreement.any_moves |= (flags & kMoves) != 0;
  }
  carry_out(call, agreement, [&] { check_grad_modes(call, agreement); });
  return agreement;
}

void make_ready(const Call& call, const Agreement& agreement,
                std::int64_t bytes, c10::function_ref<void()> prepare) {
  make_ready(*call.communicator,
             {call.name, agreement.all.sequence, call.timeout}, bytes, prepare);
}

void bring(const Call& call, const Agreement& agreement, at::Tensor& copy) {
  if (!call.communicator->accelerator()) return;
  make_ready(call, agreement, static_cast<std::int64_t>(copy.nbytes()),
             [&] { copy = copy.to(agreement.all.device); });
}

void check_dense(const Call& call, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined(), call.name,
                    ": expected a tensor, got an undefined one");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided && !tensor.is_quantized(),
                    call.name, ": expected a dense tensor, got ",
                    tensor.toString());
  TORCH_CHECK_VALUE(
      !tensor.is_meta() || tensor.device() == call.communicator->accelerator(),
      call.name, ": expected a tensor with values, got one of the meta device ",
      "of sizes ", tensor.sizes());
}

bool has_graph(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad() &&
         at::GradMode::is_enabled();
}

at::Tensor plain(const at::Tensor& tensor) {
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

at::ScalarType wide(at::ScalarType dtype) {
  if (dtype == at::kDouble || dtype == at::kComplexDouble ||
      dtype == at::kComplexFloat) {
    return dtype;
  }
  if (dtype == at::kComplexHalf) return at::kComplexFloat;
  if (at::isFloatingType(dtype)) return at::kFloat;
  if (dtype == at::kBool || at::isIntegralType(dtype, /*includeBool=*/false)) {
    return dtype == at::kUInt64 ? at::ScalarType::Undefined : at::kLong;
  }
  return at::ScalarType::Undefined;
}

at::ScalarType sum_dtype(at::ScalarType dtype) {
  return at::isIntegralType(dtype, /*includeBool=*/true) ? at::kLong : dtype;
}

void pack(const std::vector<at::Tensor>& tensors, Offer& offer) {
  std::string& payload = offer.payload;
  append(payload, tensors.empty()
                      ? -1
                      : static_cast<std::int64_t>(tensors[0].scalar_type()));
  append(payload, static_cast<std::int64_t>(tensors.size()));
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    append(payload, tensor.dim());
    for (std::int64_t size : tensor.sizes()) append(payload, size);
    bytes += tensor.nbytes();
  }
  offer.moves = payload.size() + bytes > kPackedBytes;
  if (offer.moves) return;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    const at::Tensor here = plain(tensor).cpu();
    payload.append(static_cast<const char*>(here.const_data_ptr()),
                   here.nbytes());
  }
}

at::Tensor shape_of(const at::Tensor& tensor) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin(), 0);
  return at::empty(sizes, tensor.scalar_type());
}

PaddedGather::PaddedGather(const at::Tensor& own,
                           std::vector<std::int64_t> sizes,
                           const at::TensorOptions& options, int ranks) {
  if (own.defined()) input_ = plain(own).to(options.device());
  if (!own.defined() || own.size(0) < sizes[0]) {
    const at::Tensor padded = at::zeros(sizes, options);
    if (own.defined()) padded.narrow(0, 0, own.size(0)).copy_(input_);
    input_ = padded;
  }
  sizes[0] *= ranks;
  output_ = at::empty(sizes, options);
}

at::Tensor PaddedGather::run(Communicator& communicator, Timeout timeout) {
  communicator.all_gather(input_, output_, timeout);
  input_ = at::Tensor();
  return std::move(output_);
}

Parcel::Parcel(std::string_view payload) : dtype(take_dtype(payload)) {
  sizes.resize(take_count(payload));
  TORCH_CHECK_VALUE(sizes.empty() || dtype != at::ScalarType(-1),
                    "expected a dtype, got none");
  std::int64_t elements = 0;
  for (auto& of_tensor : sizes) {
    of_tensor.resize(take_count(payload));
    for (std::int64_t& size : of_tensor) size = take(payload);
    counts.push_back(product(of_tensor));
    elements += counts.back();
  }
  bytes_ = payload;
  complete = sizes.empty() ||
             bytes_.size() ==
                 static_cast<std::size_t>(elements) * c10::elementSize(dtype);
}

std::int64_t Parcel::bytes() const {
  if (sizes.empty()) return 0;
  double elements = 0;
  for (const std::int64_t count : counts) {
    elements += static_cast<double>(count);
  }
  // More than there is memory, but not more than the type holds.
  return static_cast<std::int64_t>(
      std::min(elements * static_cast<double>(c10::elementSize(dtype)), 1e18));
}

at::Tensor Parcel::tensor(std::size_t i) const {
  TORCH_CHECK_VALUE(i < sizes.size(), "expected a tensor of each rank, got ",
                    "none");
  const std::size_t element = c10::elementSize(dtype);
  std::size_t offset = 0;
  for (std::size_t k = 0; k < i; ++k) {
    offset += static_cast<std::size_t>(counts[k]) * element;
  }
  const at::Tensor result = at::empty(sizes[i], dtype);
  if (result.numel() > 0) {
    std::memcpy(result.mutable_data_ptr(), bytes_.data() + offset,
                result.nbytes());
  }
  return result;
}

std::vector<Parcel> parcels_of(const Call& call, const Agreement& agreement,
                               std::size_t tensors, std::size_t offset) {
  std::vector<Parcel> parcels;
  for (const std::string_view payload : agreement.all.payloads) {
    try {
      TORCH_CHECK_VALUE(payload.size() >= offset, "expected ", offset,
                        " bytes, got ", payload.size());
      parcels.emplace_back(payload.substr(offset));
      const Parcel& parcel = parcels.back();
      TORCH_CHECK_VALUE(parcel.sizes.size() == tensors || parcel.sizes.empty(),
                        "expected ", tensors, " tensors, got ",
                        parcel.sizes.size());
      TORCH_CHECK_VALUE(agreement.any_moves || parcel.complete,
                        "expected all of it, got a part");
    } catch (const c10::ValueError& error) {
      const auto rank = static_cast<int>(&payload - &agreement.all.payloads[0]);
      mismatch(call, agreement,
               c10::str("rank ", rank,
                        " sent something else than tensors: ", describe(error)),
               {rank});
    }
  }
  return parcels;
}

void mismatch(const Call& call, const Agreement& agreement,
              const std::string& text, std::vector<int> peers) {
  SyncErrorDetails details;
  details.metric = call.name;
  details.rank = call.rank();
  details.peers = std::move(peers);
  details.sequence = agreement.all.sequence;
  details.phase = "payload";
  throw SyncError(SyncErrorCode::kMismatch, text, std::move(details));
}

}  // namespace tally::sync::internal
