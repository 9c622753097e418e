#include "tally/cli/coco_source.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "tally/files/coco_files.h"
#include "tally/files/file_list.h"
#include "tally/metrics/detection/options/detection_options.h"

namespace tally::cli {
namespace {

constexpr const char* kMeanAveragePrecision = "MeanAveragePrecision";
constexpr std::string_view kByLVIS = "LVISAveragePrecision";
constexpr std::string_view kImageIds = "image_ids";

/// What metrics need of the files.
struct Wants {
  std::set<ObjectShape> shapes;
  files::CocoNeeds needs = {/*scores=*/false, /*judged_labels=*/false};
  bool has_ids = false;
};

class CocoSource final : public Source {
 public:
  CocoSource(const Arguments& arguments, const Wants& wants)
      : paths_(coco_paths(arguments)),
        files_(paths_.front(),
               std::vector<std::string>(paths_.begin() + 1, paths_.end()),
               wants.shapes, wants.needs),
        has_judged_labels_(wants.needs.judged_labels) {
    if (wants.has_ids) names_.emplace_back(kImageIds);
  }

  std::int64_t rows() const override { return files_.image_ids().numel(); }
  std::int64_t bytes_per_row() const override {
    constexpr std::int64_t kBytes = 64;
    return kBytes * (1 + files_.objects() / std::max<std::int64_t>(1, rows()));
  }
  const std::vector<std::string>& names() const override { return names_; }
  std::string remarks() const override { return files_.remarks(); }
  std::string place(std::int64_t row) override {
    std::vector<std::string> paths;
    for (const std::size_t file : files_.files_of(row)) {
      paths.push_back(paths_[file + 1]);
    }
    if (paths.empty()) paths.push_back(paths_.front());
    return c10::Join(" and ", paths) + image_words(row);
  }
  std::string value_place(std::int64_t row, std::int64_t input) override {
    return input == kTarget ? paths_.front() + image_words(row) : place(row);
  }
  std::string file_names() const override { return c10::Join(", ", paths_); }
  const files::Categories& categories() const override {
    return files_.categories();
  }
  std::vector<std::pair<std::string, std::string>> options() const override {
    std::vector<std::pair<std::string, std::string>> options;
    // Those of all labels up to the highest.
    if (!categories().empty()) {
      options.emplace_back("num_classes",
                           std::to_string(categories().back().first + 1));
    }
    for (const auto& [name, frequency] : kFrequencies) {
      const auto labels = files_.labels_of(frequency);
      if (labels.empty()) continue;
      options.emplace_back(name, "[" + c10::Join(", ", labels) + "]");
    }
    return options;
  }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    std::vector<InputValue> inputs = {
        InputValue::of(files_.preds(begin, end)),
        has_judged_labels_ ? InputValue::of(files_.target_images(begin, end))
                           : InputValue::of(files_.target(begin, end))};
    if (names_.size() > inputs.size()) {
      inputs.push_back(InputValue::of(files_.image_ids().slice(0, begin, end)));
    }
    return inputs;
  }

 private:
  static constexpr std::int64_t kTarget = 1;
  /// Options of LVIS's rules, and what its files call these categories.
  static constexpr std::pair<const char*, const char*> kFrequencies[] = {
      {"rare_labels", "r"}, {"common_labels", "c"}, {"frequent_labels", "f"}};

  std::string image_words(std::int64_t row) const {
    return ", image " +
           std::to_string(files_.image_ids()[row].item<std::int64_t>());
  }

  std::vector<std::string> paths_;  // of annotations, and of results
  files::CocoFiles files_;
  bool has_judged_labels_;
  std::vector<std::string> names_ = {"preds", "target"};
};

bool takes_ids(const MetricInputs& metric) {
  return std::any_of(
      metric.inputs.begin(), metric.inputs.end(),
      [](const InputInfo& input) { return input.name == kImageIds; });
}

/// COCO's format has pixels.
void check_coordinates(const MetricSpec& spec) {
  const auto given = spec.options.find("coordinates");
  TORCH_CHECK_VALUE(
      given == spec.options.end() || given->second == "pixels",
      "--coco: ", spec.name,
      ": expected coordinates=pixels, which COCO's files have, got ",
      given == spec.options.end() ? "" : given->second);
}

/// Adds what a metric compares, or what the metrics in it do.
void add_wants(const std::string& text, Wants& wants) {
  constexpr std::string_view kShape = "iou_type";
  const MetricSpec spec = parse_metric_spec(text);
  check_coordinates(spec);
  for (const OptionInfo& option : builtin_registry().at(spec.name).options) {
    // Overlaps of boxes, which have no such option, need no scores.
    if (option.name == kShape) wants.needs.scores = true;
    const auto inner = spec.options.find(option.name);
    if (!option.is_metric || inner == spec.options.end()) continue;
    for (const auto& [name, metric] : parse_items(inner->second)) {
      add_wants(metric, wants);
    }
    return;
  }
  if (spec.name == kByLVIS) wants.needs.judged_labels = true;
  const auto option = spec.options.find(std::string(kShape));
  ObjectShape shape = ObjectShape::kBbox;
  if (option != spec.options.end()) OptionRef(shape).set(option->second);
  wants.shapes.insert(shape);
}

/// Adds an option to the text of a metric that does not have it.
void add_option(const std::string& name, const std::string& value,
                std::string& text) {
  const MetricSpec spec = parse_metric_spec(text);
  if (spec.options.count(name) != 0) return;
  const std::string option = name + "=" + value;
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) {
    text += "(" + option + ")";
  } else {
    text.insert(end, (spec.options.empty() ? "" : ", ") + option);
  }
}

