#include "tally/metrics/tables/pair_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "tally/metrics/tables/label_places.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::tables {
namespace {

// So few are sorted as they are.
constexpr std::int64_t kFew = 256;
// More have no place in uint32; they are counted in parts.
constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 31;
// A row that has so many of the columns is read in their order, not sorted.
constexpr std::size_t kDense = 16;
// Labels of few bits have their places in one table, small enough for a cache.
constexpr int kMostBits = 16;
// Whose labels are looked at before any of them is counted.
constexpr std::int64_t kLabelsAtOnce = 1024;
// So many pairs are worth another thread.
constexpr std::int64_t kGrain = 65536;

struct Cell {
  std::int64_t row, column, count;
};

bool is_before(const Cell& a, const Cell& b) {
  return std::tie(a.row, a.column) < std::tie(b.row, b.column);
}

at::Tensor cell_tensor(const std::vector<Cell>& cells) {
  at::Tensor result =
      fresh_tensor({static_cast<std::int64_t>(cells.size()), 3}, at::kLong);
  static_assert(sizeof(Cell) == 3 * sizeof(std::int64_t));
  std::copy(cells.begin(), cells.end(),
            reinterpret_cast<Cell*>(result.mutable_data_ptr<std::int64_t>()));
  return result;
}

void sort_and_add_up(std::vector<Cell>& cells) {
  std::sort(cells.begin(), cells.end(), is_before);
  std::size_t last = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (is_before(cells[last], cells[i])) {
      cells[++last] = cells[i];
    } else {
      cells[last].count += cells[i].count;
    }
  }
  if (!cells.empty()) cells.resize(last + 1);
}

int bits_of(std::uint64_t labels) {
  int bits = 0;
  while (bits < 64 && labels >> bits != 0) ++bits;
  return bits;
}

// Counts of pairs of labels from 0 on, of as many bits as those that came.
class SmallLabels {
 public:
  // So that all bits that are set in one of them have places, or false.
  bool fit(std::uint64_t rows, std::uint64_t columns, std::int64_t samples) {
    const int row_bits = std::max(row_bits_, bits_of(rows));
    const int column_bits = std::max(column_bits_, bits_of(columns));
    if (row_bits == row_bits_ && column_bits == column_bits_) return true;
    const int bits = row_bits + column_bits;
    if (row_bits > kMostBits || column_bits > kMostBits || bits > kMostBits ||
        (std::int64_t{1} << bits) > samples / 2 + kFew) {
      return false;
    }
    std::vector<std::int64_t> old(kCopies << bits);
    old.swap(counts_);
    const int old_columns = column_bits_;
    row_bits_ = row_bits;
    column_bits_ = column_bits;
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::size_t cell = i / kCopies;
      counts_[place(cell >> old_columns,
                    cell & ((std::size_t{1} << old_columns) - 1)) +
              i % kCopies] = old[i];
    }
    return true;
  }

  // Neighbors have counts of their own: one need not wait for the other.
  void add(std::int64_t row, std::int64_t column, std::int64_t sample,
           std::int64_t count) {
    counts_[place(static_cast<std::size_t>(row),
                  static_cast<std::size_t>(column)) +
            static_cast<std::size_t>(sample) % kCopies] += count;
  }

  // All counts of another table; false if there is no place for them.
  bool add(const SmallLabels& other, std::int64_t samples) {
    const auto most = [](int bits) { return (std::uint64_t{1} << bits) - 1; };
    if (!fit(most(other.row_bits_), most(other.column_bits_), samples)) {
      return false;
    }
    for (const Cell& cell : other.cells()) {
      add(cell.row, cell.column, 0, cell.count);
    }
    return true;
  }

  std::vector<Cell> cells() const {
    std::vector<Cell> result;
    for (std::size_t i = 0; i < counts_.size(); i += kCopies) {
      std::int64_t count = 0;
      for (std::size_t k = 0; k < kCopies; ++k) count += counts_[i + k];
      if (count == 0) continue;
      const std::size_t cell = i / kCopies;
      result.push_back({static_cast<std::int64_t>(cell >> column_bits_),
                        static_cast<std::int64_t>(
                            cell & ((std::size_t{1} << column_bits_) - 1)),
                        count});
    }
    return result;
  }

 private:
  static constexpr std::size_t kCopies = 4;

  std::size_t place(std::size_t row, std::size_t column) const {
    return (row << column_bits_ | column) * kCopies;
  }

  int row_bits_ = 0;
  int column_bits_ = 0;
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(kCopies);
};

// Nothing if labels are not small. Sample i counts count_of(i).
template <class CountOf>
std::optional<std::vector<Cell>> tabulate_small(const std::int64_t* rows,
                                                const std::int64_t* columns,
                                                std::int64_t count,
                                                std::int64_t stride,
                                                const CountOf& count_of) {
  const auto add_to = [&](SmallLabels& table, std::int64_t first,
                          std::int64_t last) {
    for (std::int64_t begin = first; begin < last; begin += kLabelsAtOnce) {
      const std::int64_t end = std::min(begin + kLabelsAtOnce, last);
      std::uint64_t in_rows = 0;
      std::uint64_t in_columns = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        in_rows |= static_cast<std::uint64_t>(rows[i * stride]);
        in_columns |= static_cast<std::uint64_t>(columns[i * stride]);
      }
      if (!table.fit(in_rows, in_columns, count)) return false;
      for (std::int64_t i = begin; i < end; ++i) {
        table.add(rows[i * stride], columns[i * stride], i, count_of(i));
      }
    }
    return true;
  };
  SmallLabels all;
  if (count < 2 * kGrain) {
    if (!add_to(all, 0, count)) return std::nullopt;
    return all.cells();
  }
  std::mutex mutex;
  bool fits = true;
  at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    SmallLabels own;
    const bool own_fit = add_to(own, begin, end);
    const std::lock_guard<std::mutex> lock(mutex);
    fits = fits && own_fit && all.add(own, count);
  });
  if (!fits) return std::nullopt;
  return all.cells();
}

