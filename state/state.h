#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tally/state/detected.h"
#include "tally/state/fields.h"

namespace tally {

class AnyState;
struct LonePart;

namespace internal {
template <class State>
using MergeOf = decltype(State::merge(std::declval<const State&>(),
                                      std::declval<const State&>()));

template <class State>
using MergeOfAnyKindOf = decltype(&State::merge);

template <class State>
using CompactOf = decltype(std::declval<State&>().compact());

template <class State>
using PackOf = decltype(std::declval<State&>().pack());

template <class State>
using PartsOf =
    std::enable_if_t<std::is_same_v<decltype(std::declval<State&>().parts()),
                                    std::vector<AnyState>&>>;
template <class State>
using LonePartOf = decltype(std::declval<State&>().lone_part());
}  // namespace internal

/// Type-erased operations on a state: one small table per state type.
///
/// A state type is default-constructible (its identity under merge), copyable,
/// and lists its fields. If fields cannot be merged independently, it has an
/// associative `static State merge(const State&, const State&)`, which throws
/// c10::ValueError for incompatible states.
///
/// A state that grows with each merged batch may have `void compact()`, which
/// reduces its size without changing its value. It is called before each merge
/// into the state, may throw if it leaves the state unchanged, and must not
/// modify shared tensors.
///
/// If it leaves something for a later compact(), the state may have `void
/// pack()`, which leaves nothing, under the same conditions. It is called
/// before a state is computed, sent or written, and does nothing the second
/// time.
struct StateOps {
  const std::type_info* type;
  void* (*make)();
  void* (*copy)(const void*);
  void (*destroy)(void*);
  void (*fields)(void*, Fields&);
  /// `from` becomes merge(into, from); null: field by field.
  void (*merge_from)(const void* into, void* from);
  /// Null: nothing to do.
  void (*compact)(void*);
  /// Null: nothing to do.
  void (*pack)(void*);
  /// Null: it is not composed of other states.
  std::vector<AnyState>& (*parts)(void*);
  /// For a batch, the only part with data to merge. Null, or returning null:
  /// any part may have data.
  LonePart* (*lone_part)(void*);
  void (*swap)(void*, void*);
};

template <class State>
const StateOps& state_ops() {
  static_assert(
      internal::kHas<internal::MergeOf, State> ||
          !internal::kHas<internal::MergeOfAnyKindOf, State>,
      "merge of a state is `static State merge(const State&, const State&)`");
  static const StateOps ops = [] {
    StateOps o{};
    o.type = &typeid(State);
    o.make = []() -> void* { return new State(); };
    o.copy = [](const void* s) -> void* {
      return new State(*static_cast<const State*>(s));
    };
    o.destroy = [](void* s) { delete static_cast<State*>(s); };
    o.fields = [](void* s, Fields& f) { static_cast<State*>(s)->fields(f); };
    if constexpr (internal::kHas<internal::MergeOf, State>) {
      o.merge_from = [](const void* into, void* from) {
        State& f = *static_cast<State*>(from);
        f = State::merge(*static_cast<const State*>(into), f);
      };
    }
    if constexpr (internal::kHas<internal::CompactOf, State>) {
      o.compact = [](void* s) { static_cast<State*>(s)->compact(); };
    }
    if constexpr (internal::kHas<internal::PackOf, State>) {
      o.pack = [](void* s) { static_cast<State*>(s)->pack(); };
    }
    if constexpr (internal::kHas<internal::PartsOf, State>) {
      o.parts = [](void* s) -> std::vector<AnyState>& {
        return static_cast<State*>(s)->parts();
      };
    }
    if constexpr (internal::kHas<internal::LonePartOf, State>) {
      o.lone_part = [](void* s) { return static_cast<State*>(s)->lone_part(); };
    }
    o.swap = [](void* a, void* b) {
      std::swap(*static_cast<State*>(a), *static_cast<State*>(b));
    };
    return o;
  }();
  return ops;
}

/// An owned state of any type. Copies share tensors; merging never modifies
/// shared tensors.
class AnyState {
 public:
  AnyState() = default;
  explicit AnyState(const StateOps& ops) : ops_(&ops), state_(ops.make()) {}
  template <class State>
  static AnyState of(State state) {
    AnyState any(state_ops<State>());
    any.get<State>() = std::move(state);
    return any;
  }
  AnyState(const AnyState& other)
      : ops_(other.ops_),
        state_(other.state_ ? ops_->copy(other.state_) : nullptr) {}
  AnyState(AnyState&& other) noexcept
      : ops_(other.ops_), state_(std::exchange(other.state_, nullptr)) {}
  AnyState& operator=(AnyState other) noexcept {
    std::swap(ops_, other.ops_);
    std::swap(state_, other.state_);
    return *this;
  }
  ~AnyState() {
    if (state_) ops_->destroy(state_);
  }

  bool defined() const noexcept { return state_ != nullptr; }
  const StateOps& ops() const noexcept { return *ops_; }
  void* data() noexcept { return state_; }
  const void* data() const noexcept { return state_; }

  /// Throws c10::TypeError, naming both types, unless it holds a State.
  template <class State>
  State& get() {
    require(typeid(State));
    return *static_cast<State*>(state_);
  }
  template <class State>
  const State& get() const {
    require(typeid(State));
    return *static_cast<const State*>(state_);
  }

  Fields fields() {
    Fields list;
    ops_->fields(state_, list);
    return list;
  }
  /// Read-only.
  Fields fields() const { return const_cast<AnyState*>(this)->fields(); }

 private:
  void require(const std::type_info& type) const {
    if (!state_ || *ops_->type != type) refuse(type);
  }
  [[noreturn]] void refuse(const std::type_info& type) const;

  const StateOps* ops_ = nullptr;
  void* state_ = nullptr;
};

/// One part of a composite state.
struct LonePart {
  std::size_t place = 0;
  AnyState state;
};

/// Prepares a batch for being stored: drops its graph, and copies tensors that
/// the state's own merge would otherwise keep.
struct BatchIntake {
  bool to_cpu = false;  // moved there as well
};

/// A merge in two steps: the constructor validates and performs everything that
/// can fail (c10::ValueError; the value of `into` is then unchanged), commit()
/// finishes it. Both states must outlive it; `from` is consumed.
class PendingMerge {
 public:
  PendingMerge(const StateOps& ops, void* into, void* from, const char* owner)
      : PendingMerge(ops, into, from, owner, nullptr) {}
  /// `from` is a batch.
  PendingMerge(const StateOps& ops, void* into, void* from, const char* owner,
               const BatchIntake& intake)
      : PendingMerge(ops, into, from, owner, &intake) {}
  void commit();

 private:
  PendingMerge(const StateOps& ops, void* into, void* from, const char* owner,
               const BatchIntake* intake);

  const StateOps* ops_;
  void* into_;
  void* from_;
  Fields into_fields_;
  Fields from_fields_;
  std::vector<PendingMerge> parts_;
};

/// Replaces `into` by merge(into, from), or throws and changes nothing;
/// c10::ValueError also for states of different types.
void merge(AnyState& into, AnyState from, const char* owner);

/// Whether fields are merged independently: neither the state nor a part has
/// its own merge.
bool merges_by_field(const AnyState& state);
/// Whether the state or a part has its own compact().
bool compacts(const AnyState& state);
/// Calls pack() of the state or its parts. One that cannot be packed stays as
/// it is, for its reader to refuse.
void pack(AnyState& state);

}  // namespace tally
