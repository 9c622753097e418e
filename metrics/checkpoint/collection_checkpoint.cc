#include <algorithm>
#include <utility>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/checkpoint/file.h"
#include "tally/metrics/collection.h"

namespace tally {

absl::StatusOr<MetricCollection::LoadReport>
MetricCollection::deserialize_parts(std::string_view bytes) {
  const Use use(accumulation_);
  internal::CheckpointGaps gaps;
  const absl::Status status = accumulation_.deserialize(bytes, &gaps);
  if (!status.ok()) return status;
  LoadReport report;
  report.unexpected = std::move(gaps.unread);
  for (const Member& member : members_) {
    const auto is_unfilled = [&](std::size_t column) {
      return std::count(gaps.unfilled.begin(), gaps.unfilled.end(), column) > 0;
    };
    if (is_unfilled(member.group) || is_unfilled(member.kept)) {
      report.missing.push_back(member.name);
    }
  }
  return report;
}

absl::StatusOr<MetricCollection::LoadReport> MetricCollection::load_parts(
    const std::string& path) {
  std::string bytes;
  const absl::Status status =
      internal::read_file(path, bytes, internal::check_checkpoint);
  if (!status.ok()) return status;
  return deserialize_parts(bytes);
}

}  // namespace tally
