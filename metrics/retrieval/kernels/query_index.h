#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::retrieval {

/// Which rows are of which query, for any indexes in any order.
class QueryIndex {
 public:
  QueryIndex(const std::int64_t* indexes, std::int64_t rows);

  std::int64_t queries() const {
    return static_cast<std::int64_t>(ids_.size());
  }
  /// The queries' indexes, ascending.
  const std::vector<std::int64_t>& ids() const { return ids_; }
  /// Where the rows of query q begin if all are brought in the order of the
  /// queries, and in their own within each; begins()[queries()] is their
  /// number.
  const std::vector<std::int64_t>& begins() const { return begins_; }

  /// move(row, place) for each row, once.
  template <class Move>
  void for_each_place(const Move& move) const {
    const std::int64_t rows = begins_.back();
    if (!slots_.empty()) {
      std::vector<std::uint32_t> next = slots_;
      for (std::int64_t row = 0; row < rows; ++row) {
        move(row, std::int64_t{next[slot(row)]++});
      }
    } else if (!order_.empty()) {
      for (std::int64_t place = 0; place < rows; ++place) {
        move(order_[place], place);
      }
    } else {
      for (std::int64_t row = 0; row < rows; ++row) move(row, row);
    }
  }

 private:
  std::size_t slot(std::int64_t row) const {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(indexes_[row]) -
                                    least_);
  }
  void take_runs(const std::int64_t* indexes, const std::int64_t* order,
                 std::int64_t rows);
  void count_slots(std::int64_t rows, std::uint64_t range);
  void sort_rows(std::int64_t rows, std::uint64_t range);

  const std::int64_t* indexes_;
  std::uint64_t least_ = 0;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> begins_;
  // Of rows in no order: by index where those lie close, where the query
  // begins (32 bits, so that more of them lie in the cache); else the rows in
  // order.
  std::vector<std::uint32_t> slots_;
  std::vector<std::int64_t> order_;
};

}  // namespace tally::internal::retrieval
