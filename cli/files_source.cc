#include "tally/cli/files_source.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "tally/cli/columns.h"
#include "tally/cli/feeds.h"
#include "tally/cli/wanted.h"
#include "tally/files/column_list.h"
#include "tally/files/file_kind.h"
#include "tally/files/file_list.h"
#include "tally/files/id_file.h"
#include "tally/files/npy.h"
#include "tally/files/text_file.h"

namespace tally::cli {
namespace {

using Names = std::vector<std::string>;
using TextLists = std::vector<files::TextFiles>;
/// Arrays, which are to be float64 if metrics take no integers.
struct Arrays {
  files::NpyFiles files;
  bool are_widened = false;
};
using Content = std::variant<Arrays, TextLists>;

/// The files of an input.
struct FileGroup {
  std::string name;  // empty by position
  Names paths;
};

/// How many inputs all metrics take if the last has several texts for each row;
/// else 0.
std::size_t inputs_before_more(const std::vector<MetricInputs>& metrics) {
  std::size_t count = 0;
  for (const MetricInputs& metric : metrics) {
    const bool fits = !metric.inputs.empty() &&
                      metric.inputs.back().kind == InputKind::kTextLists &&
                      (count == 0 || metric.inputs.size() == count);
    if (!fits) return 0;
    count = metric.inputs.size();
  }
  return count;
}

std::vector<FileGroup> grouped(const Arguments& arguments,
                               const std::vector<MetricInputs>& metrics) {
  const Names& names = arguments.input_names;
  const std::size_t most = inputs_before_more(metrics);
  std::vector<FileGroup> groups;
  for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
    auto found = groups.end();
    if (!names.empty()) {
      found = std::find_if(
          groups.begin(), groups.end(),
          [&](const FileGroup& group) { return group.name == names[i]; });
    } else if (most > 0 && i >= most) {
      found = groups.end() - 1;
    }
    if (found == groups.end()) {
      found = groups.insert(found, {names.empty() ? "" : names[i], {}});
    }
    found->paths.push_back(arguments.inputs[i]);
  }
  return groups;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// By its name; otherwise what the metrics want, unless it begins as .npy.
bool is_text(const std::string& path, const Wanted& wanted) {
  if (ends_with(path, ".txt") || ends_with(path, ".txt.gz") ||
      ends_with(path, ".txt.zst")) {
    return true;
  }
  if (ends_with(path, ".npy") || !wanted.takes_texts) return false;
  return !files::is_npy(path);
}

Content checked_arrays(files::NpyFiles files, const Wanted& wanted) {
  const files::NpyHeader& header = files.header();
  const bool is_float = header.kind == 'f';
  const bool is_complex = header.kind == 'c';
  TORCH_CHECK_VALUE(!is_complex, files.path(), ": expected real numbers, got ",
                    header.dtype());
  // Integers are numbers where those are wanted, as in a column of a CSV file.
  const bool fits =
      is_float ? wanted.takes_float : wanted.takes_int || wanted.takes_float;
  TORCH_CHECK_VALUE(fits, is_float ? wanted.refused_float : wanted.refused_int,
                    ", got ", header.dtype(), " in ", files.path());
  return Arrays{std::move(files), !is_float && !wanted.takes_int};
}

Content open_npy(const Names& paths, const Wanted& wanted) {
  std::vector<files::NpyFile> files;
  for (const std::string& path : paths) files.emplace_back(path);
  return checked_arrays(files::NpyFiles(std::move(files)), wanted);
}

/// Throws if a file is named as those of columns, though each of its lines may
/// be a text.
void refuse_table(const std::string& path) {
  for (const std::string name : {".csv", ".tsv"}) {
    for (const char* packing : {"", ".gz", ".zst"}) {
      TORCH_CHECK_VALUE(!ends_with(path, name + packing), path,
                        ": expected a .npy or .txt file, got ", name,
                        "; pass CSV with --csv");
    }
  }
}

/// Throws if the only file is no array, where several inputs are wanted.
void refuse_lone_file(const std::string& path,
                      const std::vector<MetricInputs>& metrics) {
  const files::InputFile file(path);
  const bool takes_text =
      std::any_of(metrics.begin(), metrics.end(), [](const auto& metric) {
        return std::any_of(
            metric.inputs.begin(), metric.inputs.end(),
            [](const InputInfo& input) { return forms_of(input).is_text; });
      });
  const std::string words = files::other_than_array(file);
  const bool is_json = words.find('{') != words.npos;
  TORCH_CHECK_VALUE((takes_text && !is_json) || files::is_npy(path), path,
                    ": expected a ", takes_text ? ".txt" : ".npy",
                    " file for each input, got ", words);
}

Content open_group(const FileGroup& group, const Wanted& wanted) {
  TextLists texts;
  for (const std::string& word : group.paths) {
    const Names paths = files::list_files({word});
    for (const std::string& path : paths) refuse_table(path);
    if (!is_text(paths.front(), wanted)) {
      TORCH_CHECK_VALUE(group.paths.size() == 1, "expected each input once, ",
                        "got '", group.name, "' twice");
      return open_npy(paths, wanted);
    }
    TORCH_CHECK_VALUE(wanted.takes_texts, wanted.refused_texts,
                      ", got texts in ", paths.front());
    texts.emplace_back(paths);
  }
  TORCH_CHECK_VALUE(
      texts.size() == 1 || (wanted.takes_several && wanted.words.empty()),
      wanted.words.empty() ? wanted.refused_several : wanted.words, ", got ",
      texts.size(), " files");
  return texts;
}

/// The arrays of a .npz file that --columns names, or whose names are those of
/// inputs; `names` gets the inputs' names.
std::vector<std::size_t> choose_arrays(const files::NpzFile& archive,
                                       const Arguments& arguments,
                                       const std::vector<MetricInputs>& metrics,
                                       Names& names) {
  const Names& all = archive.names();
  std::vector<std::size_t> places;
  if (arguments.columns.empty()) {
    for (const auto& [input, place] : match_columns(all, metrics)) {
      names.push_back(input);
      places.push_back(place);
    }
    return places;
  }
  for (const auto& item : files::parse_columns(arguments.columns, all)) {
    if (!item.input.empty()) names.push_back(item.input);
    const auto found = std::find(all.begin(), all.end(), item.text());
    TORCH_CHECK_VALUE(found != all.end(), arguments.inputs.front(),
                      ": no array '", item.text(), "'",
                      files::column_hint(item.text(), all));
    places.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  return places;
}

InputValue read_texts(const TextLists& files, std::int64_t begin,
                      std::int64_t end) {
  Names first = files.front().read(begin, end);
  if (files.size() == 1) return InputValue::of(std::move(first));
  std::vector<Names> lists(first.size());
  for (const files::TextFiles& file : files) {
    Names lines = file.read(begin, end);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lists[i].push_back(std::move(lines[i]));
    }
  }
  return InputValue::of(std::move(lists));
}

class FilesSource final : public Source {
 public:
  FilesSource(const Arguments& arguments,
              const std::vector<MetricInputs>& metrics) {
    if (is_archive(arguments)) {
      open_archive(arguments, metrics);
    } else {
      open_groups(arguments, metrics);
    }
    const std::string ids = id_path(arguments);
    if (ids.empty()) return;
    ids_.emplace(ids);
    check_rows(*ids_);
  }

