#include "tally/report/results_report.h"

#include <ATen/ops/isfinite.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <map>
#include <utility>

#include "tally/metrics/results_table.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

constexpr std::int64_t kMostClasses = 1000;
constexpr std::int64_t kMostBars = 30;
constexpr std::size_t kMostCharts = 4;  // of bars
constexpr std::int64_t kMostCurves = 8;

using Names = std::vector<std::string>;

/// What a result is shown as.
enum class Shown { kNumber, kVector, kMatrix, kPart, kOther };

std::string stem_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? "" : name.substr(0, dot);
}

/// Whether it is a part of a curve that there is all of.
bool is_curve_part(const Results& results, const std::string& name) {
  const std::string stem = stem_of(name);
  const auto has = [&](const char* part) {
    return results.contains(stem + part);
  };
  if (stem.empty() || name == stem) return false;
  const std::string part = name.substr(stem.size());
  if (part != ".fpr" && part != ".tpr" && part != ".precision" &&
      part != ".recall" && part != ".thresholds" && part != ".top_k") {
    return false;
  }
  const bool has_rates = has(".fpr") && has(".tpr");
  const bool has_precision = has(".precision") && has(".recall");
  return (has(".thresholds") && (has_rates || has_precision)) ||
         (has(".top_k") && has_precision);
}

bool is_count_matrix(const at::Tensor& value, const Dimensions& dimensions) {
  return dimensions == Dimensions{Dimension::kClass, Dimension::kClass} &&
         value.size(0) > 1 && value.size(0) <= kMostClasses &&
         c10::isIntegralType(value.scalar_type(), /*includeBool=*/false) &&
         value.min().item<std::int64_t>() >= 0;
}

Shown shown_as(const Results& results, const std::string& name,
               const at::Tensor& value) {
  if (!value.defined()) return Shown::kNumber;
  if (value.is_complex()) return Shown::kOther;
  if (is_curve_part(results, name)) return Shown::kPart;
  if (value.dim() == 0) return Shown::kNumber;
  if (value.dim() == 1 && value.size(0) > 0 && value.size(0) <= kMostClasses) {
    return Shown::kVector;
  }
  return is_count_matrix(value, results.dimensions(name)) ? Shown::kMatrix
                                                          : Shown::kOther;
}

ReportCell number_cell(const at::Tensor& value) {
  if (!value.defined()) return "undefined";
  if (c10::isIntegralType(value.scalar_type(), /*includeBool=*/true)) {
    return value.item<std::int64_t>();
  }
  return value.item<double>();
}

using Elements = internal::Elements;

/// A number sorts as one.
ReportCell element_cell(const Elements& elements, std::int64_t i) {
  const std::string& name = elements.names[static_cast<std::size_t>(i)];
  if (elements.are_named) return name;
  const auto number = internal::parse_number<std::int64_t>(name);
  return number ? ReportCell(*number) : ReportCell(name);
}

Names names_of(const Elements& elements) {
  return elements.are_named ? elements.names : Names();
}

/// "class" also for a part of them.
std::string word_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kForeground:
    case Dimension::kListedClass:
      return "class";
    case Dimension::kUnknown:
      return "element";
    default:
      return to_string(dimension);
  }
}

void add_numbers(ReportPage& page, const Results& results,
                 const ReportIntervals& intervals) {
  ReportTable table{"Results", {"metric", "value"}, {}};
  if (!intervals.empty()) {
    table.columns.insert(table.columns.end(), {"low", "high"});
  }
  for (const auto& [name, value] : results) {
    const Shown shown = shown_as(results, name, value);
    if (shown != Shown::kNumber && shown != Shown::kOther) continue;
    std::vector<ReportCell> row{name, ""};
    row[1] =
        shown == Shown::kNumber
            ? number_cell(value)
            : ReportCell(c10::str(value.scalar_type(), " ", value.sizes()));
    if (!intervals.empty()) {
      const auto found = intervals.find(name);
      const bool has = found != intervals.end();
      row.push_back(has ? number_cell(found->second.low) : ReportCell(""));
      row.push_back(has ? number_cell(found->second.high) : ReportCell(""));
    }
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) page.table(table);
}

/// Of a vector, with its interval if it has one.
void add_bars(ReportPage& page, const std::string& name,
              const at::Tensor& value, const ReportInterval& interval,
              const std::string& word, const Elements& elements) {
  const std::int64_t size = value.size(0);
  ReportTable data{name, {word, "value"}, {}};
  if (interval.low.defined()) {
    data.columns.insert(data.columns.end(), {"low", "high"});
  }
  for (std::int64_t i = 0; i < size; ++i) {
    data.rows.push_back({element_cell(elements, i), number_cell(value[i])});
    if (!interval.low.defined()) continue;
    data.rows.back().push_back(number_cell(interval.low[i]));
    data.rows.back().push_back(number_cell(interval.high[i]));
  }
  page.chart(
      bar_plot(value, names_of(elements), PlotOptions().title(name).width(400),
               interval.low, interval.high),
      data);
}

