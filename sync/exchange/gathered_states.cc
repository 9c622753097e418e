#include "tally/sync/exchange/gathered_states.h"

#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "tally/port/guards.h"
#include "tally/state/codec.h"

namespace tally::sync::internal {
namespace {

// A sum that gathered would take so much of a rank's memory is reduced, unless
// it is so small that a collective of its own costs more.
constexpr std::int64_t kMostGatheredBytes = std::int64_t{2} << 20;
constexpr std::int64_t kLeastReducedBytes = std::int64_t{64} << 10;
// Most payloads need no more memory than they start with.
constexpr size_t kUsualBytes = 16384;
// Only these can be left out of a payload.
constexpr size_t kMaskedFields = 61;
// Beside them in the mask.
constexpr std::int64_t kOnCuda = std::int64_t{1} << kMaskedFields;
constexpr std::int64_t kInputsOnCuda = kOnCuda << 1;
constexpr std::int64_t kOnAccelerator =
    std::numeric_limits<std::int64_t>::min();

bool is_large_sum(const AnyState& state, const Field& field,
                  std::int64_t reduced_bytes) {
  if (!merges_by_field(state) || field.kind != Field::Kind::kTensor ||
      field.merge != Merge::kSum || !field.as_tensor().defined()) {
    return false;
  }
  const at::Tensor& tensor = field.as_tensor();
  const at::ScalarType dtype = tensor.scalar_type();
  return tensor.layout() == at::kStrided &&
         static_cast<std::int64_t>(tensor.nbytes()) >= reduced_bytes &&
         (dtype == at::kLong || dtype == at::kDouble || dtype == at::kFloat);
}

bool are_large_rows(const AnyState& state, const Field& field) {
  if (!merges_by_field(state) || compacts(state) ||
      field.kind != Field::Kind::kRows || !field.as_rows().defined()) {
    return false;
  }
  const at::Tensor rows = field.as_rows().tensor();
  return rows.layout() == at::kStrided && !rows.is_quantized() &&
         static_cast<std::int64_t>(rows.nbytes()) >= kMovedBytes;
}

States identities(const std::vector<SyncItem>& items) {
  States states;
  for (const SyncItem& item : items) states.push_back(item.identity);
  return states;
}

c10::Device device_of(const SyncItem& item) {
  for (const Field& field : item.state.fields()) {
    if (field.kind == Field::Kind::kTensor && field.as_tensor().defined()) {
      return field.as_tensor().device();
    }
    if (field.kind == Field::Kind::kRows && field.as_rows().defined()) {
      return field.as_rows().tensor().device();
    }
    if (field.kind == Field::Kind::kNumber && !field.as_number().is_plain()) {
      return field.as_number().tensor().device();
    }
  }
  return at::kCPU;
}

}  // namespace

std::int64_t reduced_bytes(int ranks) {
  return std::max(kLeastReducedBytes, kMostGatheredBytes / ranks);
}

// The payload: for each state its update count, which fields were left out,
// whether it is on a GPU, and the inputs are, and whether it is on the
// accelerator, and its fields. In the place of one that was left out is its
// shape_of().
EncodedStates encode_states(const std::vector<SyncItem>& items,
                            std::optional<std::int64_t> reduced_bytes,
                            std::optional<c10::Device> accelerator) {
  EncodedStates encoded;
  std::string& bytes = encoded.payload;
  bytes.reserve(kUsualBytes);
  Encoder encoder(bytes);
  for (const SyncItem& item : items) {
    encoder.integer(item.update_count);
    AnyState state = item.state;
    const Fields fields = state.fields();
    std::int64_t left_out = 0;
    for (size_t f = 0; reduced_bytes && f < fields.size(); ++f) {
      const bool sum = is_large_sum(state, fields[f], *reduced_bytes);
      if (!sum && !are_large_rows(state, fields[f])) continue;
      TORCH_CHECK_VALUE(f < kMaskedFields, item.label, ": expected large ",
                        "fields among the first ", kMaskedFields,
                        ", got field ", f);
      left_out |= std::int64_t{1} << f;
      encoded.leaves_out = true;
      if (sum) {
        fields[f].as_tensor() = shape_of(fields[f].as_tensor());
      } else {
        fields[f].as_rows() = Rows(shape_of(fields[f].as_rows().tensor()));
      }
    }
    const c10::Device place = device_of(item);
    if (place.is_cuda()) left_out |= kOnCuda;
    if (item.device && item.device->is_cuda()) left_out |= kInputsOnCuda;
    if (place == accelerator) left_out |= kOnAccelerator;
    encoder.integer(left_out);
    encoder.fields(fields);
  }
  // The longest payload then needs no copy to be padded.
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
  return encoded;
}

GatheredStates::GatheredStates(const std::vector<SyncItem>& items,
                               const Contributions& all,
                               const Communicator& communicator)
    : items_(items), communicator_(communicator), sequence_(all.sequence) {
  for (const SyncItem& item : items) {
    places_.push_back(device_of(item));
    devices_.push_back(item.device);
  }
  for (const std::string_view payload : all.payloads) {
    decode(payload, all.storage);
  }
  for (States& states : ranks_) {
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!places_[i].is_cpu()) move_to(states[i].fields(), places_[i]);
    }
  }
  check_large();
}

