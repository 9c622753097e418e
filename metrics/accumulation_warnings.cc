#include <algorithm>
#include <utility>

#include "tally/metrics/accumulation.h"
#include "tally/metrics/warnings.h"

namespace tally::internal {

void Accumulation::add_remarks(std::size_t group,
                               const std::vector<std::string>& remarks) {
  auto& own = groups_[group].remarks;
  own.insert(own.end(), remarks.begin(), remarks.end());
  may_warn_ = may_warn_ || !own.empty();
}

void Accumulation::warn(
    c10::function_ref<const AnyState&(std::size_t group)> state_of,
    const std::shared_ptr<sync::Communicator>& ranks) const {
  const bool speaks =
      ranks ? ranks->rank() == 0 : !synced_ || communicator()->rank() == 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (!group.has_notes && group.remarks.empty()) continue;
    group.given->give(group.label, &state_of(i), group.remarks, speaks);
  }
}

std::function<void(const std::vector<AnyState>&)> Accumulation::warn_later()
    const {
  if (!may_warn_) return [](const std::vector<AnyState>&) {};
  struct Warner {
    std::string label;
    std::vector<std::string> remarks;
    std::shared_ptr<GivenWarnings> given;
  };
  std::vector<Warner> warners;
  for (const Group& group : groups_) {
    warners.push_back({group.label, group.remarks, group.given});
  }
  return [warners = std::move(warners), speaks = communicator()->rank() == 0](
             const std::vector<AnyState>& states) {
    for (std::size_t i = 0; i < warners.size(); ++i) {
      warners[i].given->give(warners[i].label, &states[i], warners[i].remarks,
                             speaks);
    }
  };
}

void Accumulation::warn_of_own_rows() const {
  for (const Group& group : groups_) {
    if (!group.has_notes) continue;
    const Fields fields = group.local.fields();
    const bool any =
        std::any_of(fields.begin(), fields.end(), [](const Field& field) {
          return field.kind == Field::Kind::kNote &&
                 field.as_note().count() > 0;
        });
    if (any && communicator()->rank() == 0) {
      group.given->give(group.label, &group.local, {}, /*speaks=*/true);
    }
  }
}

}  // namespace tally::internal
