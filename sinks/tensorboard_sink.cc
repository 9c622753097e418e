#include "tally/sinks/tensorboard_sink.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tally/metrics/common/cividis.h"
#include "tally/sinks/checksums.h"
#include "tally/sinks/event_summary.h"
#include "tally/sinks/matrix_image.h"
#include "tally/sinks/protobuf.h"
#include "tally/state/parse_number.h"

namespace tally::internal {
namespace {

// Of the image, in pixels, at least, where cells are not smaller than that.
constexpr std::int64_t kSide = 128;

void append_big_endian(std::uint32_t value, std::string& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift);
  }
}

void append_chunk(std::string_view kind, std::string_view content,
                  std::string& png) {
  append_big_endian(static_cast<std::uint32_t>(content.size()), png);
  const std::string checked = std::string(kind) + std::string(content);
  png += checked;
  append_big_endian(checksum<kCrc32>(checked), png);
}

/// In zlib's format, without compression.
std::string stored(std::string_view bytes) {
  constexpr std::size_t kMost = 65535;  // in a block
  std::string text = "\x78\x01";
  std::uint32_t a = 1, b = 0;  // Adler's checksum
  for (const char c : bytes) {
    a = (a + static_cast<std::uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kMost);
    text += static_cast<char>(size == bytes.size() ? 1 : 0);
    for (const std::size_t word : {size, ~size}) {
      text += static_cast<char>(word);
      text += static_cast<char>(word >> 8);
    }
    text += bytes.substr(0, size);
    bytes.remove_prefix(size);
  }
  append_big_endian(b << 16 | a, text);
  return text;
}

std::string palette() {
  std::string colors;
  for (int i = 0; i < 256; ++i) {
    for (const std::uint8_t channel : cividis(i)) {
      colors += static_cast<char>(channel);
    }
  }
  return colors;
}

/// The palette's index of each cell.
std::string shades(const double* cells, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += cells[i];
  std::string shades;
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = cells[i] / sum;
    shades += static_cast<char>(
        part > 0 ? std::lround(255 * std::min(part, 1.0)) : 0);
  }
  return shades;
}

}  // namespace

MatrixImage matrix_image(const at::Tensor& matrix) {
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  const std::int64_t cell =
      std::max<std::int64_t>(1, kSide / std::max(rows, columns));
  const at::Tensor cells = matrix.to(at::kCPU, at::kDouble).contiguous();
  const auto* next = static_cast<const double*>(cells.data_ptr());
  std::string lines;
  for (std::int64_t i = 0; i < rows; ++i, next += columns) {
    std::string line(1, '\0');  // without a filter
    for (const char shade : shades(next, columns)) {
      line.append(static_cast<std::size_t>(cell), shade);
    }
    for (std::int64_t k = 0; k < cell; ++k) lines += line;
  }

  MatrixImage image{columns * cell, rows * cell, "\x89PNG\r\n\x1a\n"};
  std::string head;
  append_big_endian(static_cast<std::uint32_t>(image.width), head);
  append_big_endian(static_cast<std::uint32_t>(image.height), head);
  head += std::string("\x08\x03\0\0\0", 5);  // a palette, 8 bits per pixel
  append_chunk("IHDR", head, image.png);
  append_chunk("PLTE", palette(), image.png);
  append_chunk("IDAT", stored(lines), image.png);
  append_chunk("IEND", "", image.png);
  return image;
}

}  // namespace tally::internal

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

absl::Status TensorBoardSink::finish() {
  return file_ ? file_->close() : absl::OkStatus();
}

}  // namespace tally