void GatheredStates::decode(std::string_view payload,
                            const at::Tensor& storage) {
  Decoder decoder(payload, storage);
  ranks_.push_back(identities(items_));
  for (size_t i = 0; i < items_.size(); ++i) {
    counts_.push_back(decoder.integer());
    const std::int64_t left_out = decoder.integer();
    const Fields fields = ranks_.back()[i].fields();
    decoder.fields(fields);
    for (size_t f = 0; f < std::min(fields.size(), kMaskedFields); ++f) {
      if ((left_out >> f & 1) == 0) continue;
      const Field& field = fields[f];
      note_large(ranks_.size() - 1, i, f, left_out < 0,
                 field.kind == Field::Kind::kRows
                     ? std::exchange(field.as_rows(), Rows()).tensor()
                     : std::exchange(field.as_tensor(), at::Tensor()));
    }
    // Without data here, what the others compute on their devices is computed
    // on the one of this rank, so that the bits are the same.
    if (!at::hasCUDA()) continue;
    if ((left_out & kOnCuda) != 0 && items_[i].update_count == 0) {
      places_[i] = port::Devices(c10::kCUDA).getDevice();
    }
    if ((left_out & kInputsOnCuda) != 0 && !devices_[i]) {
      devices_[i] = port::Devices(c10::kCUDA).getDevice();
    }
  }
}

void GatheredStates::note_large(size_t rank, size_t item, size_t field,
                                bool on_accelerator, const at::Tensor& shape) {
  const bool rows =
      items_[item].identity.fields()[field].kind == Field::Kind::kRows;
  const auto sizes = shape.sizes().slice(rows ? 2 : 1);
  auto large =
      std::find_if(large_.begin(), large_.end(), [&](const Large& other) {
        return other.item == item && other.field == field;
      });
  if (large == large_.end()) {
    large_.push_back({item,
                      field,
                      sizes.vec(),
                      shape.scalar_type(),
                      communicator_.device(),
                      {},
                      {},
                      {}});
    large = large_.end() - 1;
  }
  if (on_accelerator) large->device = *communicator_.accelerator();
  require_like(*large, rank, sizes, shape.scalar_type());
  if (!rows) return;
  large->rows.resize(static_cast<size_t>(communicator_.size()));
  large->rows[rank] = shape.size(1);
}

void GatheredStates::check_large() const {
  for (const Large& large : large_) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Field field = ranks_[r][large.item].fields()[large.field];
      if (field.kind == Field::Kind::kTensor && field.as_tensor().defined()) {
        const at::Tensor& tensor = field.as_tensor();
        require_like(large, r, tensor.sizes(), tensor.scalar_type());
        // It is like the others' but was not left out: they count otherwise.
        fail(large.item, r, "it was not left out of the payload");
      }
      if (field.kind == Field::Kind::kRows && field.as_rows().defined()) {
        const at::Tensor rows = field.as_rows().tensor();
        const auto first = static_cast<size_t>(
            std::find_if(large.rows.begin(), large.rows.end(),
                         [](std::int64_t n) { return n > 0; }) -
            large.rows.begin());
        const Large few{large.item,
                        large.field,
                        rows.sizes().slice(1).vec(),
                        rows.scalar_type(),
                        large.device,
                        {},
                        {},
                        {}};
        // The lowest rank sets what the others have to be like.
        if (r < first) {
          require_like(few, first, large.sizes, large.dtype);
        } else {
          require_like(large, r, few.sizes, few.dtype);
        }
      }
    }
  }
}

void GatheredStates::require_like(const Large& large, size_t rank,
                                  c10::IntArrayRef sizes,
                                  at::ScalarType dtype) const {
  if (sizes == large.sizes && dtype == large.dtype) return;
  const Field field = items_[large.item].identity.fields()[large.field];
  fail(large.item, rank,
       c10::str("state '", field.name, "' ",
                field.kind == Field::Kind::kRows ? "has rows of " : "is ",
                dtype, " ", sizes, ", expected ", large.dtype, " ",
                c10::IntArrayRef(large.sizes)));
}

