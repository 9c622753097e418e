#include "tally/metrics/checkpoint/held_checkpoint.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "tally/metrics/core/option_text.h"
#include "tally/state/codec.h"

namespace tally::internal {
namespace {

/// What stands between separators.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  const auto parts = split_outside(text, separator);
  if (!parts.ok()) return {text};
  return {parts->begin(), parts->end()};
}

/// "Counts(num_classes=3; validate_args=true)" as "Counts" and its options.
std::pair<std::string, std::vector<std::string>> key_parts(
    const std::string& key) {
  const std::size_t open = std::min(key.find('('), key.size());
  std::vector<std::string> options;
  if (key.size() > open + 2) {
    const std::string inside = key.substr(open + 1, key.size() - open - 2);
    for (const std::string& half : parts_of(inside, ';')) {
      for (std::string& option : parts_of(half, ',')) {
        options.push_back(std::move(option));
      }
    }
  }
  return {key.substr(0, open), std::move(options)};
}

/// The texts that are not among the others as well.
std::string only_in(const std::vector<std::string>& texts,
                    const std::vector<std::string>& others) {
  std::string only;
  for (const std::string& text : texts) {
    if (std::find(others.begin(), others.end(), text) == others.end()) {
      only += (only.empty() ? "" : ", ") + text;
    }
  }
  return only.empty() ? "nothing else" : only;
}

/// Those that states had at first.
Fields first_fields(const Fields& all) {
  Fields first;
  for (const Field& field : all) {
    if (!field.is_later) first.add(field);
  }
  return first;
}

}  // namespace

bool HeldCheckpoint::Column::fits(const StateColumn& column) const {
  if (key != column.key.text()) return false;
  const Fields fields = column.identity.fields();
  return schema == fields.schema() || schema == first_fields(fields).schema();
}

void HeldCheckpoint::Cell::read_into(const AnyState& identity,
                                     const Column& column,
                                     StoredCell& cell) const {
  cell.count = count;
  cell.index_offset = index_offset;
  if (!is_defined) return;
  cell.state = identity;
  const Fields all = cell.state.fields();
  Decoder(fields).fields(column.schema == all.schema() ? all
                                                       : first_fields(all));
}

std::string column_difference(const HeldCheckpoint::Column& held,
                              const StateColumn& column) {
  const auto [held_name, held_options] = key_parts(held.key);
  const auto [name, options] = key_parts(column.key.text());
  if (held_name != name) {
    return c10::str("the checkpoint holds '", held.label, "' with the state ",
                    held_name, ", expected '", column.label,
                    "' with the state ", name);
  }
  if (held.label != column.label) {
    return c10::str("the checkpoint holds the state of '", held.label,
                    "', expected that of '", column.label, "'");
  }
  if (held.key != column.key.text()) {
    return c10::str("the checkpoint of '", held.label, "' is of the options ",
                    only_in(held_options, options), "; expected ",
                    only_in(options, held_options));
  }
  const auto held_fields = parts_of(held.schema, ';');
  const auto fields = parts_of(column.identity.fields().schema(), ';');
  return c10::str("the checkpoint of '", held.label, "' has the fields ",
                  only_in(held_fields, fields), "; expected ",
                  only_in(fields, held_fields));
}

}  // namespace tally::internal
