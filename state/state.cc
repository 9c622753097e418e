#include "tally/state/state.h"

#include <c10/util/Exception.h>
#include <c10/util/Type.h>

#include <algorithm>
#include <memory>

#include "tally/state/joined.h"
#include "tally/state/state_key.h"
#include "tally/state/state_parts.h"

namespace tally {

std::string StateKey::type_names() const {
  return internal::joined(", ", types_, [](const std::type_index& type) {
    return c10::demangle(type.name());
  });
}

void StateKey::add_types(const StateKey& other) {
  types_.insert(types_.end(), other.types_.begin(), other.types_.end());
}

StateKey& StateKey::operator+=(const StateKey& other) {
  text_ += other.text_;
  add_types(other);
  return *this;
}

namespace {

const std::vector<AnyState>& parts_of(const AnyState& state) {
  return state.ops().parts(const_cast<void*>(state.data()));
}

// Whether `holds(ops)` for the state or, if it has parts, for any of them.
template <class Predicate>
bool any_of_parts(const AnyState& state, const Predicate& holds) {
  if (!state.ops().parts) return holds(state.ops());
  const auto& parts = parts_of(state);
  return std::any_of(parts.begin(), parts.end(), [&](const AnyState& part) {
    return any_of_parts(part, holds);
  });
}

void require_same_type(const AnyState& into, const AnyState& from,
                       const char* owner) {
  const std::type_info& expected = *into.ops().type;
  const std::type_info& type = *from.ops().type;
  TORCH_CHECK_VALUE(expected == type, owner, ": expected a state of type ",
                    c10::demangle(expected.name()), ", got one of type ",
                    c10::demangle(type.name()));
}

bool is_beside_cpu(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_cpu();
}

// The tensor that a field is, or that its rows are.
at::Tensor tensor_of(const Field& field) {
  if (field.kind == Field::Kind::kTensor) return field.as_tensor();
  return field.kind == Field::Kind::kRows ? field.as_rows().tensor()
                                          : at::Tensor();
}

bool any_beside_cpu(const Fields& fields) {
  for (const Field& field : fields) {
    if (field.kind == Field::Kind::kTensor) {
      if (is_beside_cpu(field.as_tensor())) return true;
    } else if (field.kind == Field::Kind::kRows) {
      if (field.as_rows().is_beside_cpu()) return true;
    }
  }
  return false;
}

// What was read from a checkpoint goes where the next batch is, whose merge
// with it `from` then is. Field by field: some are on the CPU wherever inputs
// are. Returns whether anything had to go; it goes in a copy, as the merge may
// still be refused.
bool merge_where_batch_is(const StateOps& ops, const void* into, void* from,
                          const Fields& batch, const char* owner) {
  const std::unique_ptr<void, void (*)(void*)> moved(ops.copy(into),
                                                     ops.destroy);
  Fields fields;
  ops.fields(moved.get(), fields);
  bool goes = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const at::Tensor own = tensor_of(fields[i]);
    const at::Tensor other = tensor_of(batch[i]);
    if (!own.defined() || !own.is_cpu() || !is_beside_cpu(other)) continue;
    goes = true;
    if (fields[i].kind == Field::Kind::kRows) {
      fields[i].as_rows() = fields[i].as_rows().to(other.device());
    } else {
      fields[i].as_tensor() = own.to(other.device());
    }
  }
  if (!goes) return false;
  if (ops.merge_from) {
    ops.merge_from(moved.get(), from);
  } else {
    prepare_merge(fields, batch, owner);
    commit_merge(fields, batch);
    ops.swap(moved.get(), from);
  }
  return true;
}

}  // namespace

void AnyState::refuse(const std::type_info& type) const {
  TORCH_CHECK_TYPE(
      false, "expected a state of type ", c10::demangle(type.name()), ", got ",
      state_ ? "one of type " + c10::demangle(ops_->type->name()) : "none");
}

PendingMerge::PendingMerge(const StateOps& ops, void* into, void* from,
                           const char* owner, const BatchIntake* intake)
    : ops_(&ops), into_(into), from_(from) {
  if (ops.parts) {
    std::vector<AnyState>& into_parts = ops.parts(into);
    if (LonePart* lone = ops.lone_part ? ops.lone_part(from) : nullptr) {
      AnyState& part = into_parts[lone->place];
      require_same_type(part, lone->state, owner);
      parts_.push_back(
          {part.ops(), part.data(), lone->state.data(), owner, intake});
      return;
    }
    std::vector<AnyState>& from_parts = ops.parts(from);
    TORCH_INTERNAL_ASSERT(into_parts.size() == from_parts.size(), owner,
                          " has ", into_parts.size(), " and ",
                          from_parts.size(), " parts");
    parts_.reserve(into_parts.size());
    for (std::size_t i = 0; i < into_parts.size(); ++i) {
      require_same_type(into_parts[i], from_parts[i], owner);
      parts_.push_back({into_parts[i].ops(), into_parts[i].data(),
                        from_parts[i].data(), owner, intake});
    }
    return;
  }
  ops.fields(from, from_fields_);
  bool beside_cpu = false;
  if (intake) {
    beside_cpu = detach(from_fields_) && !intake->to_cpu;
    if (intake->to_cpu) move_to(from_fields_, at::kCPU);
    if (ops.merge_from) unshare(from_fields_);
  } else {
    beside_cpu = any_beside_cpu(from_fields_);
  }
  if (ops.compact) ops.compact(into);
  if (beside_cpu &&
      merge_where_batch_is(ops, into, from, from_fields_, owner)) {
    return;
  }
  if (ops.merge_from) {
    ops.merge_from(into, from);
  } else {
    ops.fields(into, into_fields_);
    prepare_merge(into_fields_, from_fields_, owner);
  }
}

void PendingMerge::commit() {
  if (ops_->parts) {
    for (PendingMerge& part : parts_) part.commit();
  } else if (into_fields_.size() == 0) {  // `from` is the merge
    ops_->swap(into_, from_);
  } else {
    commit_merge(into_fields_, from_fields_);
  }
}

void merge(AnyState& into, AnyState from, const char* owner) {
  require_same_type(into, from, owner);
  PendingMerge(into.ops(), into.data(), from.data(), owner).commit();
}

bool merges_by_field(const AnyState& state) {
  return !any_of_parts(
      state, [](const StateOps& ops) { return ops.merge_from != nullptr; });
}

bool compacts(const AnyState& state) {
  return any_of_parts(
      state, [](const StateOps& ops) { return ops.compact != nullptr; });
}

void pack(AnyState& state) {
  const auto packs = [](const StateOps& ops) { return ops.pack != nullptr; };
  if (!state.defined() || !any_of_parts(state, packs)) return;
  if (state.ops().parts) {
    for (AnyState& part : state.ops().parts(state.data())) pack(part);
    return;
  }
  try {
    state.ops().pack(state.data());
  } catch (const c10::ValueError&) {
    // It is as it was.
  }
}

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
