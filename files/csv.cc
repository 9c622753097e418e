#include "tally/files/csv.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/files/file_kind.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::files {
namespace {

constexpr std::size_t kMostColumns = 100'000;
constexpr std::int64_t kRowsPerMark = 1024;
constexpr std::size_t kMostNumbered = 10'000;  // texts of an input
constexpr std::string_view kSeparatorLine = "sep=";

/// "';'".
std::string quoted(char c) {
  return c == '\t' ? "tab" : "'" + shown_text(std::string(1, c)) + "'";
}

}  // namespace

CsvFile::CsvFile(std::vector<std::string> paths, const std::string& columns,
                 CsvOptions options)
    : options_(std::move(options)),
      values_(options_),
      paths_(std::move(paths)) {
  open_file(0);
  const char delimiter = records_.delimiter();
  std::string_view only;
  const std::size_t count =
      records_.fields([&](std::size_t, std::string_view text) { only = text; });
  const std::size_t other = only.find_first_of(";\t|");
  TORCH_CHECK_VALUE(delimiter != ',' || options_.delimiter != 0 || count > 1 ||
                        other == only.npos,
                    paths_[0], ": expected commas between fields, got ",
                    quoted(only[other]),
                    "; if that is the delimiter, use --delimiter ",
                    only[other] == '\t' ? "tab" : quoted(only[other]));
  TORCH_CHECK_VALUE(count <= kMostColumns, paths_[0], ": expected at most ",
                    kMostColumns, " columns, got ", count);
  records_.fields([&](std::size_t, std::string_view name) {
    names_.emplace_back(trimmed(name));
  });
  uses_.resize(count);
  find_columns(columns);
}

void CsvFile::open_file(std::size_t index) {
  file_ = std::make_unique<InputFile>(paths_[index]);
  file_index_ = index;
  refuse_other_kinds(*file_);
  records_.open(*file_, options_.delimiter == 0 ? ',' : options_.delimiter);
  TORCH_CHECK_VALUE(records_.next(), paths_[index],
                    ": expected lines, got an empty file");
  check_line_end();
  take_separator();
}

/// Old programs of the Macintosh end lines by CR alone.
void CsvFile::check_line_end() const {
  const std::string_view line = records_.text();
  const std::size_t end = line.find('\r');
  TORCH_CHECK_VALUE(
      end == line.npos || (end + 1 < line.size() && line[end + 1] == '\n'),
      file_->path(),
      ": expected lines that end with LF or CR LF, got CR alone; "
      "tr '\\r' '\\n' <FILE converts them");
}

/// The first line that Excel writes or wants: "sep=;".
void CsvFile::take_separator() {
  const std::string_view line = records_.text();
  if (line.size() != kSeparatorLine.size() + 1 ||
      line.substr(0, kSeparatorLine.size()) != kSeparatorLine) {
    return;
  }
  const char separator = line.back();
  TORCH_CHECK_VALUE(options_.delimiter == 0 || options_.delimiter == separator,
                    file_->path(), ": the first line says that ",
                    quoted(separator), " is the delimiter, --delimiter says ",
                    quoted(options_.delimiter));
  records_.set_delimiter(separator);
  TORCH_CHECK_VALUE(records_.next(), file_->path(),
                    ": expected lines, got only ", kSeparatorLine);
}

void CsvFile::begin_file(std::size_t index) {
  open_file(index);
  if (!has_names_) {
    records_.seek(records_.offset(), records_.line());
    return;
  }
  std::vector<std::string> names;
  records_.fields([&](std::size_t, std::string_view name) {
    names.emplace_back(trimmed(name));
  });
  const auto [own, other] =
      std::mismatch(names_.begin(), names_.end(), names.begin(), names.end());
  if (own == names_.end() && other == names.end()) return;
  TORCH_CHECK_VALUE(
      false, paths_[index], ": expected the columns of ", paths_[0], ", got ",
      other == names.end() ? "no" : "'" + shown_text(*other) + "' as",
      " column ", other - names.begin() + 1,
      own == names_.end() ? "" : " for '" + shown_text(*own) + "'");
}

void CsvFile::refuse_all() const {
  refused_.fail(values_.advice(refused_.texts(), refused_.can_be_labels(),
                               have_numbers_[first_refused_]));
}

void CsvFile::refuse(std::size_t column, std::size_t input,
                     const char* expected, std::string_view got) {
  if (refused_.empty()) first_refused_ = input;
  refused_.add(file_->path(), records_.line(), "column " + column_name(column),
               expected,
               {shown_text(trimmed(got)), true, have_classes_[input]});
}

