#include "tally/cli/source.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tally/cli/coco_source.h"
#include "tally/cli/columns.h"
#include "tally/cli/feeds.h"
#include "tally/cli/files_source.h"
#include "tally/cli/panoptic_source.h"
#include "tally/cli/wanted.h"
#include "tally/files/csv.h"
#include "tally/files/file_kind.h"
#include "tally/files/file_list.h"
#include "tally/files/json_lines.h"

namespace tally::cli {
namespace {

/// The columns of --ids and --groups, at most one.
std::vector<std::string> id_columns(const Arguments& arguments) {
  std::vector<std::string> columns;
  for (const std::string& column : {arguments.ids, arguments.groups}) {
    if (!column.empty()) columns.push_back(column);
  }
  return columns;
}

std::string skipped_remark(std::int64_t rows) {
  return rows == 0 ? ""
                   : "rows skipped because of a missing field: " +
                         std::to_string(rows) + "\n";
}

class CsvSource final : public Source {
 public:
  CsvSource(const Arguments& arguments,
            const std::vector<MetricInputs>& metrics)
      : paths_(files::list_files(arguments.csv)),
        file_(paths_, arguments.columns, arguments.csv_options) {
    if (arguments.columns.empty()) {
      const auto columns = match_columns(file_.header(), metrics);
      if (!columns.empty()) file_.choose(columns);
    }
    wanted_ = wanted_inputs(file_.inputs().size(), file_.names(), metrics,
                            columns_by_name);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      kinds_.push_back(kind_of(wanted_[i]));
      TORCH_CHECK_VALUE(kinds_[i] != files::CsvKind::kTexts ||
                            wanted_[i].takes_several || file_.width(i) == 0,
                        wanted_[i].refused_several, ", got ", file_.width(i),
                        " columns");
    }
    remarks_ = column_remark(arguments, metrics, "column", file_.inputs(),
                             file_.names());
    std::vector<std::string> keys = arguments.by;
    for (std::string& column : id_columns(arguments)) {
      keys.push_back(std::move(column));
    }
    keys_ = keys.size();
    file_.add_keys(keys);
    kinds_.resize(kinds_.size() + keys_, files::CsvKind::kTexts);
    file_.scan(kinds_, have_classes(wanted_));
    remarks_ += skipped_remark(file_.skipped());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto& names = file_.names();
      remarks_ += number_remark(names.empty() ? file_.inputs()[i] : names[i],
                                file_.numbered(i));
    }
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
    for (std::size_t i = 0; i + keys_ < tensors.size(); ++i) {
      inputs.push_back(kinds_[i] == files::CsvKind::kTexts
                           ? split_if_wanted(wanted_[i], texts_of(i))
                           : InputValue::of(tensors[i]));
    }
    return inputs;
  }

  std::string place(std::int64_t row) override { return file_.place(row); }
  std::string value_place(std::int64_t row, std::int64_t input) override {
    return place(row) +
           (input < 0
                ? ""
                : ", " + file_.column_words(static_cast<std::size_t>(input)));
  }
  std::string file_names() const override { return c10::Join(", ", paths_); }

  std::vector<std::vector<std::string>> keys() override {
    std::vector<std::vector<std::string>> columns;
    for (std::size_t i = kinds_.size() - keys_; i < kinds_.size(); ++i) {
      columns.push_back(first_texts(i));
    }
    return columns;
  }

 private:
  // One column gives a text per row, several columns a list.
  InputValue texts_of(std::size_t input) {
    if (file_.width(input) > 0) return InputValue::of(file_.take_texts(input));
    return InputValue::of(first_texts(input));
  }

  std::vector<std::string> first_texts(std::size_t input) {
    std::vector<std::string> texts;
    for (auto& row : file_.take_texts(input)) {
      texts.push_back(std::move(row.front()));
    }
    return texts;
  }

  std::vector<std::string> paths_;
  files::CsvFile file_;
  std::vector<Wanted> wanted_;
  std::vector<files::CsvKind> kinds_;
  std::size_t keys_ = 0;  // columns besides inputs, behind them
  std::string remarks_;
};

