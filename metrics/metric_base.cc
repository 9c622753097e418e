#include "tally/metrics/metric_base.h"

#include "tally/metrics/checkpoint.h"
#include "tally/metrics/file.h"
#include "tally/metrics/rank_checkpoint.h"

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

}  // namespace tally