  std::int64_t rows() const override { return rows_; }
  std::int64_t bytes_per_row() const override {
    std::int64_t bytes = 0;
    for (const Content& input : inputs_) {
      visit(input, [&](const auto& file) { bytes += file.bytes_per_row(); });
    }
    if (ids_) bytes += ids_->bytes_per_row();
    return bytes;
  }
  std::string remarks() const override {
    std::string remarks = remark_;
    for (const Content& input : inputs_) {
      const auto* texts = std::get_if<TextLists>(&input);
      if (texts == nullptr) continue;
      for (const auto& file : *texts) remarks += file.mark_remark();
    }
    return remarks;
  }
  // Of texts, as other files have no lines.
  std::string place(std::int64_t row) override {
    for (const Content& input : inputs_) {
      const auto* texts = std::get_if<TextLists>(&input);
      if (texts != nullptr) return texts->front().place(row);
    }
    return Source::place(row);
  }
  std::string value_place(std::int64_t row, std::int64_t input) override {
    std::string place;
    visit(inputs_[static_cast<std::size_t>(std::max<std::int64_t>(0, input))],
          [&](const auto& file) {
            if (place.empty()) place = file.place(row);
          });
    return place;
  }
  std::string file_names() const override { return file_names_; }
  const Names& names() const override { return names_; }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    std::vector<InputValue> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto* arrays = std::get_if<Arrays>(&inputs_[i]);
      if (arrays == nullptr) {
        values.push_back(split_if_wanted(
            wanted_[i],
            read_texts(std::get<TextLists>(inputs_[i]), begin, end)));
        continue;
      }
      at::Tensor rows = arrays->files.read(begin, end);
      if (arrays->are_widened) rows = rows.to(at::kDouble);
      values.push_back(InputValue::of(std::move(rows)));
    }
    if (ids_) keys_ = ids_->read(begin, end);
    return values;
  }
  std::vector<Names> keys() override {
    if (!ids_) return {};
    return {std::move(keys_)};
  }

