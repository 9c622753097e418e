#include "tally/sync/gathered_states.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "tally/state/codec.h"

namespace tally::sync::internal {
namespace {

// A sum that gathered would take so much of a rank's memory is reduced, unless
// it is so small that a collective of its own costs more.
constexpr std::int64_t kMostGatheredBytes = std::int64_t{2} << 20;
constexpr std::int64_t kLeastReducedBytes = std::int64_t{64} << 10;

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
// and its fields. One that was left out is an empty tensor that tells dtype and
// sizes, behind an additional dimension of size 0.
std::string encode_states(const std::vector<SyncItem>& items,
                          std::optional<std::int64_t> reduced_bytes) {
  std::string bytes;
  Encoder encoder(bytes);
  for (const SyncItem& item : items) {
    encoder.integer(item.update_count);
    AnyState state = item.state;
    const Fields fields = state.fields();
    std::int64_t left_out = 0;
    for (size_t f = 0; reduced_bytes && f < fields.size(); ++f) {
      if (!is_large_sum(state, fields[f], *reduced_bytes)) continue;
      TORCH_CHECK_VALUE(f < 63, item.label, ": expected large sums among the ",
                        "first 63 fields, got field ", f);
      left_out |= std::int64_t{1} << f;
      at::Tensor& tensor = fields[f].as_tensor();
      std::vector<std::int64_t> sizes = tensor.sizes().vec();
      sizes.insert(sizes.begin(), 0);
      tensor = at::empty(sizes, tensor.scalar_type());
    }
    encoder.integer(left_out);
    encoder.fields(fields);
  }
  // The longest payload then needs no copy to be padded.
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
  return bytes;
}

GatheredStates::GatheredStates(const std::vector<SyncItem>& items,
                               const Contributions& all,
                               const Communicator& communicator)
    : items_(items), communicator_(communicator), sequence_(all.sequence) {
  for (const std::string_view payload : all.payloads) {
    decode(payload, all.storage);
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
    for (size_t f = 0; f < fields.size(); ++f) {
      if ((left_out >> f & 1) == 0) continue;
      note_large(ranks_.size() - 1, i, f,
                 std::exchange(fields[f].as_tensor(), at::Tensor()));
    }
    // The payload does not say where states live: as here.
    const c10::Device device = device_of(items_[i]);
    if (!device.is_cpu()) move_to(fields, device);
  }
}

void GatheredStates::note_large(size_t rank, size_t item, size_t field,
                                const at::Tensor& shape) {
  const std::vector<std::int64_t> sizes = shape.sizes().slice(1).vec();
  for (const Large& large : large_) {
    if (large.item != item || large.field != field) continue;
    if (large.sizes == sizes && large.dtype == shape.scalar_type()) return;
    fail(item, rank,
         c10::str("state '", items_[item].identity.fields()[field].name,
                  "' is ", shape.scalar_type(), " ", c10::IntArrayRef(sizes),
                  ", expected ", large.dtype, " ",
                  c10::IntArrayRef(large.sizes)));
  }
  large_.push_back({item, field, sizes, shape.scalar_type()});
}

void GatheredStates::check_large() const {
  for (const Large& large : large_) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Field& field = ranks_[r][large.item].fields()[large.field];
      if (!field.as_tensor().defined()) continue;
      fail(large.item, r,
           c10::str("state '", field.name, "' is ",
                    field.as_tensor().scalar_type(), " ",
                    field.as_tensor().sizes(), ", expected ", large.dtype, " ",
                    c10::IntArrayRef(large.sizes)));
    }
  }
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

void GatheredStates::merge_rank(States& into, const States& from,
                                size_t rank) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    try {
      merge(into[i], from[i], items_[i].label.c_str());
    } catch (const std::exception& error) {
      fail(i, rank, describe(error));
    }
  }
}

void GatheredStates::reduce_large(States& states, Communicator& communicator,
                                  Timeout timeout) const {
  for (const Large& large : large_) {
    const SyncItem& item = items_[large.item];
    const at::Tensor own = item.state.fields()[large.field].as_tensor();
    at::Tensor sum = own.defined() ? own.contiguous().clone()
                                   : at::zeros(large.sizes, large.dtype);
    const c10::Device device = sum.device();
    sum = sum.to(communicator.device());
    try {
      communicator.all_reduce(sum, ReduceOp::kSum, timeout);
    } catch (const SyncError& error) {
      SyncErrorDetails details = error.details();
      details.metric = item.label;
      details.state = item.state.fields()[large.field].name;
      details.sequence = sequence_;
      throw SyncError(error.code(), error.message(), std::move(details));
    }
    // A fold may have summed up something there as well (State::compact).
    const Fields fields = states[large.item].fields();
    at::Tensor& place = fields[large.field].as_tensor();
    sum = sum.to(device);
    place = place.defined() ? place.add(sum) : sum;
  }
}

}  // namespace tally::sync::internal
