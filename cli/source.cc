#include "tally/cli/source.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tally/cli/columns.h"
#include "tally/cli/csv.h"
#include "tally/cli/npy.h"
#include "tally/metrics/input_order.h"
#include "tally/metrics/nearest.h"

namespace tally::cli {
namespace {

/// What all metrics together accept as an input.
struct Wanted {
  bool takes_int = true;
  bool takes_float = true;
  bool takes_texts = true;
  bool takes_several = true;  // texts of a row
  std::string refused_int;    // the error of a metric that takes no integers
  std::string refused_float;  // the same for floating point
  std::string refused_texts;
  std::string refused_several;
};

/// How to pass inputs, for error messages: "preds=FILE target=FILE".
using Example = std::string (*)(const std::vector<std::string>& names);

std::string words_of(const InputInfo& input) {
  const std::string words = input.words;
  return input.kind == InputKind::kTasks ? "a map of names to " + words : words;
}

void narrow(Wanted& wanted, const std::string& metric, const InputInfo& input) {
  const std::string refusal =
      metric + ": expected " + input.name + " to be " + words_of(input);
  const InputKind kind = input.kind;
  const bool is_any = kind == InputKind::kAny;
  const bool is_real = kind == InputKind::kReal || is_any;
  if (!is_real && kind != InputKind::kInteger) {
    wanted.takes_int = false;
    wanted.refused_int = refusal;
  }
  if (!is_real && kind != InputKind::kFloat) {
    wanted.takes_float = false;
    wanted.refused_float = refusal;
  }
  if (kind != InputKind::kTextLists) {
    wanted.takes_several = false;
    wanted.refused_several = refusal;
  }
  if (kind != InputKind::kTextLists && kind != InputKind::kText) {
    wanted.takes_texts = false;
    wanted.refused_texts = refusal;
  }
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

/// `names`: of the inputs, or empty.
std::vector<Wanted> wanted_inputs(std::size_t count,
                                  const std::vector<std::string>& names,
                                  const std::vector<MetricInputs>& metrics,
                                  Example example) {
  return names.empty() ? wanted_by_position(count, metrics, example)
                       : wanted_by_name(names, metrics);
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

class NpySource final : public Source {
 public:
  NpySource(const Arguments& arguments,
            const std::vector<MetricInputs>& metrics)
      : names_(arguments.input_names) {
    const std::vector<std::string>& paths = arguments.inputs;
    const auto wanted =
        wanted_inputs(paths.size(), names_, metrics, files_by_name);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      files_.push_back(std::make_unique<NpyFile>(paths[i]));
      const NpyFile& file = *files_.back();
      TORCH_CHECK_VALUE(
          file.rows() == rows(), "expected the same number of rows in ",
          paths[i], " and ", paths[0], ", got ", file.rows(), " and ", rows());
      const NpyHeader& header = file.header();
      const bool is_float = header.kind == 'f';
      const bool is_complex = header.kind == 'c';
      const bool fits =
          is_float ? wanted[i].takes_float : !is_complex && wanted[i].takes_int;
      TORCH_CHECK_VALUE(!is_complex, paths[i], ": expected real numbers, got ",
                        header.dtype());
      TORCH_CHECK_VALUE(
          fits, is_float ? wanted[i].refused_float : wanted[i].refused_int,
          ", got ", header.dtype(), " in ", paths[i]);
    }
  }

  std::int64_t rows() const override { return files_.front()->rows(); }
  std::int64_t bytes_per_row() const override {
    std::int64_t bytes = 0;
    for (const auto& file : files_) bytes += file->bytes_per_row();
    return bytes;
  }
  const std::vector<std::string>& names() const override { return names_; }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    std::vector<InputValue> inputs;
    for (const auto& file : files_) {
      inputs.push_back(InputValue::of(file->read(begin, end)));
    }
    return inputs;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<NpyFile>> files_;
};

class CsvSource final : public Source {
 public:
  CsvSource(const Arguments& arguments,
            const std::vector<MetricInputs>& metrics)
      : file_(arguments.csv, arguments.columns, arguments.csv_options) {
    if (arguments.columns.empty()) {
      const auto columns = match_columns(file_.header(), metrics);
      if (!columns.empty()) file_.choose(columns);
    }
    const auto wanted = wanted_inputs(file_.inputs().size(), file_.names(),
                                      metrics, columns_by_name);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      kinds_.push_back(kind_of(wanted[i]));
      TORCH_CHECK_VALUE(kinds_[i] != CsvKind::kTexts ||
                            wanted[i].takes_several || file_.width(i) == 0,
                        wanted[i].refused_several, ", got ", file_.width(i),
                        " columns");
    }
    file_.scan(kinds_);
    remarks_ = remarks_of(arguments, metrics);
  }

  std::int64_t rows() const override { return file_.rows(); }
  std::int64_t bytes_per_row() const override { return file_.bytes_per_row(); }
  std::string remarks() const override { return remarks_; }
  const std::vector<std::string>& names() const override {
    return file_.names();
  }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    const std::vector<at::Tensor> tensors = file_.read(begin, end);
    std::vector<InputValue> inputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      inputs.push_back(kinds_[i] == CsvKind::kTexts
                           ? texts_of(i)
                           : InputValue::of(tensors[i]));
    }
    return inputs;
  }

 private:
  std::string remarks_of(const Arguments& arguments,
                         const std::vector<MetricInputs>& metrics) const {
    std::string text;
    const bool is_said = !arguments.columns.empty() && !names().empty();
    for (std::size_t i = 0; i < file_.inputs().size() && !is_said; ++i) {
      std::string input = names().empty() ? "" : names()[i];
      for (const MetricInputs& metric : metrics) {
        if (input.empty() && i < metric.inputs.size()) {
          input = metric.inputs[i].name;
        }
      }
      text += text.empty() ? "" : ", ";
      text += input + " is column '" + file_.inputs()[i] + "'";
    }
    if (!text.empty()) text += "\n";
    if (file_.skipped() > 0) {
      text += "rows skipped because of an empty field: " +
              std::to_string(file_.skipped()) + "\n";
    }
    return text;
  }

  static CsvKind kind_of(const Wanted& wanted) {
    if (wanted.takes_texts) return CsvKind::kTexts;
    TORCH_CHECK_VALUE(
        wanted.takes_int || wanted.takes_float,
        "no column satisfies all metrics: ", wanted.refused_int, "; ",
        wanted.refused_int == wanted.refused_float ? wanted.refused_texts
                                                   : wanted.refused_float);
    return !wanted.takes_float ? CsvKind::kIntegers
           : wanted.takes_int  ? CsvKind::kEither
                               : CsvKind::kFloats;
  }

  // One column gives a text per row, several columns a list.
  InputValue texts_of(std::size_t input) {
    auto rows = file_.take_texts(input);
    if (file_.width(input) > 0) return InputValue::of(std::move(rows));
    std::vector<std::string> texts;
    for (auto& row : rows) texts.push_back(std::move(row.front()));
    return InputValue::of(std::move(texts));
  }

  CsvFile file_;
  std::vector<CsvKind> kinds_;
  std::string remarks_;
};

}  // namespace

std::unique_ptr<Source> open_source(const Arguments& arguments,
                                    const std::vector<MetricInputs>& metrics) {
  if (!arguments.csv.empty()) {
    return std::make_unique<CsvSource>(arguments, metrics);
  }
  return std::make_unique<NpySource>(arguments, metrics);
}

}  // namespace tally::cli
