#include "tally/metrics/core/state_rows.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <numeric>

#include "tally/metrics/core/accumulation.h"

namespace tally::internal {

std::string number_key(std::int64_t number) {
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) {
    key += static_cast<char>(number >> shift);
  }
  return key;
}

std::int64_t number_of_key(const std::string& key) {
  std::int64_t number = 0;
  for (const char byte : key) {
    number = number << 8 | static_cast<std::uint8_t>(byte);
  }
  return number;
}

RowIndex::RowIndex(const RowIndex& other) : rules_(other.rules_) {
  *this = other;
}

RowIndex& RowIndex::operator=(const RowIndex& other) {
  std::map<std::string, std::size_t> places = other.places_;
  std::vector<const std::string*> keys(places.size());
  for (const auto& [key, place] : places) keys[place] = &key;
  places_ = std::move(places);
  keys_ = std::move(keys);
  return *this;
}

std::optional<std::size_t> RowIndex::find(const std::string& key) const {
  const auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> RowIndex::keys() const {
  std::vector<std::string> keys;
  keys.reserve(places_.size());
  for (const auto& [key, place] : places_) keys.push_back(key);
  return keys;
}

void RowIndex::append(const std::vector<std::string>& keys) {
  std::map<std::string, std::size_t> fresh;
  for (const std::string& key : keys) {
    if (!find(key)) fresh.emplace(key, keys_.size() + fresh.size());
  }
  reserve_more(keys_, fresh.size());
  keys_.resize(keys_.size() + fresh.size());
  for (const auto& [key, place] : fresh) keys_[place] = &key;
  // Moves the nodes: the addresses of keys stay.
  places_.merge(fresh);
}

void RowIndex::truncate(std::size_t count) {
  while (keys_.size() > count) {
    places_.erase(*keys_.back());
    keys_.pop_back();
  }
}

void StoredRows::add_row(std::string key, std::size_t columns) {
  keys.push_back(std::move(key));
  values.emplace_back();
  cells.resize(cells.size() + columns);
}

void StoredRows::sort() {
  if (keys.empty()) return;
  const std::size_t columns = cells.size() / keys.size();
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [this](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  StoredRows sorted;
  for (const std::size_t r : order) {
    sorted.keys.push_back(std::move(keys[r]));
    sorted.values.push_back(std::move(values[r]));
    for (std::size_t c = 0; c < columns; ++c) {
      sorted.cells.push_back(std::move(cells[r * columns + c]));
    }
  }
  sorted.update_count = update_count;
  sorted.sources = std::move(sources);
  sorted.device = device;
  *this = std::move(sorted);
}

namespace {

void merge_cell(const StateColumn& column, StoredCell more, StoredCell& into) {
  if (!into.state.defined()) {
    into.state = std::move(more.state);
  } else if (more.state.defined()) {
    merge(into.state, std::move(more.state), column.label.c_str());
  }
  const std::int64_t next =
      std::max(into.count + into.index_offset, more.count + more.index_offset);
  into.count += more.count;
  into.index_offset = next - into.count;
}

}  // namespace

void merge_rows(const std::vector<StateColumn>& columns, const RowKeys* rules,
                StoredRows more, StoredRows& into) {
  const std::size_t width = columns.size();
  std::map<std::string, std::size_t> places;
  for (std::size_t r = 0; r < into.keys.size(); ++r) places[into.keys[r]] = r;
  for (std::size_t r = 0; r < more.keys.size(); ++r) {
    const auto [place, is_new] = places.emplace(more.keys[r], into.keys.size());
    std::string& value = more.values[r];
    if (is_new) {
      into.add_row(more.keys[r], width);
      into.values.back() = std::move(value);
    } else {
      TORCH_CHECK_VALUE(into.values[place->second] == value,
                        "expected the same values of finished rows");
    }
  }
  for (std::size_t i = 0; i < more.cells.size(); ++i) {
    const std::size_t row =
        more.keys.empty() ? 0 : places.at(more.keys[i / width]);
    merge_cell(columns[i % width], std::move(more.cells[i]),
               into.cells[row * width + i % width]);
  }
  into.update_count += more.update_count;
  into.sources = into.sources.merged(more.sources);
  if (!into.device) into.device = more.device;
  into.sort();
  if (rules != nullptr) rules->check(into.keys, /*others=*/0);
}

StateRows::StateRows(const Accumulation& from,
                     const std::vector<std::string>& keys)
    : from_(&from), columns_(from.columns().size()) {
  if (keys.empty()) {
    if (!from.index()) places_.push_back(0);
    return;
  }
  places_.reserve(keys.size());
  for (const std::string& key : keys) {
    places_.push_back(from.index()->find(key).value());
  }
}

std::size_t StateRows::size() const {
  if (from_ != nullptr) return places_.size();
  return columns_ == 0 ? 0 : stored_.cells.size() / columns_;
}

const std::string& StateRows::key(std::size_t row) const {
  return from_ != nullptr ? from_->index()->key(places_[row])
                          : stored_.keys[row];
}

std::int64_t StateRows::count(std::size_t row, std::size_t column) const {
  if (from_ == nullptr) return stored_.cells[row * columns_ + column].count;
  const StateCell& cell = from_->cell(places_[row], column);
  return from_->is_synced() ? cell.synced_count : cell.count;
}

std::optional<c10::Device> StateRows::device() const {
  return from_ != nullptr ? from_->device() : stored_.device;
}

AnyState& StateRows::kept(std::size_t row, std::size_t column) {
  kept_.resize(size() * columns_);
  AnyState& kept = kept_[row * columns_ + column];
  if (!kept.defined()) kept = state(row, column);
  return kept;
}

const AnyState& StateRows::live(std::size_t row, std::size_t column) const {
  const AnyState& state = from_->current(places_[row], column);
  return state.defined() ? state : from_->columns()[column].identity;
}

namespace {

at::Tensor as_tensor(const Field& field) {
  switch (field.kind) {
    case Field::Kind::kInt:
      return at::scalar_tensor(field.as_int(), at::kLong);
    case Field::Kind::kNumber:
      return field.as_number().tensor().clone();
    case Field::Kind::kTensor:
      return field.as_tensor().defined() ? field.as_tensor().clone()
                                         : at::Tensor();
    case Field::Kind::kRows: {
      const at::Tensor rows = field.as_rows().tensor();
      return rows.defined() ? rows.clone() : rows;
    }
    case Field::Kind::kNote:
      return at::scalar_tensor(field.as_note().count(), at::kLong);
  }
  return {};
}

bool are_undefined(const std::vector<at::Tensor>& values) {
  return std::none_of(values.begin(), values.end(),
                      [](const at::Tensor& each) { return each.defined(); });
}

bool are_alike(const std::vector<at::Tensor>& values) {
  return std::all_of(values.begin(), values.end(), [&](const at::Tensor& each) {
    return each.defined() && values[0].defined() &&
           each.sizes() == values[0].sizes() &&
           each.scalar_type() == values[0].scalar_type();
  });
}

}  // namespace

Results Accumulation::state_tensors() const {
  Results results;
  // The integer 3 and the text 3 are two keys of one name.
  const auto add = [&](const std::string& name, at::Tensor value) {
    std::string own = name;
    for (int other = 2; results.contains(own); ++other) {
      own = c10::str(name, " (", other, ")");
    }
    results.add(own, std::move(value));
  };
  const std::vector<std::string> keys = own_keys();
  const StateRows rows(*this, keys);
  const auto of_batches = std::count_if(
      columns_.begin(), columns_.end(),
      [](const StateColumn& each) { return !each.survives_reset; });
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool is_only = of_batches == 1 && !columns_[c].survives_reset;
    const std::string prefix = is_only ? "" : columns_[c].label + ".";
    std::vector<std::vector<at::Tensor>> values;  // by field
    std::vector<std::string> names;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Fields fields = rows.state(r, c).fields();
      values.resize(fields.size());
      names.clear();
      for (std::size_t f = 0; f < fields.size(); ++f) {
        values[f].push_back(as_tensor(fields[f]));
        names.push_back(prefix + fields[f].name);
      }
    }
    for (std::size_t f = 0; f < names.size(); ++f) {
      if (!index_ || are_undefined(values[f])) {
        add(names[f], values[f][0]);
      } else if (are_alike(values[f])) {
        add(names[f], at::stack(values[f]));
      } else {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          add(names[f] + " of " + index_->rules().name(keys[r]), values[f][r]);
        }
      }
    }
  }
  return results;
}

}  // namespace tally::internal
