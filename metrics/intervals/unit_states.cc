#include "tally/metrics/intervals/unit_states.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/resampling/philox.h"

namespace tally::internal::intervals {
bool keeps_rows(const AnyState& state) {
  if (!merges_by_field(state) || compacts(state)) return false;
  for (const Field& field : state.fields()) {
    const bool is_size =
        field.kind == Field::Kind::kInt && field.merge == Merge::kMax;
    if (!is_size && field.kind != Field::Kind::kRows &&
        field.kind != Field::Kind::kNote) {
      return false;
    }
  }
  return true;
}

std::int64_t BlockRules::block_of(std::int64_t id) const {
  return intervals::block_of(seed, id, blocks);
}

UnitStates::UnitStates(std::shared_ptr<const AnyState> identity,
                       BlockRules rules)
    : identity_(std::move(identity)), rules_(rules) {
  std::vector<std::string> names;
  for (const Field& field : identity_->fields()) {
    if (!is_data(field)) {
      notes_.emplace_back(field.as_note().kind());
      continue;
    }
    columns_.emplace_back();
    names.push_back(std::string("units.") + field.name);
    names.push_back(std::string("units.") + field.name + ".lengths");
  }
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

void UnitStates::append_heads(const std::vector<std::int64_t>& ids,
                              const std::vector<double>& sizes,
                              const std::vector<double>& rows,
                              bool are_blocks) {
  append_part(ids_, tensor_of(ids));
  append_part(are_blocks_, at::full({static_cast<std::int64_t>(ids.size())},
                                    are_blocks ? 1 : 0, at::kByte));
  append_part(sizes_, tensor_of(sizes));
  append_part(rows_, tensor_of(rows));
}

void UnitStates::add(const std::vector<UnitState>& parts, bool are_blocks) {
  if (parts.empty()) return;
  std::vector<std::int64_t> ids;
  std::vector<double> sizes;
  std::vector<double> rows;
  std::vector<ColumnWriter> writers(columns_.size());
  for (const UnitState& part : parts) {
    ids.push_back(part.id);
    sizes.push_back(part.size);
    rows.push_back(part.rows);
    std::size_t column = 0;
    for (const Field& field : part.state.fields()) {
      if (is_data(field)) writers[column++].add(field);
    }
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    writers[c].append_to(columns_[c]);
  }
  append_heads(ids, sizes, rows, are_blocks);
}

void UnitStates::add_rows(const AnyState& state,
                          const std::vector<std::int64_t>& ids,
                          const std::vector<std::int64_t>& lengths,
                          bool are_blocks) {
  const std::vector<double> sizes(lengths.begin(), lengths.end());
  std::size_t c = 0;
  for (const Field& field : state.fields()) {
    if (!is_data(field)) continue;
    UnitColumn& column = columns_[c++];
    if (field.kind != Field::Kind::kRows) {
      // The size of something, which all parts share.
      ColumnWriter own;
      for (std::size_t i = 0; i < ids.size(); ++i) own.add(field);
      own.append_to(column);
    } else if (field.as_rows().size() == 0) {
      append_part(column.lengths,
                  tensor_of(std::vector<std::int64_t>(ids.size(), 0)));
    } else {
      append_part(column.values, field.as_rows().tensor().detach());
      append_part(column.lengths, tensor_of(lengths));
    }
  }
  append_heads(ids, sizes, sizes, are_blocks);
}

void UnitStates::add_notes(const AnyState& state) {
  std::size_t n = 0;
  for (const Field& field : state.fields()) {
    if (!is_data(field)) notes_[n++].append(field.as_note());
  }
}

void UnitStates::check() const {
  for (const Rows* head : {&ids_, &are_blocks_, &sizes_, &rows_}) {
    check_part_numbers(*head, ids_.size());
  }
  std::size_t c = 0;
  for (const Field& field : identity_->fields()) {
    if (is_data(field)) columns_[c++].check(field.kind, ids_.size());
  }
}

UnitStateList UnitStates::units() const {
  UnitStateList list;
  if (ids_.size() == 0) return list;
  check();
  const at::Tensor ids = on_cpu(ids_);
  const at::Tensor kinds = on_cpu(are_blocks_);
  const at::Tensor sizes = on_cpu(sizes_);
  const at::Tensor rows = on_cpu(rows_);
  const auto count = static_cast<std::size_t>(ids.numel());
  const auto* const id = integers(ids);
  const auto* const is_block = kinds.const_data_ptr<std::uint8_t>();
  std::set<std::int64_t> distinct;
  for (std::size_t i = 0; i < count && !list.are_blocks; ++i) {
    distinct.insert(id[i]);
    list.are_blocks = is_block[i] != 0 || rules_.divides(distinct.size());
  }
  std::vector<std::int64_t> owners(id, id + count);
  if (list.are_blocks) {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_block[i] == 0) owners[i] = rules_.block_of(id[i]);
    }
  }
  if (keeps_rows(*identity_)) {
    gather_rows(owners, list.units);
    return list;
  }
  std::vector<ColumnReader> readers;
  for (const UnitColumn& column : columns_) {
    readers.emplace_back(column);
  }
  std::map<std::int64_t, UnitState> units;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t own = owners[i];
    AnyState state = *identity_;
    std::size_t column = 0;
    for (const Field& field : state.fields()) {
      if (is_data(field)) readers[column++].read(field);
    }
    auto [place, is_new] = units.try_emplace(own);
    UnitState& unit = place->second;
    unit.size += sizes.const_data_ptr<double>()[i];
    unit.rows += rows.const_data_ptr<double>()[i];
    if (is_new) {
      unit.id = own;
      unit.state = std::move(state);
    } else {
      merge(unit.state, std::move(state), "units");
    }
  }
  for (auto& [own, unit] : units) list.units.push_back(std::move(unit));
  return list;
}