void GatheredStates::fail(size_t item, size_t rank,
                          const std::string& why) const {
  SyncErrorDetails details;
  details.metric = items_[item].label;
  details.rank = communicator_.rank();
  details.peers = {static_cast<int>(rank)};
  details.sequence = sequence_;
  details.phase = "merge";
  throw SyncError(
      SyncErrorCode::kMismatch,
      c10::str("rank ", rank,
               "'s state does not fit those of the other ranks: ", why),
      std::move(details));
}

std::vector<std::int64_t> GatheredStates::update_counts() const {
  std::vector<std::int64_t> sums(items_.size());
  for (size_t i = 0; i < counts_.size(); ++i) {
    sums[i % items_.size()] += counts_[i];
  }
  return sums;
}

States GatheredStates::fold(size_t first, size_t last) const {
  States result = identities(items_);
  for (size_t r = first; r < last; ++r) merge_rank(result, ranks_[r], r);
  return result;
}

States GatheredStates::fold_away() {
  States result = identities(items_);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    merge_rank(result,
               large_.empty() ? std::exchange(ranks_[r], {}) : ranks_[r], r);
  }
  return result;
}

void GatheredStates::merge_rank(States& into, States from, size_t rank) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    try {
      merge(into[i], std::move(from[i]), items_[i].label.c_str());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(i, rank, describe(error));
    }
  }
}

void GatheredStates::prepare(Large& large) const {
  const Field own = items_[large.item].state.fields()[large.field];
  if (own.kind != Field::Kind::kRows) {
    const at::Tensor& sum = own.as_tensor();
    large.whole = (sum.defined() ? sum.contiguous().clone()
                                 : at::zeros(large.sizes, large.dtype))
                      .to(large.device);
    return;
  }
  std::int64_t row_bytes =
      static_cast<std::int64_t>(c10::elementSize(large.dtype));
  for (const std::int64_t size : large.sizes) row_bytes *= size;
  std::vector<std::int64_t> bytes;
  for (const std::int64_t rows : large.rows) bytes.push_back(rows * row_bytes);
  const int rank = communicator_.rank();
  large.gather.emplace(bytes[rank] > 0 ? own.as_rows().tensor() : at::Tensor(),
                       std::move(bytes), ByteGather::Gaps::kNone, large.device,
                       rank);
}

void GatheredStates::prepare_large() {
  for (Large& large : large_) {
    const SyncItem& item = items_[large.item];
    std::string what =
        item.label + "'s " + item.identity.fields()[large.field].name;
    if (!large.rows.empty()) {
      const auto most = std::max_element(large.rows.begin(), large.rows.end());
      what += c10::str(", of which rank ", most - large.rows.begin(), " has ",
                       *most, " rows");
    }
    made_for(what, [&] { prepare(large); });
  }
}

void GatheredStates::move_large(Communicator& communicator, Timeout timeout) {
  for (Large& large : large_) {
    try {
      if (large.gather) {
        large.gather->start(communicator, timeout).wait();
        std::vector<std::int64_t> sizes = large.sizes;
        sizes.insert(sizes.begin(),
                     std::accumulate(large.rows.begin(), large.rows.end(),
                                     std::int64_t{0}));
        large.whole = large.gather->take_as(large.dtype, sizes);
      } else {
        communicator.all_reduce(large.whole, ReduceOp::kSum, timeout);
      }
    } catch (const SyncError& error) {
      const SyncItem& item = items_[large.item];
      SyncErrorDetails details = error.details();
      details.metric = item.label;
      details.state = item.identity.fields()[large.field].name;
      details.sequence = sequence_;
      throw SyncError(error.code(), error.message(), std::move(details));
    }
  }
}

// With the few of ranks that did not leave them out.
at::Tensor GatheredStates::all_rows(Large& large) const {
  const at::Tensor whole = std::exchange(large.whole, at::Tensor());
  std::vector<at::Tensor> parts;
  std::int64_t begin = 0;
  bool any_few = false;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Rows few = ranks_[r][large.item].fields()[large.field].as_rows();
    if (few.size() > 0) {
      parts.push_back(few.tensor().to(whole.device()));
      any_few = true;
    }
    parts.push_back(whole.narrow(0, begin, large.rows[r]));
    begin += large.rows[r];
  }
  return any_few ? at::cat(parts) : whole;
}

void GatheredStates::complete(States& states) {
  for (Large& large : large_) {
    const c10::Device device = places_[large.item];
    const Fields fields = states[large.item].fields();
    const Field& field = fields[large.field];
    if (field.kind == Field::Kind::kRows) {
      field.as_rows() = Rows(all_rows(large).to(device));
      continue;
    }
    const at::Tensor whole =
        std::exchange(large.whole, at::Tensor()).to(device);
    // A fold may have summed up something there as well (State::compact).
    at::Tensor& place = field.as_tensor();
    place = place.defined() ? place.add(whole) : whole;
  }
}

}  // namespace tally::sync::internal