// Row by row: the columns of a row lie together, and are counted in an array.
// Sample i counts count_of(i).
template <class CountOf>
std::vector<Cell> tabulate(const LabelPlaces& rows, const LabelPlaces& columns,
                           const CountOf& count_of) {
  const PlaceOrder by_row = order_by_place(rows);
  std::vector<Cell> cells;
  cells.reserve(
      std::min(rows.places.size(), rows.labels.size() * columns.labels.size()));
  std::vector<std::int64_t> counts(columns.labels.size());
  std::vector<std::uint32_t> occurring;
  for (std::size_t row = 0; row < rows.labels.size(); ++row) {
    occurring.clear();
    for (auto i = by_row.begins[row]; i < by_row.begins[row + 1]; ++i) {
      const std::uint32_t sample = by_row.order[i];
      const std::uint32_t column = columns.places[sample];
      if (counts[column] == 0) occurring.push_back(column);
      counts[column] += count_of(sample);
    }
    const auto add = [&](std::uint32_t column) {
      cells.push_back(
          {rows.labels[row], columns.labels[column], counts[column]});
      counts[column] = 0;
    };
    if (occurring.size() * kDense >= counts.size()) {
      for (std::uint32_t column = 0; column < counts.size(); ++column) {
        if (counts[column] != 0) add(column);
      }
    } else {
      std::sort(occurring.begin(), occurring.end());
      for (const std::uint32_t column : occurring) add(column);
    }
  }
  return cells;
}

void check_cells(const at::Tensor& cells) {
  TORCH_CHECK_VALUE(cells.scalar_type() == at::kLong && cells.dim() == 2 &&
                        cells.size(1) == 3,
                    "expected cells of int64 [K, 3] in the state, got ",
                    cells.scalar_type(), " ", cells.sizes());
  const auto* cell = cells.const_data_ptr<std::int64_t>();
  std::int64_t total = 0;
  bool fits = true;
  for (std::int64_t i = 0; i < cells.size(0); ++i, cell += 3) {
    fits =
        fits && cell[2] > 0 && !__builtin_add_overflow(total, cell[2], &total);
  }
  TORCH_CHECK_VALUE(fits,
                    "expected counts of at least 1 in the state, that add up "
                    "to less than 2^63, got others");
}

bool are_in_order(const Cell* cells, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (!is_before(cells[i - 1], cells[i])) return false;
  }
  return true;
}

}  // namespace

at::Tensor count_pairs(const at::Tensor& rows, const at::Tensor& columns) {
  const std::int64_t count = rows.numel();
  if (count > kMostAtOnce) {
    const std::int64_t half = count / 2;
    return added_up(at::cat(
        {count_pairs(rows.narrow(0, 0, half), columns.narrow(0, 0, half)),
         count_pairs(rows.narrow(0, half, count - half),
                     columns.narrow(0, half, count - half))}));
  }
  const auto* const row = rows.const_data_ptr<std::int64_t>();
  const auto* const column = columns.const_data_ptr<std::int64_t>();
  if (const auto small = tabulate_small(row, column, count, /*stride=*/1,
                                        [](std::int64_t) { return 1; })) {
    return cell_tensor(*small);
  }
  if (count <= kFew) {
    std::vector<Cell> cells;
    cells.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      cells.push_back({row[i], column[i], 1});
    }
    sort_and_add_up(cells);
    return cell_tensor(cells);
  }
  return cell_tensor(tabulate(label_places(rows), label_places(columns),
                              [](std::uint32_t) { return 1; }));
}

at::Tensor added_up(const at::Tensor& cells) {
  const at::Tensor plain = cells.cpu().contiguous();
  check_cells(plain);
  const auto* const values = plain.const_data_ptr<std::int64_t>();
  const auto* const begin = reinterpret_cast<const Cell*>(values);
  const std::int64_t count = plain.size(0);
  if (are_in_order(begin, count)) return plain;
  const auto count_of = [=](std::int64_t i) { return begin[i].count; };
  if (const auto small =
          tabulate_small(values, values + 1, count, /*stride=*/3, count_of)) {
    return cell_tensor(*small);
  }
  if (count <= kFew || count > kMostAtOnce) {
    std::vector<Cell> sorted(begin, begin + count);
    sort_and_add_up(sorted);
    return cell_tensor(sorted);
  }
  return cell_tensor(tabulate(label_places(values, count, 3),
                              label_places(values + 1, count, 3), count_of));
}

bool are_many(std::int64_t cells, std::int64_t distinct) {
  return cells >= kFew && cells / 2 >= distinct;
}

}  // namespace tally::internal::tables

namespace tally {

void PairCounts::compact() {
  if (!internal::tables::are_many(cells.size(), distinct)) return;
  const at::Tensor before = cells.tensor();
  const at::Tensor sum = internal::tables::added_up(before);
  distinct = sum.size(0);
  if (distinct < before.size(0)) cells = Rows(sum.to(before.device()));
}

}  // namespace tally
