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

StateParts::StateParts(std::shared_ptr<const StateParts> identity,
                       LonePart lone)
    : identity_(std::move(identity)), lone_(std::move(lone)) {}

void StateParts::make_whole() {
  parts_ = identity_->parts_;
  names_ = identity_->names_;
  parts_[lone_.place] = std::move(lone_.state);
  identity_.reset();
}

void StateParts::fields(Fields& f) {
  std::size_t next = 0;
  for (AnyState& part : parts()) {
    for (Field field : part.fields()) {
      field.name = (*names_)[next++].c_str();
      f.add(field);
    }
  }
}

}  // namespace tally
