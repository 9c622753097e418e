#include "tally/metrics/portable/state_files.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/checkpoint/file.h"
#include "tally/metrics/common/status_text.h"
#include "tally/metrics/core/sources.h"
#include "tally/state/joined.h"
#include "tally/sync/errors.h"

namespace tally {
namespace {

constexpr std::size_t kMostListed = 20;

using internal::invalid_argument;

absl::Status in_file(const std::string& path, const absl::Status& status) {
  const std::string text = internal::message_of(status);
  // Errors of the file system name it.
  return text.find(path) != text.npos
             ? status
             : absl::Status(status.code(), (path + ": " + text).c_str());
}

/// The states that have been merged, by file.
class Merged {
 public:
  /// Why a file cannot be merged with those before, or OK.
  absl::Status check(const StateFile& file) {
    for (const std::string& source : file.sources) {
      const auto [found, is_new] = sources_.emplace(source, file.path);
      if (!is_new) {
        return invalid_argument(c10::str(
            file.path, ": holds what ", found->second,
            " holds, too, and would be counted twice: accumulation ", source));
      }
    }
    if (file.sources.empty() && file.part_count == 0) return absl::OkStatus();
    if (!first_) first_ = {file.path, file.part_count};
    if (file.part_count != first_->second) {
      return invalid_argument(
          c10::str(file.path, ": is of ", count_text(file.part_count), ", but ",
                   first_->first, " of ", count_text(first_->second)));
    }
    for (const std::int64_t part : file.parts) {
      const auto [found, is_new] = parts_.emplace(part, file.path);
      if (!is_new) {
        return invalid_argument(c10::str(file.path, ": is part ", part, " of ",
                                         file.part_count, ", which ",
                                         found->second, " is, too"));
      }
    }
    return absl::OkStatus();
  }

  /// What the file of all of them says.
  void describe(StateFile& whole) const {
    whole.path.clear();
    whole.sources.clear();
    for (const auto& [source, path] : sources_) whole.sources.push_back(source);
    whole.part_count = first_ ? first_->second : 0;
    whole.parts.clear();
    for (const auto& [part, path] : parts_) whole.parts.push_back(part);
  }

 private:
  static std::string count_text(std::int64_t count) {
    return count == 0 ? "no parts" : c10::str(count, " parts");
  }

  std::map<std::string, std::string> sources_;
  std::map<std::int64_t, std::string> parts_;
  std::optional<std::pair<std::string, std::int64_t>> first_;
};

}  // namespace

std::string part_list(const std::vector<std::int64_t>& parts) {
  const std::size_t shown = std::min(parts.size(), kMostListed);
  const std::vector<std::int64_t> first(parts.begin(), parts.begin() + shown);
  std::string text = internal::joined(
      ", ", first, [](std::int64_t part) { return std::to_string(part); });
  if (shown < parts.size()) {
    text += c10::str(" and ", parts.size() - shown, " more");
  }
  return text;
}

std::vector<std::int64_t> StateFile::missing_parts() const {
  return internal::missing_parts(parts, part_count);
}

absl::StatusOr<StateFile> read_state_file(const std::string& path,
                                          const Registry& registry) {
  std::string bytes;
  const absl::Status status =
      internal::read_file(path, bytes, internal::check_checkpoint);
  if (!status.ok()) return in_file(path, status);
  absl::StatusOr<AnyMetric> metric = from_bytes(bytes, registry);
  if (!metric.ok()) return in_file(path, metric.status());
  const auto head =
      internal::read_checkpoint_head(bytes, internal::Checksum::kIgnore);
  if (!head.ok()) return in_file(path, head.status());
  StateFile file;
  file.path = path;
  file.metric = *std::move(metric);
  for (const internal::SourceId& id : head->sources.ids()) {
    file.sources.push_back(id.text());
  }
  file.part_count = head->sources.part_count();
  file.parts = head->sources.parts();
  return file;
}

absl::StatusOr<StateFile> merge_state_files(
    const std::vector<std::string>& paths, bool partial,
    const Registry& registry) {
  if (paths.empty())
    return invalid_argument("expected files to merge, got none");
  Merged merged;
  std::optional<StateFile> whole;
  for (const std::string& path : paths) {
    absl::StatusOr<StateFile> file = read_state_file(path, registry);
    if (!file.ok()) return file.status();
    const absl::Status fits = merged.check(*file);
    if (!fits.ok()) return fits;
    if (!whole) {
      whole = *std::move(file);
      continue;
    }
    try {
      merge_into(whole->metric, file->metric);
    } catch (const std::exception& error) {
      return invalid_argument(path + ": " + sync::describe(error));
    }
  }
  merged.describe(*whole);
  const std::vector<std::int64_t> missing = whole->missing_parts();
  if (!missing.empty() && !partial) {
    return invalid_argument(c10::str("expected all of ", whole->part_count,
                                     " parts, missing ", part_list(missing)));
  }
  return *std::move(whole);
}

}  // namespace tally