class JsonSource final : public Source {
 public:
  JsonSource(const Arguments& arguments,
             const std::vector<MetricInputs>& metrics)
      : paths_(files::list_files(arguments.inputs)),
        file_(paths_, arguments.columns, arguments.csv_options) {
    if (arguments.columns.empty()) {
      const auto keys = match_columns(file_.header(), metrics);
      if (!keys.empty()) file_.choose(keys);
    }
    wanted_ = wanted_inputs(file_.inputs().size(), file_.names(), metrics,
                            columns_by_name);
    file_.add_ids(id_columns(arguments));
    std::vector<files::CsvKind> kinds;
    std::transform(wanted_.begin(), wanted_.end(), std::back_inserter(kinds),
                   kind_of);
    file_.scan(kinds, have_classes(wanted_));
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      TORCH_CHECK_VALUE(wanted_[i].takes_several || !file_.has_lists(i),
                        wanted_[i].refused_several,
                        ", got lists of texts for key '", file_.inputs()[i],
                        "'");
      TORCH_CHECK_VALUE(wanted_[i].words.empty() || !file_.has_lists(i) ||
                            !file_.has_texts(i),
                        wanted_[i].words,
                        ", as a text or as a list in every "
                        "line, got both for key '",
                        file_.inputs()[i], "'");
    }
    remarks_ =
        file_.file().mark_remark() +
        column_remark(arguments, metrics, "key", file_.inputs(), names()) +
        skipped_remark(file_.skipped());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      remarks_ += number_remark(
          names().empty() ? file_.inputs()[i] : names()[i], file_.numbered(i));
    }
  }

  std::int64_t rows() const override { return file_.rows(); }
  std::int64_t bytes_per_row() const override { return file_.bytes_per_row(); }
  std::string remarks() const override { return remarks_; }
  const std::vector<std::string>& names() const override {
    return file_.names();
  }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    std::vector<InputValue> inputs = file_.read(begin, end);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = split_if_wanted(wanted_[i], std::move(inputs[i]));
    }
    return inputs;
  }
  std::string place(std::int64_t row) override {
    return file_.file().place(row);
  }
  std::string value_place(std::int64_t row, std::int64_t input) override {
    return place(row) +
           (input < 0
                ? ""
                : ", key '" +
                      files::shown_text(
                          file_.inputs()[static_cast<std::size_t>(input)]) +
                      "'");
  }
  std::string file_names() const override { return c10::Join(", ", paths_); }
  std::vector<std::vector<std::string>> keys() override {
    return file_.take_ids();
  }

 private:
  std::vector<std::string> paths_;
  files::JsonLines file_;
  std::vector<Wanted> wanted_;
  std::string remarks_;
};

/// What the arguments pass, one of which each input is read from.
std::vector<Feed> feeds_in(const Arguments& arguments) {
  if (!arguments.coco.empty()) return {Feed::kCoco, Feed::kPanoptic};
  if (!arguments.csv.empty()) return {Feed::kCsv};
  if (is_json_lines(arguments)) return {Feed::kJsonLines};
  if (is_archive(arguments)) return {Feed::kArrays};
  return {Feed::kArrays, Feed::kTexts};
}

/// Whether metrics are read from COCO's panoptic files, not from those of
/// objects. Throws unless that is so of all or of none.
bool are_of_segments(const std::vector<MetricInputs>& metrics) {
  const auto is_of_segments = [](const MetricInputs& metric) {
    const auto feeds = feeds_of(metric.inputs);
    return std::find(feeds.begin(), feeds.end(), Feed::kPanoptic) !=
           feeds.end();
  };
  const bool is_first = is_of_segments(metrics.front());
  for (const MetricInputs& metric : metrics) {
    TORCH_CHECK_VALUE(is_of_segments(metric) == is_first,
                      "--coco: expected metrics of objects, or of segments, ",
                      "got ", metrics.front().name, " and ", metric.name,
                      ": evaluate them one by one");
  }
  return is_first;
}

}  // namespace

std::unique_ptr<Source> open_source(const Arguments& arguments,
                                    const std::vector<MetricInputs>& metrics) {
  for (const MetricInputs& metric : metrics) {
    check_feeds(metric.name, metric.inputs, feeds_in(arguments));
  }
  if (!arguments.coco.empty()) {
    return are_of_segments(metrics) ? open_panoptic(arguments)
                                    : open_coco(arguments, metrics);
  }
  if (!arguments.csv.empty()) {
    return std::make_unique<CsvSource>(arguments, metrics);
  }
  if (is_json_lines(arguments)) {
    return std::make_unique<JsonSource>(arguments, metrics);
  }
  return open_files(arguments, metrics);
}

void check_row_shapes(Source& source,
                      const std::vector<MetricInputs>& metrics) {
  std::vector<InputValue> row;
  for (const MetricInputs& metric : metrics) {
    for (std::size_t i = 0; i < metric.inputs.size(); ++i) {
      const InputInfo& input = metric.inputs[i];
      const InputForms forms = forms_of(input);
      if (!forms.has_open_rows || source.rows() == 0) continue;
      if (row.empty()) row = source.read(0, 1);
      const std::vector<std::string>& names = source.names();
      const std::size_t place =
          names.empty()
              ? i
              : static_cast<std::size_t>(
                    std::find(names.begin(), names.end(), input.name) -
                    names.begin());
      if (place >= row.size()) continue;
      const auto* const tensor = row[place].ref().as<at::Tensor>();
      TORCH_CHECK_VALUE(
          tensor == nullptr || tensor->dim() >= forms.dims, metric.name,
          ": expected ", input.name, " to be ", described(input),
          ", one in each row, got rows of shape ", tensor->sizes().slice(1),
          "; a single one is saved as one row, as x[None] in NumPy");
    }
  }
}

}  // namespace tally::cli