bool CsvFile::lacks_field() {
  bool lacks = false;
  records_.fields([&](std::size_t column, std::string_view text) {
    if (column >= uses_.size() || uses_[column].empty() ||
        !values_.is_missing(text)) {
      return;
    }
    for (const Use& use : uses_[column]) {
      const CsvKind kind = kinds_[use.input];
      const bool is_name = kind == CsvKind::kKeys || kind == CsvKind::kNumbered;
      // NA may be a name, such as that of Namibia.
      lacks = lacks ||
              (kind != CsvKind::kTexts && (!is_name || trimmed(text).empty()));
    }
  });
  return lacks;
}

/// Advances to the next row that is kept, and adds the others to `skipped`.
bool CsvFile::next_row(std::int64_t& skipped) {
  while (true) {
    while (records_.next()) {
      if (options_.missing != Missing::kSkip || !lacks_field()) return true;
      ++skipped;
    }
    if (file_index_ + 1 == paths_.size()) return false;
    begin_file(file_index_ + 1);
  }
}

std::vector<bool> classes_of(const std::vector<CsvKind>& kinds) {
  std::vector<bool> have_classes;
  for (const CsvKind kind : kinds) {
    have_classes.push_back(kind == CsvKind::kIntegers ||
                           kind == CsvKind::kEither);
  }
  return have_classes;
}

void CsvFile::scan(const std::vector<CsvKind>& kinds,
                   std::vector<bool> have_classes) {
  kinds_ = kinds;
  have_classes_ =
      have_classes.empty() ? classes_of(kinds) : std::move(have_classes);
  have_classes_.resize(kinds.size(), false);
  have_numbers_.assign(inputs_.size(), false);
  text_bytes_ = 0;
  numbered_.assign(inputs_.size(), {});
  has_names_in_.assign(inputs_.size(), false);
  std::vector<bool> all_integers(inputs_.size(), true);
  begin_file(0);
  skipped_ = 0;
  for (rows_ = 0; next_row(skipped_); ++rows_) {
    if (rows_ % kRowsPerMark == 0) {
      marks_.push_back({file_index_, records_.offset(), records_.line()});
    }
    check_row(all_integers);
  }
  if (!refused_.empty()) refuse_all();
  settle_kinds(all_integers);
}

void CsvFile::settle_kinds(const std::vector<bool>& all_integers) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    CsvKind& kind = kinds_[i];
    const bool is_open = kind == CsvKind::kEither || kind == CsvKind::kKeys ||
                         kind == CsvKind::kNumbered;
    if (is_open && all_integers[i]) {
      kind = CsvKind::kIntegers;
      numbered_[i].clear();
    } else if (kind == CsvKind::kEither ||
               (kind == CsvKind::kNumbered && !has_names_in_[i])) {
      kind = CsvKind::kFloats;
      numbered_[i].clear();
    }
  }
}

void CsvFile::check_field(std::size_t column, std::size_t input,
                          std::string_view text,
                          std::vector<bool>& all_integers) {
  const CsvKind wanted = kinds_[input];
  if (wanted == CsvKind::kTexts) {
    text_bytes_ += static_cast<std::int64_t>(text.size());
    check_utf8(column, text);
    return;
  }
  if (wanted == CsvKind::kKeys || wanted == CsvKind::kNumbered) {
    check_key(column, input, text, all_integers);
    return;
  }
  if (values_.to_integer(text)) {
    have_numbers_[input] = true;
    return;
  }
  const bool is_number = values_.to_number(text).has_value();
  have_numbers_[input] = have_numbers_[input] || is_number;
  if (wanted == CsvKind::kIntegers) {
    refuse(column, input, values_.integer_words(), text);
  } else if (!is_number) {
    refuse(column, input, "a number", text);
  }
  all_integers[input] = false;
}

void CsvFile::check_utf8(std::size_t column, std::string_view text) const {
  const std::size_t bad = internal::text::find_invalid_utf8(text);
  TORCH_CHECK_VALUE(
      bad == text.size(), file_->path(), ", line ", records_.line(),
      ": column ", column_name(column), ": expected UTF-8, got ",
      internal::text::byte_words(text[bad]), " in '", shown_text(text),
      "'; another encoding is read with --encoding latin-1 or windows-1252");
}

void CsvFile::check_key(std::size_t column, std::size_t input,
                        std::string_view text,
                        std::vector<bool>& all_integers) {
  const std::string_view word = trimmed(text);
  if (word.empty()) refuse(column, input, "an integer or a text", text);
  if (!values_.to_integer(word)) check_utf8(column, word);
  const bool is_exact = kinds_[input] == CsvKind::kKeys;
  if (!values_.to_key(word, is_exact)) all_integers[input] = false;
  if (kinds_[input] == CsvKind::kNumbered) {
    if (!values_.to_number(word)) has_names_in_[input] = true;
    // Scores are too many, but have no numbers.
    if (numbered_[input].size() <= kMostNumbered) {
      numbered_[input].emplace(word);
    }
    TORCH_CHECK_VALUE(
        !has_names_in_[input] || numbered_[input].size() <= kMostNumbered,
        file_->path(), ", line ", records_.line(), ": column ",
        column_name(column), ": expected at most ", kMostNumbered,
        " different texts, got more");
  }
}

