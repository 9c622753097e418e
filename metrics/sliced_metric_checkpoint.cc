#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <utility>

#include "tally/metrics/checkpoint.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/sliced_metric.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/errors.h"

namespace tally {
namespace {

using internal::CheckpointEntry;
using internal::CheckpointOrigin;

/// The slices, whose states follow in a checkpoint of their own: it can be read
/// once their number is known.
struct SliceTable {
  std::int64_t columns = 0;
  at::Tensor keys;   // bytes of one after the other
  at::Tensor sizes;  // of keys in bytes
  at::Tensor rows;
  void fields(Fields& f) {
    f("columns", columns)("keys", keys)("sizes", sizes)("rows", rows);
  }
};

std::vector<CheckpointEntry> entries_of(const SliceTable& table) {
  return {{SlicedMetric::kName, "SliceTable", AnyState::of(table)}};
}

std::vector<std::int64_t> numbers_of(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined() && tensor.dim() == 1 &&
                        tensor.scalar_type() == at::kLong,
                    "expected numbers of slices");
  const at::Tensor whole = tensor.contiguous();
  const auto* begin = whole.const_data_ptr<std::int64_t>();
  return {begin, begin + whole.numel()};
}

std::string bytes_of(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined() && tensor.dim() == 1 &&
                        tensor.scalar_type() == at::kByte,
                    "expected bytes of keys");
  const at::Tensor whole = tensor.contiguous();
  const auto* begin = whole.const_data_ptr<std::uint8_t>();
  return {begin, begin + whole.numel()};
}

absl::Status accept(const CheckpointOrigin&) { return absl::OkStatus(); }

}  // namespace

std::string SlicedMetric::serialize() const {
  const internal::OutsideInference outside;
  std::string keys;
  std::vector<std::int64_t> sizes, rows;
  std::vector<CheckpointEntry> states;
  for (const auto& [key, slice] : slices_) {
    keys += key;
    sizes.push_back(static_cast<std::int64_t>(key.size()));
    rows.push_back(slice.rows);
    for (std::size_t i = 0; i < observers_.size(); ++i) {
      states.push_back({observer(i).name(), observer(i).state_key().text(),
                        slice.states[i]});
    }
  }
  SliceTable table{
      columns_, {}, internal::tensor_of(sizes), internal::tensor_of(rows)};
  table.keys = at::empty({static_cast<std::int64_t>(keys.size())}, at::kByte);
  std::copy(keys.begin(), keys.end(),
            table.keys.mutable_data_ptr<std::uint8_t>());
  const std::string head = internal::write_checkpoint(entries_of(table));
  const auto length = static_cast<std::int64_t>(head.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + head + internal::write_checkpoint(states);
}

absl::Status SlicedMetric::deserialize(std::string_view bytes) {
  const internal::OutsideInference outside;
  try {
    return read(bytes);
  } catch (const std::exception& error) {
    return absl::DataLossError(
        ("the slices are damaged: " + sync::describe(error)).c_str());
  }
}

absl::Status SlicedMetric::read(std::string_view bytes) {
  std::int64_t length = 0;
  TORCH_CHECK_VALUE(bytes.size() >= sizeof length, "expected at least ",
                    sizeof length, " bytes, got ", bytes.size());
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  TORCH_CHECK_VALUE(
      length >= 0 && static_cast<std::uint64_t>(length) <= bytes.size(),
      "expected at most ", bytes.size(), " bytes of keys, got ", length);
  const auto size = static_cast<std::size_t>(length);
  std::vector<CheckpointEntry> head = entries_of({});
  absl::Status status =
      internal::read_checkpoint(bytes.substr(0, size), head, accept);
  if (!status.ok()) return status;
  const auto& table = head[0].state.get<SliceTable>();
  const std::string keys = bytes_of(table.keys);
  const std::vector<std::int64_t> sizes = numbers_of(table.sizes);
  const std::vector<std::int64_t> rows = numbers_of(table.rows);
  TORCH_CHECK_VALUE(sizes.size() == rows.size(), "expected rows of ",
                    sizes.size(), " slices, got ", rows.size());
  std::vector<std::string> found;
  std::size_t next = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    TORCH_CHECK_VALUE(
        sizes[k] >= 0 && rows[k] >= 0 &&
            static_cast<std::uint64_t>(sizes[k]) <= keys.size() - next,
        "expected a key and its rows");
    found.push_back(keys.substr(next, static_cast<std::size_t>(sizes[k])));
    next += static_cast<std::size_t>(sizes[k]);
    TORCH_CHECK_VALUE(internal::is_slice_key(found[k], table.columns) &&
                          (k == 0 || found[k - 1] < found[k]),
                      "expected keys of ", table.columns, " columns");
  }
  try {
    TORCH_CHECK_VALUE(
        options_.keys().empty() || found.empty() || table.columns == columns_,
        kName, ": expected keys of ", columns_, " columns, got ",
        table.columns);
    for (const std::string& key : found) check_known(key);
    check_count(found.size());
  } catch (const c10::ValueError& error) {
    return absl::FailedPreconditionError(sync::describe(error).c_str());
  }
  std::vector<CheckpointEntry> states;
  for (std::size_t k = 0; k < found.size(); ++k) {
    for (std::size_t i = 0; i < observers_.size(); ++i) {
      states.push_back({observer(i).name(), observer(i).state_key().text(),
                        observer(i).make_state()});
    }
  }
  status = internal::read_checkpoint(bytes.substr(size), states, accept);
  if (!status.ok()) return status;
  Slices slices;
  auto state = states.begin();
  for (std::size_t k = 0; k < found.size(); ++k) {
    Accumulated slice;
    slice.rows = rows[k];
    for (std::size_t i = 0; i < observers_.size(); ++i) {
      slice.states.push_back(std::move((state++)->state));
    }
    slices.emplace(std::move(found[k]), std::move(slice));
  }
  slices_ = std::move(slices);
  if (!slices_.empty()) columns_ = table.columns;
  return absl::OkStatus();
}

}  // namespace tally
