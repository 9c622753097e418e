#include "tally/cli/files_source.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "tally/cli/wanted.h"
#include "tally/files/id_file.h"
#include "tally/files/npy.h"
#include "tally/files/text_file.h"

namespace tally::cli {
namespace {

using Names = std::vector<std::string>;
using TextFiles = std::vector<std::unique_ptr<files::TextFile>>;
using Content = std::variant<std::unique_ptr<files::NpyFile>, TextFiles>;

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
  if (ends_with(path, ".txt")) return true;
  if (ends_with(path, ".npy") || !wanted.takes_texts) return false;
  return !files::is_npy(path);
}

std::unique_ptr<files::NpyFile> open_npy(const std::string& path,
                                         const Wanted& wanted) {
  auto file = std::make_unique<files::NpyFile>(path);
  const files::NpyHeader& header = file->header();
  const bool is_float = header.kind == 'f';
  const bool is_complex = header.kind == 'c';
  const bool fits =
      is_float ? wanted.takes_float : !is_complex && wanted.takes_int;
  TORCH_CHECK_VALUE(!is_complex, path, ": expected real numbers, got ",
                    header.dtype());
  TORCH_CHECK_VALUE(fits, is_float ? wanted.refused_float : wanted.refused_int,
                    ", got ", header.dtype(), " in ", path);
  return file;
}

Content open_group(const FileGroup& group, const Wanted& wanted) {
  TextFiles texts;
  for (const std::string& path : group.paths) {
    if (!is_text(path, wanted)) {
      TORCH_CHECK_VALUE(group.paths.size() == 1, "expected each input once, ",
                        "got '", group.name, "' twice");
      return open_npy(path, wanted);
    }
    TORCH_CHECK_VALUE(wanted.takes_texts, wanted.refused_texts,
                      ", got texts in ", path);
    texts.push_back(std::make_unique<files::TextFile>(path));
  }
  TORCH_CHECK_VALUE(
      texts.size() == 1 || (wanted.takes_several && wanted.words.empty()),
      wanted.words.empty() ? wanted.refused_several : wanted.words, ", got ",
      texts.size(), " files");
  return texts;
}

InputValue read_texts(const TextFiles& files, std::int64_t begin,
                      std::int64_t end) {
  Names first = files.front()->read(begin, end);
  if (files.size() == 1) return InputValue::of(std::move(first));
  std::vector<Names> lists(first.size());
  for (const auto& file : files) {
    Names lines = file->read(begin, end);
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
    const std::vector<FileGroup> groups = grouped(arguments, metrics);
    for (const FileGroup& group : groups) {
      if (!group.name.empty()) names_.push_back(group.name);
    }
    wanted_ = wanted_inputs(groups.size(), names_, metrics, files_by_name);
    const auto check_rows = [&](const auto& file) {
      if (rows_ < 0) rows_ = file.rows();
      TORCH_CHECK_VALUE(file.rows() == rows_,
                        "expected the same number of rows in ", file.path(),
                        " and ", groups[0].paths[0], ", got ", file.rows(),
                        " and ", rows_);
    };
    for (std::size_t i = 0; i < groups.size(); ++i) {
      inputs_.push_back(open_group(groups[i], wanted_[i]));
      visit(inputs_.back(), check_rows);
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
    std::string remarks;
    for (const Content& input : inputs_) {
      const auto* texts = std::get_if<TextFiles>(&input);
      if (texts == nullptr) continue;
      for (const auto& file : *texts) remarks += files::mark_remark(*file);
    }
    return remarks;
  }
  // Of texts, as other files have no lines.
  std::string place(std::int64_t row) override {
    for (const Content& input : inputs_) {
      const auto* texts = std::get_if<TextFiles>(&input);
      if (texts != nullptr) return files::line_place(*texts->front(), row);
    }
    return Source::place(row);
  }
  const Names& names() const override { return names_; }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    std::vector<InputValue> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto* npy =
          std::get_if<std::unique_ptr<files::NpyFile>>(&inputs_[i]);
      values.push_back(
          npy != nullptr
              ? InputValue::of((*npy)->read(begin, end))
              : split_if_wanted(
                    wanted_[i],
                    read_texts(std::get<TextFiles>(inputs_[i]), begin, end)));
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
    if (const auto* npy =
            std::get_if<std::unique_ptr<files::NpyFile>>(&input)) {
      visitor(**npy);
      return;
    }
    for (const auto& file : std::get<TextFiles>(input)) visitor(*file);
  }

  Names names_;
  std::vector<Wanted> wanted_;
  std::vector<Content> inputs_;
  std::optional<files::IdFile> ids_;
  Names keys_;  // of the rows read last
  std::int64_t rows_ = -1;
};

}  // namespace

std::unique_ptr<Source> open_files(const Arguments& arguments,
                                   const std::vector<MetricInputs>& metrics) {
  return std::make_unique<FilesSource>(arguments, metrics);
}

}  // namespace tally::cli
