#include "tally/cli/columns.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace tally::cli {
namespace {

using Columns = std::vector<std::pair<std::string, std::size_t>>;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Common names of the column that holds an input, besides the input's own.
const std::vector<std::string>& usual_names(const std::string& input) {
  static const std::map<std::string, std::vector<std::string>> kNames = {
      {"preds",
       {"pred", "prediction", "predictions", "predicted", "score", "scores",
        "prob", "probs", "probability", "y_pred", "y_score", "y_hat"}},
      {"target",
       {"targets", "label", "labels", "truth", "y", "y_true", "actual"}},
      {"weight", {"weights", "sample_weight", "sample_weights"}},
      {"groups", {"group"}},
      {"indexes", {"index", "query", "query_id", "group_id"}},
      {"value", {"values"}},
  };
  static const std::vector<std::string> kNone;
  const auto found = kNames.find(input);
  return found == kNames.end() ? kNone : found->second;
}

bool is_called(const std::string& column, const std::string& input) {
  const auto& names = usual_names(input);
  return column == input ||
         std::find(names.begin(), names.end(), column) != names.end();
}

std::string listed(const std::vector<std::string>& header) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, header.size()); ++i) {
    text += (i == 0 ? "'" : ", '") + header[i] + "'";
  }
  return text + (header.size() > kMost ? ", ..." : "");
}

/// The inputs that metrics take, without duplicates, and whether any metric
/// requires it.
std::vector<std::pair<std::string, bool>> wanted_inputs(
    const std::vector<MetricInputs>& metrics) {
  std::vector<std::pair<std::string, bool>> wanted;
  for (const MetricInputs& metric : metrics) {
    for (const InputInfo& input : metric.inputs) {
      auto found =
          std::find_if(wanted.begin(), wanted.end(),
                       [&](const auto& w) { return w.first == input.name; });
      if (found == wanted.end()) {
        found = wanted.insert(wanted.end(), {input.name, false});
      }
      found->second = found->second || !input.is_optional;
    }
  }
  return wanted;
}

}  // namespace

std::vector<std::pair<std::string, std::size_t>> match_columns(
    const std::vector<std::string>& header,
    const std::vector<MetricInputs>& metrics) {
  const auto wanted = wanted_inputs(metrics);
  const auto needed = std::count_if(wanted.begin(), wanted.end(),
                                    [](const auto& w) { return w.second; });
  Columns columns;
  std::string missing;
  std::string example;
  for (const auto& [input, is_needed] : wanted) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (is_called(lower(header[i]), input)) found.push_back(i);
    }
    if (found.empty() && is_needed && needed == 1 && header.size() == 1) {
      found.push_back(0);
    }
    TORCH_CHECK_VALUE(found.size() < 2, "columns '", header[found[0]],
                      "' and '", header[found[found.size() - 1]],
                      "' could both be ", input, "; choose one with --columns ",
                      input, "=COLUMN,...");
    if (!found.empty()) columns.emplace_back(input, found[0]);
    if (!is_needed) continue;
    example += (example.empty() ? "" : ",") + input + "=COLUMN";
    if (found.empty()) missing += (missing.empty() ? "" : " or ") + input;
  }
  TORCH_CHECK_VALUE(missing.empty(), "no column found for ", missing, " among ",
                    listed(header), "; assign columns with --columns ",
                    example);
  return columns;
}

}  // namespace tally::cli