/// The options of the one MeanAveragePrecision, if it is that.
std::optional<MeanAveragePrecisionOptions> precision_options(
    const CollectionConfig& config) {
  if (config.members.size() != 1) return std::nullopt;
  const MetricSpec spec = parse_metric_spec(config.members.front().text);
  if (spec.name != kMeanAveragePrecision) return std::nullopt;
  MeanAveragePrecisionOptions options;
  parse_options(options, kMeanAveragePrecision, spec.options);
  return options;
}

template <class... Values>
std::string formatted(const char* format, const Values&... values) {
  char text[256];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

class SummaryLines {
 public:
  SummaryLines(const MeanAveragePrecisionOptions& options,
               const Results& results)
      : options_(options), results_(results) {
    const std::vector<double> overlaps = options.overlaps();
    range_ = formatted("%.2f:%.2f", overlaps.front(), overlaps.back());
  }

  std::string all() {
    const std::vector<std::int64_t> depths = options_.depths();
    const std::int64_t most = depths.back();
    add(true, "map", range_, "all", most);
    add(true, "map_50", "0.50", "all", most);
    add(true, "map_75", "0.75", "all", most);
    for (const char* area : {"small", "medium", "large"}) {
      add(true, std::string("map_") + area, range_, area, most);
    }
    for (const std::int64_t depth : depths) {
      add(false, "mar_" + std::to_string(depth), range_, "all", depth);
    }
    add(false, "mar_at_50", "0.50", "all", most);
    add(false, "mar_at_75", "0.75", "all", most);
    for (const char* area : {"small", "medium", "large"}) {
      add(false, std::string("mar_") + area, range_, area, most);
    }
    return text_;
  }

 private:
  void add(bool is_precision, const std::string& name,
           const std::string& overlaps, const char* area, std::int64_t depth) {
    if (!results_.contains(name)) return;
    text_ += formatted(
        " %-18s %s @[ IoU=%-9s | area=%6s | maxDets=%3lld ] = %0.3f\n",
        is_precision ? "Average Precision" : "Average Recall",
        is_precision ? "(AP)" : "(AR)", overlaps.c_str(), area,
        static_cast<long long>(depth), results_[name].item<double>());
  }

  const MeanAveragePrecisionOptions& options_;
  const Results& results_;
  std::string range_;
  std::string text_;
};

std::string category_table(const Results& results, const std::string& recall,
                           const files::Categories& categories) {
  if (!results.contains("classes")) return "";
  std::map<std::int64_t, std::int64_t> places;
  const at::Tensor& classes = results["classes"];
  for (std::int64_t k = 0; k < classes.numel(); ++k) {
    places[classes[k].item<std::int64_t>()] = k;
  }
  const auto value = [&](const std::string& name, std::int64_t id) {
    const auto place = places.find(id);
    return place == places.end() ? -1.0
                                 : results[name][place->second].item<double>();
  };
  std::string text = "\n     AP      AR  category\n";
  for (const auto& [id, name] : categories) {
    text += formatted("%7.3f %7.3f  ", value("map_per_class", id),
                      value(recall, id)) +
            name + "\n";
  }
  return text;
}

}  // namespace

std::unique_ptr<Source> open_coco(const Arguments& arguments,
                                  const std::vector<MetricInputs>& metrics) {
  TORCH_CHECK_VALUE(arguments.folders.empty(),
                    "--folders: expected metrics of segments, which have "
                    "images, got ",
                    metrics.front().name);
  Wants wants;
  for (const MetricInputs& metric : metrics) add_wants(metric.text, wants);
  wants.has_ids = std::any_of(metrics.begin(), metrics.end(), takes_ids);
  return std::make_unique<CocoSource>(arguments, wants);
}

std::vector<std::string> coco_paths(const Arguments& arguments) {
  const std::string& first = arguments.coco.front();
  const std::size_t count = files::list_files({first}).size();
  TORCH_CHECK_VALUE(count == 1, "--coco: expected one file of annotations in ",
                    "front, got ", count, " in ", first);
  return files::list_files(arguments.coco);
}

void add_class_metrics(CollectionConfig& config) {
  for (CollectionConfig::Member& member : config.members) {
    if (parse_metric_spec(member.text).name == kMeanAveragePrecision) {
      add_option("class_metrics", "true", member.text);
    }
  }
}

void add_options(
    const std::vector<std::pair<std::string, std::string>>& options,
    CollectionConfig& config) {
  for (CollectionConfig::Member& member : config.members) {
    const MetricSpec spec = parse_metric_spec(member.text);
    for (const OptionInfo& known : builtin_registry().at(spec.name).options) {
      for (const auto& [name, value] : options) {
        if (name == known.name) add_option(name, value, member.text);
      }
    }
  }
}

std::string coco_summary(const CollectionConfig& config, const Results& results,
                         const files::Categories& categories) {
  const auto options = precision_options(config);
  if (!options) return "";
  const std::string recall =
      "mar_" + std::to_string(options->depths().back()) + "_per_class";
  return SummaryLines(*options, results).all() +
         category_table(results, recall, categories);
}

}  // namespace tally::cli
