#include "tally/metrics/results_table.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <map>
#include <sstream>
#include <utility>

namespace tally {
namespace {

constexpr std::int64_t kMostInline = 10;
constexpr std::int64_t kMostRows = 100;
constexpr std::int64_t kMostColumns = 20;

using Row = std::vector<std::string>;

std::string number_text(const at::Scalar& value) {
  std::ostringstream out;
  if (value.isFloatingPoint()) {
    // Streams would show the sign bit of a NaN.
    const double plain = value.toDouble();
    if (std::isnan(plain)) return "nan";
    out << std::setprecision(6) << plain;
  } else if (value.isBoolean()) {
    out << (value.toBool() ? "true" : "false");
  } else if (value.isComplex()) {
    out << value.toComplexDouble();
  } else {
    out << value.toLong();
  }
  return out.str();
}

Row number_texts(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.reshape({-1});
  Row texts;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    texts.push_back(number_text(flat[i].item()));
  }
  return texts;
}

bool is_vector(const at::Tensor& value) {
  return value.defined() && value.dim() == 1;
}

bool is_small_matrix(const at::Tensor& value) {
  return value.defined() && value.dim() == 2 && value.numel() > 0 &&
         value.size(0) <= kMostColumns && value.size(1) <= kMostColumns;
}

/// As many characters as a terminal shows of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(),
                    [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

/// The first column aligned to the left, the others to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - width_of(row[i]), ' ');
      text += i == 0 ? row[i] + blanks : "  " + blanks + row[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

/// Numbers or names of the elements on the left, a vector in each column.
std::string columns_text(
    const Row& names,
    const std::vector<std::pair<std::string, at::Tensor>>& columns) {
  std::vector<Row> rows(names.size() + 1);
  rows[0].emplace_back();
  for (std::size_t i = 0; i < names.size(); ++i) rows[i + 1] = {names[i]};
  for (const auto& [name, value] : columns) {
    rows[0].push_back(name);
    const Row numbers = number_texts(value);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      rows[i + 1].push_back(numbers[i]);
    }
  }
  return aligned(rows);
}

/// The result `classes` of the metric of which this is a part.
const at::Tensor* classes_beside(const Results& results, std::string name) {
  for (;;) {
    const std::size_t dot = name.rfind('.');
    const std::string prefix = dot == name.npos ? "" : name.substr(0, dot + 1);
    if (results.contains(prefix + "classes")) {
      return &results.at(prefix + "classes");
    }
    if (dot == name.npos) return nullptr;
    name.resize(dot);
  }
}

/// The numbers of the classes along the dimension; none if it has others.
std::vector<std::int64_t> classes_along(const Results& results,
                                        const std::string& name,
                                        Dimension dimension,
                                        std::int64_t size) {
  std::vector<std::int64_t> classes;
  if (dimension == Dimension::kListedClass) {
    const at::Tensor* listed = classes_beside(results, name);
    if (listed == nullptr || listed->dim() != 1 || listed->numel() != size ||
        !c10::isIntegralType(listed->scalar_type(), /*includeBool=*/false)) {
      return {};
    }
    for (std::int64_t i = 0; i < size; ++i) {
      classes.push_back((*listed)[i].item<std::int64_t>());
    }
  } else if (dimension == Dimension::kClass ||
             dimension == Dimension::kForeground) {
    const std::int64_t first = dimension == Dimension::kForeground;
    for (std::int64_t i = 0; i < size; ++i) classes.push_back(first + i);
  }
  return classes;
}

Row words_along(Dimension dimension, std::int64_t size) {
  Row words;
  if (dimension == Dimension::kOutcome) words = {"negative", "positive"};
  if (dimension == Dimension::kCount)
    words = {"tp", "fp", "tn", "fn", "support"};
  if (static_cast<std::int64_t>(words.size()) < size) return {};
  words.resize(static_cast<std::size_t>(size));
  return words;
}

class Table {
 public:
  Table(const Results& results, const std::vector<std::string>& labels)
      : results_(results) {
    for (const auto& [name, value] : results_) {
      if (!is_vector(value) || value.numel() == 0) continue;
      auto elements = internal::elements_of(results_, name, 0, labels);
      const bool is_long =
          value.numel() > kMostInline && value.numel() <= kMostRows;
      if (elements.are_named || is_long) {
        columns_.emplace(name, std::move(elements.names));
      }
    }
    for (const auto& [name, value] : results_) {
      if (!is_small_matrix(value)) continue;
      matrices_[name] = {
          internal::elements_of(results_, name, 0, labels).names,
          internal::elements_of(results_, name, 1, labels).names};
    }
  }

  std::string text() {
    std::string text = lines();
    for (auto first = results_.begin(); first != results_.end(); ++first) {
      const auto found = columns_.find(first->first);
      if (found == columns_.end()) continue;
      const Row names = found->second;
      const Dimension dimension = results_.dimensions(first->first).front();
      std::vector<std::pair<std::string, at::Tensor>> alike;
      for (auto other = first; other != results_.end(); ++other) {
        const auto own = columns_.find(other->first);
        if (own == columns_.end() || own->second != names ||
            results_.dimensions(other->first).front() != dimension) {
          continue;
        }
        alike.push_back(*other);
        columns_.erase(own);
      }
      add_block(columns_text(names, alike), text);
    }
    for (const auto& [name, value] : results_) {
      if (matrices_.count(name) != 0) add_block(matrix(name, value), text);
    }
    return text;
  }

 private:
  bool is_on_a_line(const std::string& name) const {
    return columns_.count(name) == 0 && matrices_.count(name) == 0;
  }

  /// What stands on a line of its own.
  std::string line(const at::Tensor& value) const {
    if (!value.defined()) return "undefined";
    if (value.dim() == 0) return number_text(value.item());
    std::ostringstream out;
    if (is_vector(value) && value.numel() <= kMostInline) {
      out << '[' << c10::Join(", ", number_texts(value)) << ']';
    } else {
      out << value.scalar_type() << ' ' << value.sizes();
    }
    return out.str();
  }

  std::string lines() const {
    std::size_t width = 0;
    for (const auto& [name, value] : results_) {
      if (is_on_a_line(name)) width = std::max(width, width_of(name));
    }
    std::string text;
    for (const auto& [name, value] : results_) {
      if (!is_on_a_line(name)) continue;
      text += name + std::string(width - width_of(name) + 2, ' ') +
              line(value) + '\n';
    }
    return text;
  }

  std::string matrix(const std::string& name, const at::Tensor& value) const {
    const auto& [down, across] = matrices_.at(name);
    std::vector<Row> rows{{name}};
    rows[0].insert(rows[0].end(), across.begin(), across.end());
    for (std::int64_t i = 0; i < value.size(0); ++i) {
      rows.push_back({down[static_cast<std::size_t>(i)]});
      for (std::string& number : number_texts(value[i])) {
        rows.back().push_back(std::move(number));
      }
    }
    return aligned(rows);
  }

  static void add_block(const std::string& block, std::string& text) {
    if (!text.empty()) text += '\n';
    text += block;
  }

  const Results& results_;
  std::map<std::string, Row> columns_;
  std::map<std::string, std::pair<Row, Row>> matrices_;
};

}  // namespace

std::string to_table(const Results& results,
                     const std::vector<std::string>& labels) {
  return Table(results, labels).text();
}

internal::Elements internal::elements_of(
    const Results& results, const std::string& name, std::int64_t dimension,
    const std::vector<std::string>& labels) {
  const std::int64_t size = results.at(name).size(dimension);
  const Dimension kind =
      results.dimensions(name)[static_cast<std::size_t>(dimension)];
  const auto count = static_cast<std::int64_t>(labels.size());
  Elements elements;
  elements.names = words_along(kind, size);
  if (!elements.names.empty()) return elements;
  const auto classes = classes_along(results, name, kind, size);
  // A model's classes have a name each, and of those that are listed, each that
  // is known.
  const bool have_names =
      count > 0 && !classes.empty() &&
      (kind == Dimension::kListedClass || classes.back() == count - 1);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t number =
        classes.empty() ? i : classes[static_cast<std::size_t>(i)];
    const bool is_named = have_names && number >= 0 && number < count;
    elements.names.push_back(is_named ? labels[static_cast<std::size_t>(number)]
                                      : std::to_string(number));
  }
  elements.are_named = have_names;
  return elements;
}

std::string internal::table_of_columns(const Results& columns,
                                       const std::vector<std::string>& names) {
  return columns_text(names, {columns.begin(), columns.end()});
}

}  // namespace tally
