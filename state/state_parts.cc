#include "tally/state/state_parts.h"

namespace tally {

StateParts::StateParts(std::vector<std::pair<std::string, AnyState>> parts) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (auto& [name, state] : parts) {
    for (const Field& field : state.fields()) {
      names->push_back(name + "." + field.name);
    }
    parts_.push_back(std::move(state));
  }
  names_ = std::move(names);
}

void StateParts::fields(Fields& f) {
  std::size_t next = 0;
  for (AnyState& part : parts_) {
    for (Field field : part.fields()) {
      field.name = (*names_)[next++].c_str();
      f.add(field);
    }
  }
}

}  // namespace tally
