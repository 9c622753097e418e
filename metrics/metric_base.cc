#include "tally/metrics/metric_base.h"

#include <ATen/ops/empty.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include <cstring>
#include <string>
#include <utility>

#include "tally/metrics/accumulation.h"
#include "tally/metrics/checkpoint.h"
#include "tally/metrics/file.h"
#include "tally/metrics/rank_checkpoint.h"
#include "tally/sync/communicator.h"

namespace tally::internal {

std::vector<CheckpointEntry> Accumulation::entries() const {
  std::vector<CheckpointEntry> entries;
  for (const Group& group : groups_) {
    entries.push_back({group.label, group.key, group.local, group.update_count,
                       group.index_offset});
  }
  return entries;
}

std::vector<CheckpointEntry> Accumulation::empty_entries() const {
  std::vector<CheckpointEntry> entries;
  for (const Group& group : groups_) {
    entries.push_back({group.label, group.key, group.identity});
  }
  return entries;
}

void Accumulation::take_entries(std::vector<CheckpointEntry> entries) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].local = std::move(entries[i].state);
    groups_[i].update_count = entries[i].update_count;
    groups_[i].index_offset = entries[i].index_offset;
    groups_[i].synced = AnyState();
  }
  synced_ = false;
  invalidate_value();
}

std::string Accumulation::serialize() const {
  return write_checkpoint(entries());
}

// Without syncs a metric is its process's own.
CheckpointOrigin Accumulation::origin() const {
  const auto ranks = options_.sync_on_compute() ? other_ranks() : nullptr;
  CheckpointOrigin origin;
  if (!ranks) return origin;
  origin.kind = CheckpointOrigin::Kind::kOneRank;
  origin.rank = ranks->rank();
  origin.ranks = ranks->size();
  return origin;
}

absl::Status Accumulation::deserialize(std::string_view bytes) {
  std::vector<CheckpointEntry> entries = empty_entries();
  const absl::Status status =
      read_checkpoint(bytes, entries, [&](const CheckpointOrigin& of_file) {
        return check_own(of_file, origin());
      });
  if (status.ok()) take_entries(std::move(entries));
  return status;
}

absl::Status Accumulation::deserialize_parts(std::string_view bytes,
                                             CheckpointGaps& gaps) {
  std::vector<CheckpointEntry> entries = empty_entries();
  const absl::Status status = read_checkpoint_parts(
      bytes, entries, gaps, [&](const CheckpointOrigin& of_file) {
        return check_own(of_file, origin());
      });
  if (status.ok()) take_entries(std::move(entries));
  return status;
}

}  // namespace tally::internal

namespace tally {

void MetricBase::sync() {
  const Use use(accumulation_);
  accumulation_.sync();
}

void MetricBase::unsync() {
  const Use use(accumulation_);
  accumulation_.unsync();
}

void MetricBase::reset() {
  const Use use(accumulation_);
  accumulation_.reset();
}

std::int64_t MetricBase::update_count() const {
  if (accumulation_.groups().empty()) return 0;
  const auto& group = accumulation_.group();
  return is_synced() ? group.synced_update_count : group.update_count;
}

void MetricBase::to(c10::Device device) {
  const Use use(accumulation_);
  accumulation_.to(device);
}

absl::Status MetricBase::deserialize(std::string_view bytes) {
  const Use use(accumulation_);
  return accumulation_.deserialize(bytes);
}

absl::Status MetricBase::save(const std::string& path) const {
  return internal::write_file(
      path, internal::write_checkpoint(accumulation_.entries(),
                                       accumulation_.origin()));
}

absl::Status MetricBase::load(const std::string& path) {
  std::string bytes;
  const absl::Status status =
      internal::read_file(path, bytes, internal::check_checkpoint);
  return status.ok() ? deserialize(bytes) : status;
}

absl::Status MetricBase::save(const std::string& path, CheckpointRanks ranks) {
  const Use use(accumulation_);
  return internal::save_over_ranks(accumulation_, path, ranks);
}

absl::Status MetricBase::load(const std::string& path, CheckpointRanks ranks) {
  const Use use(accumulation_);
  return internal::load_over_ranks(accumulation_, path, ranks);
}

namespace {

constexpr const char* kKey = "tally";

}  // namespace

torch::serialize::OutputArchive& operator<<(
    torch::serialize::OutputArchive& archive, const MetricBase& metric) {
  const std::string bytes = metric.serialize();
  at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  archive.write(kKey, tensor, /*is_buffer=*/true);
  return archive;
}

torch::serialize::InputArchive& operator>>(
    torch::serialize::InputArchive& archive, MetricBase& metric) {
  at::Tensor tensor;
  TORCH_CHECK_VALUE(archive.try_read(kKey, tensor, /*is_buffer=*/true) &&
                        tensor.scalar_type() == at::kByte,
                    "expected the state of a metric in the archive, got none");
  const at::Tensor bytes = tensor.cpu().contiguous();
  const absl::Status status =
      metric.deserialize({static_cast<const char*>(bytes.data_ptr()),
                          static_cast<std::size_t>(bytes.numel())});
  TORCH_CHECK_VALUE(status.ok(), std::string(status.message().data(),
                                             status.message().size()));
  return archive;
}

}  // namespace tally
