#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// A parsed textual description of a metric:
///
///     BinaryAUROC
///     MulticlassAccuracy(num_classes=5, average=macro)
///     BinaryAUROC(thresholds=[0.1, 0.5, 0.9])
///     MinMaxMetric(metric=MeanSquaredError(squared=false))
///
/// A value extends to the terminating comma or parenthesis; brackets of all
/// kinds and "quoted text" (with \" and \\) inside it are skipped. Quotes
/// around a whole value are removed. Metric::repr() returns such a text.
struct MetricSpec {
  std::string name;
  std::map<std::string, std::string> options;
};

/// Throws c10::ValueError that states what was expected and where.
MetricSpec parse_metric_spec(std::string_view text);

/// The parts of "A(...); name=B(...)" by the names of their results: the one
/// before "=", or else the metric's own. Throws like parse_metric_spec, and if
/// there is no metric or a duplicate name.
std::vector<std::pair<std::string, std::string>> parse_metric_list(
    std::string_view text);

/// The items of "[A, B(c=[1, 2])]", of "{x: A, y: B}" with their names, and of
/// a single "A". Throws like parse_metric_spec.
std::vector<std::pair<std::string, std::string>> parse_items(
    std::string_view text);

}  // namespace tally
