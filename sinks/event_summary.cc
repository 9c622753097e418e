#include "tally/sinks/event_summary.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tally/metrics/results_table.h"

namespace tally::internal {
namespace {

constexpr std::int64_t kMostScalars = 32;
constexpr std::int64_t kMostClasses = 1000;  // of an image
constexpr std::size_t kBuckets = 30;
constexpr std::size_t kThresholds = 201;  // of a curve
// Curves do not say how many samples they have; TensorBoard asks for counts.
constexpr double kPositives = 1e6;

// Numbers of fields, from TensorBoard's summary.proto, tensor.proto and the
// plugins' layout.proto and plugin_data.proto.
namespace summary {
constexpr int kValue = 1;
}  // namespace summary
namespace value {
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;
constexpr int kImage = 4;
constexpr int kHistogram = 5;
constexpr int kTensor = 8;
constexpr int kMetadata = 9;
}  // namespace value
namespace image {
constexpr int kHeight = 1;
constexpr int kWidth = 2;
constexpr int kColorspace = 3;
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

namespace metadata {
constexpr int kPlugin = 1;
constexpr int kPluginName = 1;
constexpr int kPluginContent = 2;
}  // namespace metadata
namespace tensor {
constexpr int kType = 1;
constexpr int kFloat = 1;   // its value
constexpr int kString = 7;  // another
constexpr int kShape = 2;
constexpr int kDimension = 2;
constexpr int kSize = 1;
constexpr int kContent = 4;
constexpr int kText = 8;
}  // namespace tensor
namespace curve_data {
constexpr int kNumThresholds = 2;
}  // namespace curve_data
namespace layout {
constexpr int kCategory = 2;
constexpr int kTitle = 1;
constexpr int kChart = 2;
constexpr int kMargin = 3;
constexpr int kSeries = 1;
constexpr int kValue = 1;
constexpr int kLower = 2;
constexpr int kUpper = 3;
}  // namespace layout

Message plugin_metadata(const char* name, const Message& content) {
  Message plugin;
  plugin.text(metadata::kPluginName, name);
  if (!content.bytes().empty()) {
    plugin.message(metadata::kPluginContent, content);
  }
  Message data;
  data.message(metadata::kPlugin, plugin);
  return data;
}

/// Whether there are all parts of a curve, or of several, of fitting sizes.
bool has_curve(const Results& results, const std::string& stem) {
  for (const char* part : {".precision", ".recall", ".thresholds"}) {
    if (!results.contains(stem + part) || !results[stem + part].defined()) {
      return false;
    }
  }
  const at::Tensor& precision = results[stem + ".precision"];
  const at::Tensor& thresholds = results[stem + ".thresholds"];
  const std::int64_t dims = precision.dim();
  return (dims == 1 || (dims == 2 && precision.size(0) <= kMostScalars)) &&
         precision.sizes().equals(results[stem + ".recall"].sizes()) &&
         thresholds.dim() == dims &&
         thresholds.size(0) + (dims == 1 ? 1 : 0) == precision.size(0) &&
         thresholds.size(-1) + 1 == precision.size(-1);
}

/// The stem of "stem.precision", if the curve's other parts are there, too.
std::string stem_of(const Results& results, const std::string& name) {
  for (const char* part : {".precision", ".recall", ".thresholds"}) {
    const std::size_t size = std::strlen(part);
    if (name.size() <= size ||
        name.compare(name.size() - size, size, part) != 0) {
      continue;
    }
    const std::string stem = name.substr(0, name.size() - size);
    if (has_curve(results, stem)) return stem;
  }
  return "";
}

at::Tensor numbers_of(const at::Tensor& value) {
  return value.to(at::kCPU, at::kDouble).contiguous();
}

/// Six rows at equally spaced thresholds: true and false positives, true and
/// false negatives, precision and recall. Empty for scores outside of [0, 1].
std::string curve_rows(const at::Tensor& precision, const at::Tensor& recall,
                       const at::Tensor& thresholds) {
  // Curves of several classes are padded with NaN.
  std::vector<std::size_t> places;
  const auto* t = static_cast<const double*>(thresholds.data_ptr());
  for (std::int64_t i = 0; i < thresholds.size(0); ++i) {
    if (std::isnan(t[i])) continue;
    if (t[i] < 0 || t[i] > 1) return "";
    places.push_back(static_cast<std::size_t>(i));
  }
  if (places.empty()) return "";
  const auto* p = static_cast<const double*>(precision.data_ptr());
  const auto* r = static_cast<const double*>(recall.data_ptr());
  std::vector<float> rows[6];
  std::size_t next = 0;
  for (std::size_t k = 0; k < kThresholds; ++k) {
    const double threshold =
        static_cast<double>(k) / static_cast<double>(kThresholds - 1);
    while (next < places.size() && t[places[next]] < threshold) ++next;
    const bool reached = next < places.size();
    const double found = reached ? r[places[next]] : 0;
    const double right = reached ? p[places[next]] : 1;
    if (std::isnan(found) || std::isnan(right)) return "";
    const double tp = std::round(kPositives * found);
    const double fp = right > 0 ? std::round(tp * (1 - right) / right) : 0;
    const double row[] = {tp, fp, 0, kPositives - tp, right, found};
    for (int i = 0; i < 6; ++i) rows[i].push_back(static_cast<float>(row[i]));
  }
  std::string bytes;
  for (const std::vector<float>& row : rows) {
    for (const float number : row) append_number(number, bytes);
  }
  return bytes;
}

Message curve_tensor(const std::string& bytes) {
  Message shape;
  for (const std::size_t size : {std::size_t{6}, kThresholds}) {
    Message dimension;
    dimension.integer(tensor::kSize, static_cast<std::int64_t>(size));
    shape.message(tensor::kDimension, dimension);
  }
  Message content;
  content.integer(tensor::kType, tensor::kFloat)
      .message(tensor::kShape, shape)
      .text(tensor::kContent, bytes);
  return content;
}

/// A value of a summary, in the order of the fields' numbers.
void add_image(const std::string& tag, const Picture& picture, Message& to) {
  Message content;
  content.integer(image::kHeight, picture.height)
      .integer(image::kWidth, picture.width)
      .integer(image::kColorspace, picture.channels)
      .text(image::kEncoded, picture.png);
  Message shown;
  shown.text(value::kTag, tag).message(value::kImage, content);
  to.message(summary::kValue, shown);
}

/// Nothing if there is no finite number.
void add_histogram(const std::string& tag, const double* begin,
                   const double* end, Message& to) {
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
  to.message(summary::kValue, shown);
}

}  // namespace

EventSummary::EventSummary(const Results& results,
                           const std::vector<std::string>& labels)
    : labels_(labels) {
  for (const auto& [name, value] : results) {
    if (!value.defined()) continue;
    TORCH_CHECK_TYPE(!value.is_complex(), "result '", name,
                     "': expected real numbers, got ", value.scalar_type());
    const std::string stem = stem_of(results, name);
    if (stem.empty()) {
      add(results, name);
    } else if (name == stem + ".precision") {
      add_curves(stem, results);
    }
    const bool has_bounds =
        results.contains(name + ".low") && results.contains(name + ".high");
    if (!has_bounds || value.dim() > 1 || value.numel() > kMostScalars) {
      continue;
    }
    for (const std::string& tag : value.dim() == 0
                                      ? std::vector<std::string>{name}
                                      : element_tags(results, name, name)) {
      bounded_.push_back(tag);
    }
  }
}

std::vector<std::string> EventSummary::element_tags(
    const Results& results, const std::string& name,
    const std::string& stem) const {
  std::vector<std::string> tags;
  for (const std::string& element :
       internal::elements_of(results, name, 0, labels_).names) {
    tags.push_back(stem + "/" + element);
  }
  return tags;
}

void EventSummary::add(const Results& results, const std::string& name) {
  const at::Tensor numbers = numbers_of(results[name]);
  const auto* first = static_cast<const double*>(numbers.data_ptr());
  const std::int64_t count = numbers.numel();
  if (numbers.dim() == 0) {
    add_scalar(name, *first);
  } else if (numbers.dim() == 1 && count <= kMostScalars) {
    for (const std::string& tag : element_tags(results, name, name)) {
      add_scalar(tag, *first++);
    }
  } else {
    const Dimensions dimensions = results.dimensions(name);
    const bool has_classes =
        numbers.dim() == 2 && dimensions[0] == dimensions[1] && count > 0 &&
        numbers.size(0) == numbers.size(1) && numbers.size(0) <= kMostClasses;
    if (has_classes) {
      add_image(name + "/image", matrix_picture(numbers), message_);
    }
    add_histogram(name, first, first + count, message_);
  }
}

void EventSummary::add_scalar(const std::string& tag, double number) {
  Message scalar;
  scalar.text(value::kTag, tag)
      .number(value::kSimpleValue, static_cast<float>(number));
  message_.message(summary::kValue, scalar);
}

void EventSummary::add_curves(const std::string& stem, const Results& results) {
  const at::Tensor precision = numbers_of(results[stem + ".precision"]);
  const at::Tensor recall = numbers_of(results[stem + ".recall"]);
  const at::Tensor thresholds = numbers_of(results[stem + ".thresholds"]);
  const bool is_one = thresholds.dim() == 1;
  const std::vector<std::string> tags =
      is_one ? std::vector<std::string>{stem}
             : element_tags(results, stem + ".thresholds", stem);
  Message data;
  data.integer(curve_data::kNumThresholds,
               static_cast<std::int64_t>(kThresholds));
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::string bytes =
        is_one ? curve_rows(precision, recall, thresholds)
               : curve_rows(precision[row], recall[row], thresholds[row]);
    if (bytes.empty()) continue;
    Message shown;
    shown.text(value::kTag, tags[i])
        .message(value::kTensor, curve_tensor(bytes))
        .message(value::kMetadata, plugin_metadata("pr_curves", data));
    message_.message(summary::kValue, shown);
  }
}

std::string bound_tag(const std::string& tag, const std::string& bound) {
  const std::size_t slash = std::min(tag.rfind('/'), tag.size());
  return tag.substr(0, slash) + "." + bound + tag.substr(slash);
}

Message image_summary(const std::string& tag, const Picture& picture) {
  Message all;
  add_image(tag, picture, all);
  return all;
}

Message text_summary(const std::string& tag, const std::string& text) {
  Message dimension, shape;
  dimension.integer(tensor::kSize, 1);
  shape.message(tensor::kDimension, dimension);
  Message content;
  content.integer(tensor::kType, tensor::kString)
      .message(tensor::kShape, shape)
      .text(tensor::kText, text);
  Message shown, all;
  shown.text(value::kTag, tag)
      .message(value::kTensor, content)
      .message(value::kMetadata, plugin_metadata("text", Message()));
  return all.message(summary::kValue, shown);
}

Message histogram_summary(const std::string& tag, const at::Tensor& values) {
  const at::Tensor numbers = numbers_of(values);
  const auto* first = static_cast<const double*>(numbers.data_ptr());
  Message all;
  add_histogram(tag, first, first + numbers.numel(), all);
  return all;
}

Message margin_charts(const std::vector<std::string>& tags) {
  Message category;
  category.text(layout::kTitle, "intervals");
  for (const std::string& tag : tags) {
    Message series;
    series.text(layout::kValue, tag)
        .text(layout::kLower, bound_tag(tag, "low"))
        .text(layout::kUpper, bound_tag(tag, "high"));
    Message margin;
    margin.message(layout::kSeries, series);
    Message chart;
    chart.text(layout::kTitle, tag).message(layout::kMargin, margin);
    category.message(layout::kChart, chart);
  }
  Message charts;
  charts.message(layout::kCategory, category);
  Message content;
  content.integer(tensor::kType, tensor::kString)
      .message(tensor::kShape, Message())
      .message(tensor::kText, charts);
  Message shown;
  shown.text(value::kTag, "custom_scalars__config__")
      .message(value::kTensor, content)
      .message(value::kMetadata, plugin_metadata("custom_scalars", Message()));
  Message all;
  all.message(summary::kValue, shown);
  return all;
}

}  // namespace tally::internal
