#include "tally/metrics/slices/slice_units.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/resampling/philox.h"

namespace tally::internal::slices {
namespace {

using Ids = std::vector<std::int64_t>;

enum Column : std::size_t { kState, kUnits };

void sort_distinct(Ids& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

void append_ids(const Rows& rows, Ids& ids) {
  if (rows.size() == 0) return;
  const at::Tensor all = rows.tensor();
  const auto* const begin = all.const_data_ptr<std::int64_t>();
  ids.insert(ids.end(), begin, begin + all.numel());
}

void check_once(const std::vector<SlicePart>& parts, const char* owner) {
  Ids all;
  for (const SlicePart& part : parts) {
    all.insert(all.end(), part.units.begin(), part.units.end());
  }
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  TORCH_CHECK_VALUE(twice == all.end(), owner, ": expected each id once, got ",
                    *twice, " again; rows that belong together need grouped");
}

void check_whole(const std::vector<SlicePart>& parts, const char* owner,
                 const char* unit) {
  std::vector<std::pair<std::int64_t, std::size_t>> all;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    for (const std::int64_t id : parts[k].units) all.emplace_back(id, k);
  }
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(
      all.begin(), all.end(),
      [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == all.end()) return;
  TORCH_CHECK_VALUE(false, owner, ": expected each ", unit,
                    " in one slice, got ", unit, " ", twice->first, " in '",
                    slice_words(parts[twice->second].key), "' and '",
                    slice_words(parts[std::next(twice)->second].key), "'");
}

}  // namespace

SliceKeys block_keys(const SampleIds& ids) {
  const at::Tensor blocks = at::empty({ids.size()}, at::kLong);
  auto* block = blocks.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t id : ids.values()) {
    *block++ =
        intervals::block_of(/*seed=*/0, id, static_cast<std::int64_t>(kBlocks));
  }
  return SliceKeys(blocks);
}

void add_units(const SliceKeys& keys, const SampleIds& ids,
               const IdsOfBatch& known, std::vector<RowBatch>& batch) {
  std::vector<Ids> own(batch.size());
  std::vector<std::int64_t> rows(batch.size(), 0), counted(batch.size(), 0);
  for (std::size_t i = 0; i < keys.codes().size(); ++i) {
    const auto code = static_cast<std::size_t>(keys.codes()[i]);
    ++rows[code];
    if (!known.counting.empty() && !known.counting[i]) continue;
    ++counted[code];
    own[code].push_back(ids.values()[i]);
  }
  for (std::size_t code = 0; code < batch.size(); ++code) {
    if (!known.are_distinct) sort_distinct(own[code]);
    SliceUnits units;
    if (!own[code].empty()) units.ids = Rows(tensor_of(own[code]));
    units.counted = counted[code];
    units.dependent = known.are_dependent ? rows[code] : 0;
    batch[code].states.push_back(AnyState::of(std::move(units)));
    batch[code].counts.push_back(rows[code]);
  }
}

std::vector<SlicePart> parts_of(const StateRows& rows, UnitKind kind,
                                const char* owner, const char* unit) {
  std::vector<SlicePart> parts;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<SliceValue> key = slice_key_of(rows.key(r));
    const auto block =
        static_cast<std::size_t>(std::get<std::int64_t>(key.back()));
    key.pop_back();
    // Keys are in their order, and their last column is the block.
    if (parts.empty() || parts.back().key != key) {
      parts.emplace_back();
      parts.back().key = std::move(key);
      parts.back().blocks.resize(kBlocks);
    }
    SlicePart& part = parts.back();
    part.rows += rows.count(r);
    part.blocks[block] = rows.state(r, kState);
    const auto& units = rows.state(r, kUnits).get<SliceUnits>();
    append_ids(units.ids, part.units);
    part.block_counted[block] = units.counted;
    part.counted += units.counted;
    part.dependent += units.dependent;
  }
  if (kind == UnitKind::kRows) check_once(parts, owner);
  for (SlicePart& part : parts) sort_distinct(part.units);
  if (kind == UnitKind::kWhole) check_whole(parts, owner, unit);
  return parts;
}

std::int64_t count_units(const std::vector<SlicePart>& parts) {
  Ids all;
  for (const SlicePart& part : parts) {
    all.insert(all.end(), part.units.begin(), part.units.end());
  }
  sort_distinct(all);
  return static_cast<std::int64_t>(all.size());
}

}  // namespace tally::internal::slices
