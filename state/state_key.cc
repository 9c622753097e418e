#include "tally/state/state_key.h"

#include <c10/util/Type.h>

namespace tally {

std::string StateKey::type_names() const {
  std::string names;
  for (const std::type_index& type : types_) {
    names += (names.empty() ? "" : ", ") + c10::demangle(type.name());
  }
  return names;
}

void StateKey::add_types(const StateKey& other) {
  types_.insert(types_.end(), other.types_.begin(), other.types_.end());
}

StateKey& StateKey::operator+=(const StateKey& other) {
  text_ += other.text_;
  add_types(other);
  return *this;
}

}  // namespace tally