 private:
  template <class Visit>
  static void visit(const Content& input, const Visit& visitor) {
    if (const auto* arrays = std::get_if<Arrays>(&input)) {
      visitor(arrays->files);
      return;
    }
    for (const auto& file : std::get<TextLists>(input)) visitor(file);
  }

  template <class File>
  void check_rows(const File& file) {
    if (rows_ < 0) rows_ = file.rows();
    TORCH_CHECK_VALUE(file.rows() == rows_,
                      "expected the same number of rows in ", file.path(),
                      " and ", first_path_, ", got ", file.rows(), " and ",
                      rows_);
  }

  void open_groups(const Arguments& arguments,
                   const std::vector<MetricInputs>& metrics) {
    const std::vector<FileGroup> groups = grouped(arguments, metrics);
    for (const FileGroup& group : groups) {
      if (!group.name.empty()) names_.push_back(group.name);
    }
    if (arguments.inputs.size() == 1) {
      for (const std::string& path : files::list_files(arguments.inputs)) {
        refuse_table(path);
        refuse_lone_file(path, metrics);
      }
    }
    wanted_ = wanted_inputs(groups.size(), names_, metrics, files_by_name);
    first_path_ = groups[0].paths[0];
    file_names_ = c10::Join(", ", arguments.inputs);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      inputs_.push_back(open_group(groups[i], wanted_[i]));
      visit(inputs_.back(), [&](const auto& file) { check_rows(file); });
    }
  }

  void open_archive(const Arguments& arguments,
                    const std::vector<MetricInputs>& metrics) {
    const files::NpzFile archive(arguments.inputs.front());
    const auto places = choose_arrays(archive, arguments, metrics, names_);
    wanted_ = wanted_inputs(places.size(), names_, metrics, columns_by_name);
    file_names_ = arguments.inputs.front();
    Names arrays;
    for (const std::size_t place : places) {
      arrays.push_back(archive.names()[place]);
    }
    remark_ = column_remark(arguments, metrics, "array", arrays, names_);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::vector<files::NpyFile> files;
      files.push_back(archive.open(places[i]));
      if (i == 0) first_path_ = files.front().path();
      inputs_.push_back(
          checked_arrays(files::NpyFiles(std::move(files)), wanted_[i]));
      visit(inputs_.back(), [&](const auto& file) { check_rows(file); });
    }
  }

  Names names_;
  std::vector<Wanted> wanted_;
  std::vector<Content> inputs_;
  std::optional<files::IdFile> ids_;
  Names keys_;  // of the rows read last
  std::int64_t rows_ = -1;
  std::string first_path_;
  std::string file_names_;
  std::string remark_;  // on the arrays of an archive
};

}  // namespace

std::unique_ptr<Source> open_files(const Arguments& arguments,
                                   const std::vector<MetricInputs>& metrics) {
  return std::make_unique<FilesSource>(arguments, metrics);
}

}  // namespace tally::cli
