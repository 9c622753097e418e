#include "tally/cli/wanted.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "tally/cli/columns.h"
#include "tally/cli/feeds.h"
#include "tally/files/file_kind.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/core/input_order.h"

namespace tally::cli {
namespace {

/// How names are read where a metric only tells values apart. Numbers from 0
/// are for metrics with as many of them as an option says, or of few
/// categories.
std::optional<files::CsvKind> names_of(const InputInfo& input) {
  switch (input.kind) {
    case InputKind::kCategories:
    case InputKind::kGroups:
      return files::CsvKind::kNumbered;
    case InputKind::kKeys:
      return files::CsvKind::kKeys;
    default:
      return std::nullopt;
  }
}

void narrow(Wanted& wanted, const std::string& metric, const InputInfo& input) {
  const std::string refusal =
      metric + ": expected " + input.name + " to be " + described(input);
  const InputForms forms = forms_of(input);
  const auto refuse = [&](bool is_taken, bool& takes, std::string& refused) {
    if (is_taken) return;
    takes = false;
    refused = refusal;
  };
  refuse(forms.is_int, wanted.takes_int, wanted.refused_int);
  refuse(forms.is_float, wanted.takes_float, wanted.refused_float);
  refuse(forms.is_texts, wanted.takes_several, wanted.refused_several);
  refuse(forms.is_text, wanted.takes_texts, wanted.refused_texts);
  wanted.takes_classes = wanted.takes_classes && forms.is_class;
  const auto names = names_of(input);
  if (!names || (wanted.names && wanted.names != names)) {
    wanted.has_other_values = true;
  }
  wanted.names = wanted.has_other_values ? std::nullopt : names;
  std::string& text = forms.is_words ? wanted.words : wanted.whole;
  if (text.empty()) text = refusal;
  TORCH_CHECK_VALUE(wanted.words.empty() || wanted.whole.empty(), wanted.words,
                    ", and ", wanted.whole, ": evaluate them one by one");
}

std::vector<std::string> all_names(const std::vector<MetricInputs>& metrics) {
  std::vector<std::string> names;
  for (const MetricInputs& metric : metrics) {
    for (const InputInfo& input : metric.inputs) {
      if (std::find(names.begin(), names.end(), input.name) == names.end()) {
        names.push_back(input.name);
      }
    }
  }
  return names;
}

/// Throws if metrics read position i as different inputs.
void check_agreement(std::size_t i, const std::vector<MetricInputs>& metrics,
                     Example example) {
  std::string meanings;
  std::set<std::string> names;
  for (const MetricInputs& metric : metrics) {
    if (i >= metric.inputs.size()) continue;
    names.insert(metric.inputs[i].name);
    meanings += (meanings.empty() ? "" : ", ") + metric.name + " as '" +
                metric.inputs[i].name + "'";
  }
  TORCH_CHECK_VALUE(names.size() < 2, "input ", i,
                    " has several meanings: ", meanings,
                    "; pass inputs by name: ", example(all_names(metrics)));
}

/// Throws unless every metric takes this number of inputs by position.
std::vector<Wanted> wanted_by_position(std::size_t count,
                                       const std::vector<MetricInputs>& metrics,
                                       Example example) {
  std::vector<Wanted> wanted(count);
  for (std::size_t i = 0; i < count; ++i) check_agreement(i, metrics, example);
  for (const MetricInputs& metric : metrics) {
    std::size_t least = 0;
    for (const InputInfo& input : metric.inputs) least += !input.is_optional;
    TORCH_CHECK_VALUE(count >= least && count <= metric.inputs.size(),
                      metric.name, ": expected the inputs ",
                      internal::listed(metric.inputs), ", got ", count);
    for (std::size_t i = 0; i < count; ++i) {
      narrow(wanted[i], metric.name, metric.inputs[i]);
    }
  }
  return wanted;
}

/// Throws unless metrics take these inputs, and no required input is missing.
std::vector<Wanted> wanted_by_name(const std::vector<std::string>& names,
                                   const std::vector<MetricInputs>& metrics) {
  const std::vector<std::string> known = all_names(metrics);
  for (const std::string& name : names) {
    TORCH_CHECK_VALUE(
        std::find(known.begin(), known.end(), name) != known.end(),
        "no metric takes an input '", name, "'",
        internal::did_you_mean(name, known));
    TORCH_CHECK_VALUE(std::count(names.begin(), names.end(), name) == 1,
                      "expected each input once, got '", name, "' twice");
  }
  std::vector<Wanted> wanted(names.size());
  for (const MetricInputs& metric : metrics) {
    for (const InputInfo& input : metric.inputs) {
      const auto found = std::find(names.begin(), names.end(), input.name);
      TORCH_CHECK_VALUE(found != names.end() || input.is_optional, metric.name,
                        ": expected the inputs ",
                        internal::listed(metric.inputs), ", got no ",
                        input.name);
      if (found == names.end()) continue;
      narrow(wanted[static_cast<std::size_t>(found - names.begin())],
             metric.name, input);
    }
  }
  return wanted;
}

}  // namespace

std::vector<Wanted> wanted_inputs(std::size_t count,
                                  const std::vector<std::string>& names,
                                  const std::vector<MetricInputs>& metrics,
                                  Example example) {
  return names.empty() ? wanted_by_position(count, metrics, example)
                       : wanted_by_name(names, metrics);
}

InputValue split_if_wanted(const Wanted& wanted, InputValue input) {
  const auto* texts = input.ref().as<std::vector<std::string>>();
  if (wanted.words.empty() || texts == nullptr) return input;
  std::vector<std::vector<std::string>> lists;
  for (const std::string& text : *texts) {
    std::istringstream words(text);
    lists.emplace_back(std::istream_iterator<std::string>(words),
                       std::istream_iterator<std::string>());
  }
  return InputValue::of(std::move(lists));
}

std::string files_by_name(const std::vector<std::string>& names) {
  std::string text = "--inputs";
  for (const std::string& name : names) text += " " + name + "=FILE";
  return text;
}

std::string columns_by_name(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "--columns " : ",") + name + "=COLUMN";
  }
  return text;
}

