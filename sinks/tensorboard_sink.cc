#include "tally/sinks/tensorboard_sink.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tally/sinks/checksums.h"
#include "tally/sinks/matrix_image.h"
#include "tally/sinks/protobuf.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

using internal::Message;

constexpr std::int64_t kMostScalars = 32;
constexpr std::int64_t kMostClasses = 1000;  // of an image
constexpr std::size_t kBuckets = 30;
constexpr const char* kPrefix = "events.out.tfevents.";
constexpr std::size_t kPrefixSize = 20;
constexpr std::size_t kSecondsSize = 10;

// Numbers of fields, from TensorBoard's event.proto and summary.proto.
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
namespace summary {
constexpr int kValue = 1;
}  // namespace summary
namespace value {
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;
constexpr int kImage = 4;
constexpr int kHistogram = 5;
}  // namespace value
namespace image {
constexpr int kHeight = 1;
constexpr int kWidth = 2;
constexpr int kColorspace = 3;
constexpr int kRgb = 3;  // its value
constexpr int kEncoded = 4;
}  // namespace image
namespace histogram {
constexpr int kMin = 1;
constexpr int kMax = 2;
constexpr int kCount = 3;
constexpr int kSum = 4;
constexpr int kSquares = 5;
constexpr int kLimits = 6;
constexpr int kCounts = 7;
}  // namespace histogram

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

/// The values of a step.
class Summary {
 public:
  Summary(const Results& results, const std::vector<std::string>& labels) {
    for (const auto& [name, value] : results) {
      if (!value.defined()) continue;
      TORCH_CHECK_TYPE(!value.is_complex(), "result '", name,
                       "': expected real numbers, got ", value.scalar_type());
      add(name, value, labels);
    }
  }

  const Message& message() const { return message_; }

 private:
  void add(const std::string& name, const at::Tensor& value,
           const std::vector<std::string>& labels) {
    const at::Tensor numbers = value.to(at::kCPU, at::kDouble).contiguous();
    const auto* first = static_cast<const double*>(numbers.data_ptr());
    const std::int64_t count = numbers.numel();
    if (numbers.dim() == 0) {
      add_scalar(name, *first);
    } else if (numbers.dim() == 1 && count <= kMostScalars) {
      const bool named = count == static_cast<std::int64_t>(labels.size());
      for (std::int64_t i = 0; i < count; ++i) {
        add_scalar(name + "/" +
                       (named ? labels[static_cast<std::size_t>(i)]
                              : std::to_string(i)),
                   first[i]);
      }
    } else {
      const bool has_classes = numbers.dim() == 2 && count > 0 &&
                               numbers.size(0) == numbers.size(1) &&
                               numbers.size(0) <= kMostClasses;
      if (has_classes) add_image(name, numbers);
      add_histogram(name, first, first + count);
    }
  }

  void add_scalar(const std::string& tag, double number) {
    Message scalar;
    scalar.text(value::kTag, tag)
        .number(value::kSimpleValue, static_cast<float>(number));
    message_.message(summary::kValue, scalar);
  }

  void add_image(const std::string& tag, const at::Tensor& matrix) {
    const internal::MatrixImage picture = internal::matrix_image(matrix);
    Message content;
    content.integer(image::kHeight, picture.height)
        .integer(image::kWidth, picture.width)
        .integer(image::kColorspace, image::kRgb)
        .text(image::kEncoded, picture.png);
    Message shown;
    shown.text(value::kTag, tag + "/image").message(value::kImage, content);
    message_.message(summary::kValue, shown);
  }

  void add_histogram(const std::string& tag, const double* begin,
                     const double* end) {
    std::vector<double> finite;
    std::copy_if(begin, end, std::back_inserter(finite),
                 [](double number) { return std::isfinite(number); });
    if (finite.empty()) return;
    const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
    const double least = *low, width = (*high - *low) / kBuckets;
    std::vector<double> limits, counts;
    for (std::size_t i = 1; i < kBuckets && width > 0; ++i) {
      limits.push_back(least + width * static_cast<double>(i));
    }
    limits.push_back(*high);
    counts.resize(limits.size());
    double sum = 0, squares = 0;
    for (const double number : finite) {
      sum += number;
      squares += number * number;
      // A bucket includes its limit.
      const auto bucket =
          std::lower_bound(limits.begin(), limits.end() - 1, number);
      ++counts[static_cast<std::size_t>(bucket - limits.begin())];
    }
    Message content;
    for (const auto& [field, number] :
         {std::pair{histogram::kMin, least}, std::pair{histogram::kMax, *high},
          std::pair{histogram::kCount, static_cast<double>(finite.size())},
          std::pair{histogram::kSum, sum},
          std::pair{histogram::kSquares, squares}}) {
      if (number != 0) content.number(field, number);
    }
    content.numbers(histogram::kLimits, limits)
        .numbers(histogram::kCounts, counts);
    Message shown;
    shown.text(value::kTag, tag).message(value::kHistogram, content);
    message_.message(summary::kValue, shown);
  }

  Message message_;
};

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
  const Summary summary(results, labels_);
  Message event = event_at(time, step);
  event.message(event::kSummary, summary.message());
  return file_->append(record(event));
}

absl::Status TensorBoardSink::finish() {
  return file_ ? file_->close() : absl::OkStatus();
}

}  // namespace tally
