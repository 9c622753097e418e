#include "tally/metrics/results_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <sstream>

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

class Table {
 public:
  Table(const Results& results, const std::vector<std::string>& labels)
      : results_(results), labels_(labels) {}

  std::string text() {
    std::string text = lines();
    std::vector<std::int64_t> lengths;
    for (const auto& [name, value] : results_) {
      if (!is_column(value)) continue;
      const std::int64_t length = value.numel();
      if (std::find(lengths.begin(), lengths.end(), length) == lengths.end()) {
        lengths.push_back(length);
        add_block(vectors(length), text);
      }
    }
    for (const auto& [name, value] : results_) {
      if (is_small_matrix(value)) add_block(matrix(name, value), text);
    }
    return text;
  }

 private:
  /// Whether it is shown beside others of its length.
  bool is_column(const at::Tensor& value) const {
    return is_vector(value) && value.numel() > 0 &&
           (value.numel() == static_cast<std::int64_t>(labels_.size()) ||
            (value.numel() > kMostInline && value.numel() <= kMostRows));
  }

  std::string label(std::int64_t i, std::int64_t size) const {
    return size == static_cast<std::int64_t>(labels_.size())
               ? labels_[static_cast<std::size_t>(i)]
               : std::to_string(i);
  }

  /// What stands on a line of its own.
  std::string line(const at::Tensor& value) const {
    if (!value.defined()) return "undefined";
    if (value.dim() == 0) return number_text(value.item());
    std::ostringstream out;
    if (is_vector(value) && value.numel() <= kMostInline) {
      out << '[';
      const Row numbers = number_texts(value);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        out << (i == 0 ? "" : ", ") << numbers[i];
      }
      out << ']';
    } else {
      out << value.scalar_type() << ' ' << value.sizes();
    }
    return out.str();
  }

  std::string lines() const {
    std::size_t width = 0;
    for (const auto& [name, value] : results_) {
      if (!is_column(value) && !is_small_matrix(value)) {
        width = std::max(width, width_of(name));
      }
    }
    std::string text;
    for (const auto& [name, value] : results_) {
      if (is_column(value) || is_small_matrix(value)) continue;
      text += name + std::string(width - width_of(name) + 2, ' ') +
              line(value) + '\n';
    }
    return text;
  }

  std::string vectors(std::int64_t length) const {
    std::vector<Row> rows(static_cast<std::size_t>(length) + 1);
    rows[0].emplace_back();
    for (std::int64_t i = 0; i < length; ++i) {
      rows[static_cast<std::size_t>(i) + 1].push_back(label(i, length));
    }
    for (const auto& [name, value] : results_) {
      if (!is_column(value) || value.numel() != length) continue;
      rows[0].push_back(name);
      const Row numbers = number_texts(value);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        rows[i + 1].push_back(numbers[i]);
      }
    }
    return aligned(rows);
  }

  std::string matrix(const std::string& name, const at::Tensor& value) const {
    std::vector<Row> rows{{name}};
    for (std::int64_t j = 0; j < value.size(1); ++j) {
      rows[0].push_back(label(j, value.size(1)));
    }
    for (std::int64_t i = 0; i < value.size(0); ++i) {
      rows.push_back({label(i, value.size(0))});
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
  const std::vector<std::string>& labels_;
};

}  // namespace

std::string to_table(const Results& results,
                     const std::vector<std::string>& labels) {
  return Table(results, labels).text();
}

}  // namespace tally
