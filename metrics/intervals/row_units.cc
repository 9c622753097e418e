#include "tally/metrics/intervals/row_units.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_set>

#include "tally/metrics/common/tensor_of.h"

namespace tally::internal::intervals {
namespace {

bool are_many(const std::vector<std::int64_t>& ids, const BlockRules& rules) {
  std::unordered_set<std::int64_t> distinct;
  for (const std::int64_t id : ids) {
    distinct.insert(id);
    if (rules.divides(distinct.size())) return true;
  }
  return false;
}

}  // namespace

RowUnits units_of_rows(const std::vector<std::int64_t>& ids,
                       const BlockRules& rules) {
  RowUnits units;
  units.are_blocks = are_many(ids, rules);
  units.codes.reserve(ids.size());
  if (units.are_blocks) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(rules.blocks), 0);
    for (const std::int64_t id : ids) {
      units.codes.push_back(static_cast<std::int32_t>(rules.block_of(id)));
      ++counts[static_cast<std::size_t>(units.codes.back())];
    }
    std::vector<std::int32_t> places(counts.size(), 0);
    for (std::size_t block = 0; block < counts.size(); ++block) {
      if (counts[block] == 0) continue;
      places[block] = static_cast<std::int32_t>(units.ids.size());
      units.ids.push_back(static_cast<std::int64_t>(block));
      units.lengths.push_back(counts[block]);
    }
    for (std::int32_t& code : units.codes) {
      code = places[static_cast<std::size_t>(code)];
    }
  } else {
    units.ids = ids;
    std::sort(units.ids.begin(), units.ids.end());
    units.ids.erase(std::unique(units.ids.begin(), units.ids.end()),
                    units.ids.end());
    units.lengths.assign(units.ids.size(), 0);
    for (const std::int64_t id : ids) {
      const auto place =
          std::lower_bound(units.ids.begin(), units.ids.end(), id) -
          units.ids.begin();
      units.codes.push_back(static_cast<std::int32_t>(place));
      ++units.lengths[static_cast<std::size_t>(place)];
    }
  }
  std::vector<std::int64_t> next(units.ids.size(), 0);
  std::partial_sum(units.lengths.begin(), std::prev(units.lengths.end()),
                   std::next(next.begin()));
  units.order.resize(ids.size());
  for (std::size_t row = 0; row < ids.size(); ++row) {
    auto& place = next[static_cast<std::size_t>(units.codes[row])];
    units.order[static_cast<std::size_t>(place++)] =
        static_cast<std::int64_t>(row);
  }
  return units;
}

bool has_row_of_each(const AnyState& batch, std::int64_t rows) {
  // Others may sort their rows, or count equal ones.
  if (!merges_by_field(batch) || compacts(batch)) return false;
  bool has_rows = false;
  for (const Field& field : batch.fields()) {
    if (field.kind == Field::Kind::kNote) continue;
    if (field.kind == Field::Kind::kRows) {
      if (field.as_rows().size() != rows && field.as_rows().size() != 0) {
        return false;
      }
      has_rows = has_rows || field.as_rows().size() == rows;
    } else if (field.kind != Field::Kind::kInt || field.merge != Merge::kMax) {
      return false;
    }
  }
  return has_rows;
}

AnyState in_order(const AnyState& batch,
                  const std::vector<std::int64_t>& order) {
  AnyState sorted = batch;
  for (const Field& field : sorted.fields()) {
    if (field.kind != Field::Kind::kRows || field.as_rows().size() == 0) {
      continue;
    }
    const at::Tensor rows = field.as_rows().tensor().detach();
    field.as_rows() =
        Rows(rows.index_select(0, tensor_of(order).to(rows.device())));
  }
  return sorted;
}

}  // namespace tally::internal::intervals