void UnitStates::gather_rows(const std::vector<std::int64_t>& owners,
                             std::vector<UnitState>& units) const {
  // Parts by unit, in their order.
  std::vector<std::size_t> parts(owners.size());
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  std::stable_sort(
      parts.begin(), parts.end(),
      [&](std::size_t a, std::size_t b) { return owners[a] < owners[b]; });
  const at::Tensor sizes = on_cpu(sizes_);
  const at::Tensor rows = on_cpu(rows_);
  std::vector<std::size_t> ends;  // of units, among parts
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t part = parts[i];
    if (units.empty() || units.back().id != owners[part]) {
      units.emplace_back();
      units.back().id = owners[part];
      units.back().state = *identity_;
      ends.push_back(i);
    }
    units.back().size += sizes.const_data_ptr<double>()[part];
    units.back().rows += rows.const_data_ptr<double>()[part];
    ends.back() = i + 1;
  }
  std::size_t c = 0;
  for (const Field& field : identity_->fields()) {
    if (!is_data(field)) continue;
    const UnitColumn& column = columns_[c];
    const at::Tensor numbers = field.kind == Field::Kind::kRows
                                   ? on_cpu(column.lengths)
                                   : on_cpu(column.values);
    const auto* const number = integers(numbers);
    std::vector<std::int64_t> begins(owners.size(), 0);
    if (field.kind == Field::Kind::kRows) {
      std::partial_sum(number, number + owners.size() - 1, begins.begin() + 1);
    }
    std::vector<std::int64_t> order;
    std::vector<std::int64_t> counts(units.size(), 0);
    std::size_t i = 0;
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (; i < ends[u]; ++i) {
        const std::size_t part = parts[i];
        if (field.kind == Field::Kind::kRows) {
          for (std::int64_t row = 0; row < number[part]; ++row) {
            order.push_back(begins[part] + row);
          }
          counts[u] += number[part];
        } else {
          counts[u] = std::max(counts[u], number[part]);
        }
      }
    }
    at::Tensor sorted;
    if (!order.empty()) {
      const at::Tensor all = column.values.tensor();
      sorted = all.index_select(0, tensor_of(order).to(all.device()));
    }
    std::int64_t begin = 0;
    for (std::size_t u = 0; u < units.size(); ++u) {
      std::size_t d = 0;
      for (const Field& into : units[u].state.fields()) {
        if (!is_data(into) || d++ != c) continue;
        if (into.kind == Field::Kind::kInt) {
          into.as_int() = counts[u];
        } else if (counts[u] > 0) {
          into.as_rows() = Rows(sorted.narrow(0, begin, counts[u]));
        }
      }
      if (field.kind == Field::Kind::kRows) begin += counts[u];
    }
    ++c;
  }
}

void UnitStates::fields(Fields& f) {
  f("units", ids_)("are_blocks", are_blocks_);
  f("sizes", sizes_)("rows", rows_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    f((*names_)[2 * c].c_str(), columns_[c].values);
    f((*names_)[2 * c + 1].c_str(), columns_[c].lengths);
  }
  for (Note& note : notes_) f(note);
}

std::int64_t UnitStates::stored() const {
  std::int64_t stored = ids_.size();
  for (const UnitColumn& column : columns_) {
    stored = std::max(stored, column.values.size());
  }
  return stored;
}

void UnitStates::compact() {
  // Copying all takes time for each of them: only when they have doubled.
  constexpr std::int64_t kFewParts = 1024;
  if (ids_.size() < kFewParts || stored() < 2 * least_stored_) return;
  const UnitStateList list = units();
  UnitStates whole(identity_, rules_);
  whole.add(list.units, list.are_blocks);
  whole.notes_ = notes_;
  whole.least_stored_ = whole.stored();
  *this = std::move(whole);
}

}  // namespace tally::internal::intervals