files::CsvKind kind_of(const Wanted& wanted) {
  if (wanted.takes_texts) return files::CsvKind::kTexts;
  TORCH_CHECK_VALUE(
      wanted.takes_int || wanted.takes_float,
      "no column satisfies all metrics: ", wanted.refused_int, "; ",
      wanted.refused_int == wanted.refused_float ? wanted.refused_texts
                                                 : wanted.refused_float);
  if (wanted.names) return *wanted.names;
  return !wanted.takes_float ? files::CsvKind::kIntegers
         : wanted.takes_int  ? files::CsvKind::kEither
                             : files::CsvKind::kFloats;
}

std::vector<bool> have_classes(const std::vector<Wanted>& wanted) {
  std::vector<bool> inputs;
  for (const Wanted& each : wanted) inputs.push_back(each.takes_classes);
  return inputs;
}

std::string number_remark(const std::string& input,
                          const std::set<std::string>& texts) {
  constexpr std::size_t kMost = 20;
  std::string text;
  std::size_t number = 0;
  for (const std::string& name : texts) {
    if (number == kMost) break;
    text += (number == 0 ? ": " : ", ") + std::to_string(number) + " is '" +
            files::shown_text(name) + "'";
    ++number;
  }
  if (text.empty()) return text;
  return input + text + (texts.size() > number ? ", ...\n" : "\n");
}

std::string column_remark(const Arguments& arguments,
                          const std::vector<MetricInputs>& metrics,
                          const std::string& what,
                          const std::vector<std::string>& columns,
                          const std::vector<std::string>& names) {
  if (!arguments.columns.empty() && !names.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string input = names.empty() ? "" : names[i];
    for (const MetricInputs& metric : metrics) {
      if (input.empty() && i < metric.inputs.size()) {
        input = metric.inputs[i].name;
      }
    }
    text += text.empty() ? "" : ", ";
    text += input + " is " + what + " '" + files::shown_text(columns[i]) + "'";
  }
  return text.empty() ? text : text + "\n";
}

namespace {

using Columns = std::vector<std::pair<std::string, std::size_t>>;

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
      {"indexes", {"index", "query", "query_id", "qid", "group_id"}},
      {"doc_ids", {"doc_id", "doc", "document", "document_id"}},
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
    text += (i == 0 ? "'" : ", '") + files::shown_text(header[i]) + "'";
  }
  return text + (header.size() > kMost ? ", ..." : "");
}

/// The inputs that metrics take, without duplicates, and whether any metric
/// requires it.
std::vector<std::pair<std::string, bool>> all_inputs(
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
  const auto wanted = all_inputs(metrics);
  const auto needed = std::count_if(wanted.begin(), wanted.end(),
                                    [](const auto& w) { return w.second; });
  Columns columns;
  std::string missing;
  std::string example;
  for (const auto& [input, is_needed] : wanted) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (is_called(internal::lower_case(header[i]), input)) found.push_back(i);
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