void CsvFile::check_row(std::vector<bool>& all_integers) {
  const std::size_t count =
      records_.fields([&](std::size_t column, std::string_view text) {
        if (column >= uses_.size()) return;
        for (const Use& use : uses_[column]) {
          check_field(column, use.input, text, all_integers);
        }
      });
  if (count != names_.size()) {
    const bool may_be_decimal =
        count > names_.size() && records_.delimiter() == ',';
    records_.fail("expected " + std::to_string(names_.size()) +
                  " fields, got " + std::to_string(count) +
                  (may_be_decimal ? "; a field with a comma in it is written "
                                    "in quotes, \"0,9\""
                                  : ""));
  }
}

std::int64_t CsvFile::bytes_per_row() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    const bool is_text = i < kinds_.size() && kinds_[i] == CsvKind::kTexts;
    bytes += static_cast<std::int64_t>(
        std::max<std::size_t>(1, widths_[i]) *
        (is_text ? sizeof(std::string) : sizeof(double)));
  }
  return bytes + text_bytes_ / std::max<std::int64_t>(1, rows_);
}

void CsvFile::go_to(std::int64_t row) {
  if (row == next_row_) return;
  const Mark& mark = marks_.at(row / kRowsPerMark);
  if (mark.file != file_index_) open_file(mark.file);
  records_.seek(mark.offset, mark.line);
  std::int64_t skipped = 0;
  for (std::int64_t i = 0; i < row % kRowsPerMark; ++i) next_row(skipped);
}

std::string CsvFile::place(std::int64_t row) {
  next_row_ = -1;
  go_to(row);
  std::int64_t skipped = 0;
  TORCH_CHECK_VALUE(next_row(skipped), file_->path(),
                    ": unexpected end of file");
  return file_->path() + ", line " + std::to_string(records_.line());
}

std::vector<at::Tensor> CsvFile::read(std::int64_t begin, std::int64_t end) {
  std::vector<at::Tensor> tensors;
  texts_.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (kinds_[i] == CsvKind::kTexts) {
      tensors.emplace_back();
      texts_[i].assign(
          static_cast<std::size_t>(end - begin),
          std::vector<std::string>(std::max<std::size_t>(1, widths_[i])));
      continue;
    }
    std::vector<std::int64_t> sizes{end - begin};
    if (widths_[i] > 0) sizes.push_back(static_cast<std::int64_t>(widths_[i]));
    tensors.push_back(at::empty(
        sizes, kinds_[i] == CsvKind::kFloats ? at::kDouble : at::kLong));
  }
  if (begin == end) return tensors;
  go_to(begin);
  std::int64_t skipped = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    TORCH_CHECK_VALUE(next_row(skipped), file_->path(),
                      ": unexpected end of file");
    store_row(row - begin, tensors);
  }
  next_row_ = end;
  return tensors;
}

void CsvFile::store_row(std::int64_t row, std::vector<at::Tensor>& into) {
  records_.fields([&](std::size_t column, std::string_view text) {
    if (column >= uses_.size()) return;
    for (const Use& use : uses_[column]) {
      if (kinds_[use.input] == CsvKind::kTexts) {
        texts_[use.input][static_cast<std::size_t>(row)][use.position] = text;
        continue;
      }
      const auto width = std::max<std::size_t>(1, widths_[use.input]);
      const auto place = row * static_cast<std::int64_t>(width) + use.position;
      void* data = into[use.input].data_ptr();
      if (kinds_[use.input] != CsvKind::kFloats) {
        static_cast<std::int64_t*>(data)[place] =
            stored_integer(column, use.input, text);
        continue;
      }
      const auto number = values_.to_number(text);
      if (!number) refuse(column, use.input, "a number", text);
      static_cast<double*>(data)[place] = number.value_or(0);
    }
  });
  if (!refused_.empty()) refuse_all();
}

std::int64_t CsvFile::stored_integer(std::size_t column, std::size_t input,
                                     std::string_view text) {
  if (kinds_[input] == CsvKind::kKeys) {
    const std::vector<std::string> word{std::string(trimmed(text))};
    return SampleIds(word).values().front();
  }
  if (kinds_[input] == CsvKind::kNumbered) {
    const auto& all = numbered_[input];
    return std::distance(all.begin(), all.find(std::string(trimmed(text))));
  }
  const auto integer = values_.to_integer(text);
  if (!integer) refuse(column, input, values_.integer_words(), text);
  return integer.value_or(0);
}

}  // namespace tally::files
