#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// A metric as text, taken apart:
///
///     BinaryAUROC
///     MulticlassAccuracy(num_classes=5, average=macro)
///     BinaryAUROC(thresholds=[0.1, 0.5, 0.9])
///     MinMaxMetric(metric=MeanSquaredError(squared=false))
///
/// A value goes up to the comma or parenthesis that ends it; brackets of all
/// kinds and "quoted text" (with \" and \\) inside it are passed over. A value
/// that is quoted as a whole loses its quotes. What Metric::repr gives is such
/// a text.
struct MetricSpec {
  std::string name;
  std::map<std::string, std::string> options;
};

/// Throws c10::ValueError that says what was expected where.
MetricSpec parse_metric_spec(std::string_view text);

/// The parts of "A(...); name=B(...)" by the names that results will have: the
/// one before "=", else the metric's own. Throws as parse_metric_spec, and if
/// there is no metric or a name comes twice.
std::vector<std::pair<std::string, std::string>> parse_metric_list(
    std::string_view text);

/// The items of "[A, B(c=[1, 2])]", of "{x: A, y: B}" with their names, and of
/// a single "A". Throws as parse_metric_spec.
std::vector<std::pair<std::string, std::string>> parse_items(
    std::string_view text);

}  // namespace tally
