#include "tally/metrics/metric_base.h"

#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include <string>
#include <utility>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/checkpoint/file.h"
#include "tally/metrics/checkpoint/rank_checkpoint.h"
#include "tally/metrics/common/status_text.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/core/accumulation.h"

namespace tally {

Results MetricBase::state() const {
  const Reading reading(accumulation_);
  return accumulation_.state_tensors();
}

std::string MetricBase::serialize() const {
  const Reading reading(accumulation_);
  return accumulation_.serialize();
}

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

void MetricBase::merge_from(const MetricBase& other) {
  TORCH_CHECK_VALUE(&other != this, accumulation_.label(),
                    ": merge_state expected another one, got itself");
  const Use use(accumulation_);
  accumulation_.merge_state(other.accumulation_);
}

void MetricBase::compute_once(
    c10::function_ref<void(internal::StateRows& rows)> evaluate,
    c10::function_ref<void()> finish) {
  const Use use(accumulation_);
  accumulation_.invalidate_value();
  accumulation_.compute(evaluate, finish);
  accumulation_.invalidate_value();
}

void MetricBase::set_sync_options(MetricOptions options) {
  const Use use(accumulation_);
  TORCH_CHECK_VALUE(
      options_state_key(options) == options_state_key(metric_options()),
      accumulation_.label(),
      ": expected validate_args, nan_policy and compute_on_cpu as the metrics "
      "have them");
  accumulation_.set_options(std::move(options));
}

void MetricBase::to(c10::Device device) {
  const Use use(accumulation_);
  accumulation_.to(device);
}

absl::Status MetricBase::deserialize(std::string_view bytes) {
  const Use use(accumulation_);
  return accumulation_.deserialize(bytes);
}

absl::Status MetricBase::save(const std::string& path, StatePart part) const {
  const Reading reading(accumulation_);
  internal::CheckpointRows rows = accumulation_.checkpoint();
  rows.sources.set_part(part);
  const std::string text = spec();
  return internal::write_file(
      path, internal::write_checkpoint(rows, accumulation_.origin(), &text));
}

std::string MetricBase::to_bytes() const {
  const Reading reading(accumulation_);
  return accumulation_.to_bytes(spec());
}

absl::Status MetricBase::load(const std::string& path) {
  std::string bytes;
  const absl::Status status =
      internal::read_file(path, bytes, internal::check_checkpoint);
  return status.ok() ? deserialize(bytes) : status;
}

absl::Status MetricBase::save(const std::string& path, CheckpointRanks ranks,
                              StatePart part) {
  const Use use(accumulation_);
  return internal::save_over_ranks(accumulation_, spec(), path, ranks, part);
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
  archive.write(kKey, internal::tensor_of(metric.serialize()),
                /*is_buffer=*/true);
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
  TORCH_CHECK_VALUE(status.ok(), internal::message_of(status));
  return archive;
}

}  // namespace tally