void add_vectors(ReportPage& page, const Results& results, const Names& labels,
                 const ReportIntervals& intervals) {
  // By what the elements are.
  std::map<std::pair<std::string, Names>, Names> alike;
  for (const auto& [name, value] : results) {
    if (shown_as(results, name, value) != Shown::kVector) continue;
    const std::string word = word_of(results.dimensions(name).front());
    Elements elements = internal::elements_of(results, name, 0, labels);
    alike[{word, std::move(elements.names)}].push_back(name);
  }
  for (const auto& [key, names] : alike) {
    const std::string& word = key.first;
    const Elements elements =
        internal::elements_of(results, names.front(), 0, labels);
    const auto size = static_cast<std::int64_t>(elements.names.size());
    ReportTable table{"By " + word, {word}, {}};
    table.columns.insert(table.columns.end(), names.begin(), names.end());
    for (std::int64_t i = 0; i < size; ++i) {
      table.rows.push_back({element_cell(elements, i)});
      for (const std::string& name : names) {
        table.rows.back().push_back(number_cell(results[name][i]));
      }
    }
    page.table(table);
    for (std::size_t k = 0; k < names.size() && k < kMostCharts; ++k) {
      if (size > kMostBars) break;
      const auto found = intervals.find(names[k]);
      add_bars(page, names[k], results[names[k]],
               found == intervals.end() ? ReportInterval() : found->second,
               word, elements);
    }
  }
}

/// The curve's points that are numbers; curves of several are padded.
PlotCurve curve_of(const std::string& name, const at::Tensor& x,
                   const at::Tensor& y) {
  const at::Tensor finite = at::isfinite(x).logical_and(at::isfinite(y));
  return {name, x.masked_select(finite), y.masked_select(finite)};
}

std::vector<PlotCurve> curves_of(const at::Tensor& x, const at::Tensor& y,
                                 const Names& names) {
  if (x.dim() == 1) return {curve_of("", x, y)};
  std::vector<PlotCurve> curves;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    curves.push_back(curve_of(names[static_cast<std::size_t>(i)], x[i], y[i]));
  }
  return curves;
}

void add_curves(ReportPage& page, const Results& results, const Names& labels) {
  for (const auto& [name, value] : results) {
    if (shown_as(results, name, value) != Shown::kPart) continue;
    const std::string stem = stem_of(name);
    if (name == stem + ".top_k" && value.dim() == 1) {
      add_retrieval(page,
                    {{"precision", value, results[stem + ".precision"]},
                     {"recall", value, results[stem + ".recall"]}},
                    stem);
    }
    const bool is_roc = name == stem + ".fpr";
    if (!is_roc &&
        (name != stem + ".recall" || !results.contains(stem + ".thresholds"))) {
      continue;
    }
    const at::Tensor y = results[stem + (is_roc ? ".tpr" : ".precision")];
    if (!y.sizes().equals(value.sizes()) || value.dim() < 1 ||
        value.dim() > 2 || (value.dim() == 2 && value.size(0) > kMostCurves)) {
      continue;
    }
    const auto curves = curves_of(
        value, y, internal::elements_of(results, name, 0, labels).names);
    if (curves.empty()) continue;
    if (is_roc) {
      add_roc(page, curves, stem);
    } else {
      add_precision_recall(page, curves, std::nan(""), stem);
    }
  }
}

}  // namespace

void add_results(ReportPage& page, const Results& results, const Names& labels,
                 const ReportIntervals& intervals) {
  add_numbers(page, results, intervals);
  add_vectors(page, results, labels, intervals);
  for (const auto& [name, value] : results) {
    if (shown_as(results, name, value) != Shown::kMatrix) continue;
    add_confusion_matrix(
        page, value, names_of(internal::elements_of(results, name, 0, labels)),
        name);
  }
  add_curves(page, results, labels);
}

void add_slices(ReportPage& page, const Names& columns,
                const std::vector<SliceResult>& slices) {
  const std::string head = c10::Join(", ", columns);
  ReportTable table{"By " + head, {head, "rows"}, {}};
  const Names names = slice_names(slices);
  for (const SliceResult& slice : slices) {
    if (table.rows.empty()) {
      for (const auto& [name, value] : slice.results) {
        if (!value.defined() || value.dim() == 0) table.columns.push_back(name);
      }
    }
    std::vector<ReportCell> row{names[table.rows.size()], slice.rows};
    for (std::size_t i = 2; i < table.columns.size(); ++i) {
      const at::Tensor& value = slice.results[table.columns[i]];
      row.push_back(value.defined() && value.dim() != 0 ? ReportCell("")
                                                        : number_cell(value));
    }
    table.rows.push_back(std::move(row));
  }
  page.table(table);
}

void add_compared_slices(ReportPage& page, const std::string& metric,
                         const std::vector<ComparedSlice>& slices,
                         const std::string& unit) {
  constexpr std::size_t kMost = 50;
  ReportTable table{
      metric + ": slices against all other rows", {"slice", "rows"}, {}};
  const bool has_units = unit != "row";
  if (has_units) table.columns.push_back("units");
  table.columns.insert(table.columns.end(),
                       {"value", "rest", "difference", "low", "high", "effect",
                        "p", "q", "flags"});
  const Names names = slice_names(slices);
  for (const ComparedSlice& slice : slices) {
    if (table.rows.size() == kMost) break;
    std::vector<ReportCell> row{names[table.rows.size()], slice.rows};
    if (has_units) row.push_back(slice.units);
    row.insert(row.end(), {slice.value, slice.rest, slice.difference, slice.low,
                           slice.high, slice.effect, slice.p_value,
                           slice.q_value, slice.flags.text()});
    table.rows.push_back(std::move(row));
  }
  page.table(table);
}

}  // namespace tally
