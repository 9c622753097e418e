#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "tally/metrics/checkpoint/file.h"
#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"
#include "tally/sinks/json_lines_sink.h"
#include "tally/sinks/log_file.h"
#include "tally/sinks/table_sink.h"
#include "tally/sinks/time_text.h"

namespace tally::internal {
namespace {

absl::Status unwritable(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, (path + ": cannot be written").c_str());
}

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

LogFile::~LogFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status LogFile::open(int flags) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  return descriptor_ >= 0 ? absl::OkStatus() : unwritable(path_, errno);
}

absl::Status LogFile::open_lines(std::string_view head, Choose choose) {
  is_new_ = true;
  if (is_regular_file(path_)) {
    std::string old;
    const absl::Status read = read_file(
        path_, old,
        [](std::string_view, std::int64_t) { return absl::OkStatus(); });
    if (!read.ok()) return read;
    std::string_view rest = old;
    // Of the first line, too, there may be only a part.
    const std::size_t known = std::min(rest.size(), head.size());
    if (rest.substr(0, known) != head.substr(0, known) ||
        (known < head.size() && rest.find('\n') != rest.npos)) {
      const std::string message = path_ + ": expected a log that begins with " +
                                  std::string(head.substr(0, head.find('\n')));
      return absl::InvalidArgumentError(message.c_str());
    }
    std::string kept;
    for (std::size_t end; (end = rest.find('\n')) != rest.npos;) {
      Line choice = Line::kKept;
      const absl::Status chosen = choose(rest.substr(0, end), choice);
      if (!chosen.ok()) return chosen;
      if (choice == Line::kKept) kept += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
    }
    is_new_ = kept.empty();
    if (kept.size() != old.size()) {
      const absl::Status written = write_file(path_, kept);
      if (!written.ok()) return written;
    }
  }
  return open(O_APPEND | O_CREAT);
}

absl::Status LogFile::rewrite(Rewrite change) {
  std::string old;
  const absl::Status read = read_file(
      path_, old,
      [](std::string_view, std::int64_t) { return absl::OkStatus(); });
  if (!read.ok()) return read;
  const absl::Status written = write_file(path_, change(old));
  if (!written.ok()) return written;
  ::close(std::exchange(descriptor_, -1));
  return open(O_APPEND);
}

absl::Status LogFile::create() { return open(O_CREAT | O_EXCL); }

absl::Status LogFile::append(std::string_view bytes) {
  struct stat before {};
  const bool has_size =
      ::fstat(descriptor_, &before) == 0 && S_ISREG(before.st_mode);
  if (write_all(descriptor_, bytes)) return absl::OkStatus();
  const int error = errno;
  if (has_size && ::ftruncate(descriptor_, before.st_size) != 0) {
    // The next start cuts it.
    return absl::ErrnoToStatus(error, (path_ + ": written in part").c_str());
  }
  return unwritable(path_, error);
}

absl::Status LogFile::close() {
  if (descriptor_ < 0) return absl::OkStatus();
  // Pipes and devices cannot be synced.
  const bool stored = ::fsync(descriptor_) == 0 || errno == EINVAL ||
                      errno == ENOTSUP || errno == EROFS;
  const int error = errno;
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (!stored) return unwritable(path_, error);
  return closed ? absl::OkStatus() : unwritable(path_, errno);
}

}  // namespace tally::internal

namespace tally {
namespace {

constexpr std::string_view kJsonHead = "{\"tally_log\":";

/// A line of the file; not an object if it is damaged.
nlohmann::ordered_json parse(std::string_view line) {
  return nlohmann::ordered_json::parse(line.begin(), line.end(), nullptr,
                                       /*allow_exceptions=*/false);
}

}  // namespace

absl::Status JsonLinesSink::begin(const Run& run) {
  using Line = internal::LogFile::Line;
  const absl::Status opened =
      file_.open_lines(kJsonHead, [&](std::string_view line, Line& choice) {
        const nlohmann::ordered_json json = parse(line);
        if (!json.is_object()) {
          choice = Line::kDropped;
          return absl::OkStatus();
        }
        const auto version = json.find("tally_log");
        if (version != json.end() &&
            !(version->is_number_integer() && *version <= kVersion)) {
          const std::string message =
              file_.path() + ": expected a log of version " +
              std::to_string(kVersion) + " or older, got " + version->dump();
          return absl::FailedPreconditionError(message.c_str());
        }
        const auto step = json.find("step");
        if (step != json.end() && step->is_number_integer() &&
            step->get<std::int64_t>() >= run.first_step) {
          choice = Line::kDropped;
        }
        return absl::OkStatus();
      });
  if (!opened.ok()) return opened;
  nlohmann::ordered_json head;
  head["tally_log"] = kVersion;
  head["run"] = run.id;
  head["command"] = run.command;
  head["first_step"] = run.first_step;
  std::string line = head.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  line.pop_back();
  return file_.append(line + ",\"time\":" + internal::time_text(run.time) +
                      "}\n");
}

absl::Status JsonLinesSink::write(std::int64_t step, double time,
                                  const Results& results) {
  std::string line = "{\"step\":" + std::to_string(step) +
                     ",\"time\":" + internal::time_text(time) +
                     ",\"results\":" + to_json(results);
  std::string dimensions = dimensions_to_json(results);
  if (dimensions != dimensions_) {
    line += ",\"dimensions\":" + dimensions;
    dimensions_ = std::move(dimensions);
  }
  return file_.append(line + "}\n");
}

namespace {

constexpr std::size_t kNarrowest = 10;

std::string aligned(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string number_text(const at::Tensor& value) {
  if (!value.is_floating_point()) {
    return std::to_string(value.item<std::int64_t>());
  }
  const auto number = value.item<double>();
  if (std::isnan(number)) return "nan";  // without the sign that it may have
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

}  // namespace

absl::Status TableSink::status() const {
  return out_.good() ? absl::OkStatus()
                     : absl::UnavailableError("table: cannot be printed");
}

absl::Status TableSink::begin(const Run&) { return status(); }

absl::Status TableSink::write(std::int64_t step, double,
                              const Results& results) {
  std::vector<std::string> names;
  std::string line = aligned(std::to_string(step), kNarrowest);
  for (const auto& [name, value] : results) {
    if (!value.defined() || value.dim() != 0 || value.is_complex()) continue;
    names.push_back(name);
    line +=
        "  " + aligned(number_text(value), std::max(kNarrowest, name.size()));
  }
  if (names != names_) {
    out_ << aligned("step", kNarrowest);
    for (const std::string& name : names) {
      out_ << "  " << aligned(name, kNarrowest);
    }
    out_ << '\n';
    names_ = std::move(names);
  }
  out_ << line << std::endl;
  last_ = results;
  return status();
}

absl::Status TableSink::finish() {
  if (!last_.empty())
    out_ << '\n' << to_table(last_, class_names_) << std::flush;
  return status();
}

}  // namespace tally
