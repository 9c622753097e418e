#include "tally/sync/exchange/tensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "tally/state/codec.h"
#include "tally/sync/autograd.h"

namespace tally::sync::internal {
namespace {

// Of tensors that travel in the slot, whatever the number of ranks.
constexpr std::size_t kPackedBytes =
    Exchange::eager_bytes(std::numeric_limits<int>::max());

std::int64_t take(Decoder& decoder) {
  TORCH_CHECK_VALUE(decoder.remaining() >= sizeof(std::int64_t),
                    "expected more about its tensors, got ",
                    decoder.remaining(), " bytes");
  return decoder.integer();
}

// A number of things of which each takes an integer at least.
std::size_t take_count(Decoder& decoder) {
  const std::int64_t count = take(decoder);
  const auto most =
      static_cast<std::int64_t>(decoder.remaining() / sizeof count);
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

at::ScalarType take_dtype(Decoder& decoder) {
  const std::int64_t dtype = take(decoder);
  TORCH_CHECK_VALUE(dtype >= -1 && dtype < static_cast<std::int64_t>(
                                               at::ScalarType::Undefined),
                    "expected a dtype, got ", dtype);
  return static_cast<at::ScalarType>(dtype);
}

}  // namespace

TensorAgreement agree_on_tensors(const Call& call,
                                 c10::function_ref<TensorOffer()> prepare) {
  const Contribution own = prepared(
      *call.communicator, {call.kind, call.name}, call.timeout,
      [&](Contribution& mine) {
        TensorOffer offer = prepare();
        mine.schema = [text = offer.schema.empty()
                                  ? call.name
                                  : call.name + ", " + offer.schema] {
          return text;
        };
        mine.payload =
            std::make_shared<const std::string>(std::move(offer.payload));
        mine.device = offer.device;
        mine.flags = offer.flags | (offer.has_graph ? flags::kHasGraph : 0) |
                     (offer.moves ? flags::kMoves : 0);
      });
  Contributions all = Exchange::run(*call.communicator, own, call.timeout);
  TensorAgreement agreement;
  agreement.any_graph = all.any(flags::kHasGraph);
  agreement.any_moves = all.any(flags::kMoves);
  agreement.sequence = all.sequence;
  agreement.device = all.device;
  carry_out(call, agreement,
            [&] { require_gradients(*call.communicator, call.name, all); });
  agreement.payloads = std::move(all.payloads);
  agreement.flags = std::move(all.flags);
  agreement.storage = std::move(all.storage);
  return agreement;
}

void make_ready(const Call& call, const Agreement& agreement,
                std::int64_t bytes, c10::function_ref<void()> prepare) {
  make_ready(*call.communicator, {call.name, agreement.sequence, call.timeout},
             bytes, prepare);
}

void bring(const Call& call, const TensorAgreement& agreement,
           at::Tensor& copy) {
  if (!call.communicator->accelerator()) return;
  make_ready(call, agreement, static_cast<std::int64_t>(copy.nbytes()),
             [&] { copy = copy.to(agreement.device); });
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

void check_reducible(const Call& call, Reduction reduction,
                     const at::Tensor& tensor) {
  check_dense(call, tensor);
  const at::ScalarType dtype = tensor.scalar_type();
  TORCH_CHECK_VALUE(accumulate_dtype(dtype) != at::ScalarType::Undefined,
                    call.name, ": cannot reduce dtype ", dtype);
  TORCH_CHECK_VALUE(reduction != Reduction::kProduct, call.name,
                    ": expected sum, mean, min or max, got product; its "
                    "gradient needs every rank's tensor: multiply the results "
                    "of gather_all_tensors with GradientFlow::kAllRanks");
  if (reduction == Reduction::kMean) {
    TORCH_CHECK_VALUE(at::isFloatingType(dtype) || at::isComplexType(dtype),
                      call.name,
                      ": expected a floating dtype, since the mean of integers "
                      "is not an integer; got ",
                      dtype);
  }
  if (reduction == Reduction::kMin || reduction == Reduction::kMax) {
    TORCH_CHECK_VALUE(!at::isComplexType(dtype), call.name,
                      ": expected a real dtype, since complex numbers have no "
                      "order; got ",
                      dtype);
  }
}

at::ScalarType sum_dtype(at::ScalarType dtype) {
  return at::isIntegralType(dtype, /*includeBool=*/true) ? at::kLong : dtype;
}

// Not Encoder::tensor: what is said of tensors here stands before all of their
// bytes, which need not follow.
void pack(const Call& call, const std::vector<at::Tensor>& tensors,
          TensorOffer& offer) {
  if (call.size() == 1) return;
  std::string& payload = offer.payload;
  Encoder encoder(payload);
  encoder.integer(tensors.empty()
                      ? -1
                      : static_cast<std::int64_t>(tensors[0].scalar_type()));
  encoder.integer(static_cast<std::int64_t>(tensors.size()));
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    encoder.integer(tensor.dim());
    for (std::int64_t size : tensor.sizes()) encoder.integer(size);
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

at::Tensor own_copy(const at::Tensor& tensor) {
  return plain(tensor).clone(at::MemoryFormat::Contiguous);
}

at::Tensor shape_of(const at::Tensor& tensor) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin(), 0);
  return at::empty(sizes, tensor.scalar_type());
}

Parcel::Parcel(std::string_view payload) {
  Decoder decoder(payload);
  dtype = take_dtype(decoder);
  sizes.resize(take_count(decoder));
  TORCH_CHECK_VALUE(sizes.empty() || dtype != at::ScalarType(-1),
                    "expected a dtype, got none");
  std::int64_t elements = 0;
  for (auto& of_tensor : sizes) {
    of_tensor.resize(take_count(decoder));
    for (std::int64_t& size : of_tensor) size = take(decoder);
    counts.push_back(product(of_tensor));
    elements += counts.back();
  }
  bytes_ = payload.substr(payload.size() - decoder.remaining());
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

std::vector<Parcel> parcels_of(const Call& call,
                               const TensorAgreement& agreement,
                               std::size_t tensors, std::size_t offset) {
  std::vector<Parcel> parcels;
  for (const std::string_view payload : agreement.payloads) {
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
      const auto rank = static_cast<int>(&payload - agreement.payloads.data());
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
  payload_mismatch(*call.communicator, call.name, agreement.sequence, text,
                   std::move(peers));
}

}  // namespace tally::sync::internal
