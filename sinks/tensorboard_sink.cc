#include "tally/sinks/tensorboard_sink.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tally/sinks/checksums.h"
#include "tally/sinks/event_summary.h"
#include "tally/sinks/protobuf.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

using internal::Message;

constexpr const char* kPrefix = "events.out.tfevents.";
constexpr std::size_t kPrefixSize = 20;
constexpr std::size_t kSecondsSize = 10;

// Numbers of fields, from TensorBoard's event.proto.
namespace event {
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
constexpr int kSessionLog = 7;
}  // namespace event
namespace session_log {
constexpr int kStatus = 1;
constexpr int kStart = 1;  // its value
}  // namespace session_log
/// TFRecord's checksum.
std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t sum = internal::checksum<internal::kCrc32c>(bytes);
  return (sum >> 15 | sum << 17) + 0xa282ead8;
}

std::string record(const Message& message) {
  std::string head;
  internal::append_number(static_cast<std::uint64_t>(message.bytes().size()),
                          head);
  std::string bytes = head;
  internal::append_number(masked(head), bytes);
  bytes += message.bytes();
  internal::append_number(masked(message.bytes()), bytes);
  return bytes;
}

Message event_at(double time, std::int64_t step) {
  Message event;
  event.number(event::kWallTime, time);
  if (step != 0) event.integer(event::kStep, step);
  return event;
}

/// The host's name, as far as a file's name can hold it.
std::string host() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  std::string host = name;
  std::replace(host.begin(), host.end(), '/', '_');
  return host.empty() ? "localhost" : host;
}

/// Seconds for a file's name: readers take files in the order of their names.
absl::Status seconds_after_others(const std::string& folder, double time,
                                  std::int64_t& seconds) {
  seconds = static_cast<std::int64_t>(time);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::filesystem::directory_iterator file;
  if (!error) file = std::filesystem::directory_iterator(folder, error);
  for (; !error && file != std::filesystem::directory_iterator();
       file.increment(error)) {
    const std::string name = file->path().filename();
    if (name.compare(0, kPrefixSize, kPrefix) != 0) continue;
    const auto other = internal::parse_number<std::int64_t>(
        std::string_view(name).substr(kPrefixSize, kSecondsSize));
    if (other) seconds = std::max(seconds, *other + 1);
  }
  return error ? absl::ErrnoToStatus(error.value(),
                                     (folder + ": cannot be written").c_str())
               : absl::OkStatus();
}

}  // namespace

absl::Status TensorBoardSink::begin(const Run& run) {
  static std::atomic<int> number{0};
  std::int64_t seconds = 0;
  const absl::Status found = seconds_after_others(folder_, run.time, seconds);
  if (!found.ok()) return found;
  char digits[32];
  std::snprintf(digits, sizeof digits, "%0*lld", static_cast<int>(kSecondsSize),
                static_cast<long long>(seconds));
  file_ = std::make_unique<internal::LogFile>(
      std::filesystem::path(folder_) /
      (kPrefix + std::string(digits) + "." + host() + "." +
       std::to_string(::getpid()) + "." + std::to_string(number++)));
  const absl::Status created = file_->create();
  if (!created.ok()) return created;

  Message version = event_at(run.time, 0);
  version.text(event::kFileVersion, "brain.Event:2");
  Message start;
  start.integer(session_log::kStatus, session_log::kStart);
  Message session = event_at(run.time, run.first_step);
  session.message(event::kSessionLog, start);
  return file_->append(record(version) + record(session));
}

absl::Status TensorBoardSink::write(std::int64_t step, double time,
                                    const Results& results) {
  const internal::EventSummary summary(results, class_names_);
  std::string records;
  // A layout replaces the one before.
  std::vector<std::string> charts = charts_;
  for (const std::string& tag : summary.bounded()) {
    if (std::find(charts.begin(), charts.end(), tag) == charts.end()) {
      charts.push_back(tag);
    }
  }
  if (charts.size() > charts_.size()) {
    Message layout = event_at(time, step);
    layout.message(event::kSummary, internal::margin_charts(charts));
    records += record(layout);
  }
  Message event = event_at(time, step);
  event.message(event::kSummary, summary.message());
  const absl::Status written = file_->append(records + record(event));
  if (written.ok()) charts_ = std::move(charts);
  return written;
}

absl::Status TensorBoardSink::append(std::int64_t step, double time,
                                     const Message& summary) {
  if (summary.bytes().empty()) return absl::OkStatus();
  Message event = event_at(time, step);
  event.message(event::kSummary, summary);
  return file_->append(record(event));
}

absl::Status TensorBoardSink::write_image(std::int64_t step, double time,
                                          const std::string& name,
                                          const at::Tensor& pixels) {
  internal::check_picture(name, pixels);
  return append(step, time,
                internal::image_summary(name, internal::picture_of(pixels)));
}

absl::Status TensorBoardSink::write_text(std::int64_t step, double time,
                                         const std::string& name,
                                         const std::string& text) {
  return append(step, time, internal::text_summary(name, text));
}

absl::Status TensorBoardSink::write_histogram(std::int64_t step, double time,
                                              const std::string& name,
                                              const at::Tensor& values) {
  return append(step, time, internal::histogram_summary(name, values));
}

absl::Status TensorBoardSink::finish() {
  return file_ ? file_->close() : absl::OkStatus();
}

}  // namespace tally
