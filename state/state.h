#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tally/state/fields.h"

namespace tally {

class AnyState;
struct LonePart;

namespace internal {
template <class State, class = void>
struct HasMerge : std::false_type {};
template <class State>
struct HasMerge<
    State, std::void_t<decltype(State::merge(std::declval<const State&>(),
                                             std::declval<const State&>()))>>
    : std::true_type {};

template <class State, class = void>
struct HasMergeOfAnyKind : std::false_type {};
template <class State>
struct HasMergeOfAnyKind<State, std::void_t<decltype(&State::merge)>>
    : std::true_type {};

template <class State, class = void>
struct HasCompact : std::false_type {};
template <class State>
struct HasCompact<State,
                  std::void_t<decltype(std::declval<State&>().compact())>>
    : std::true_type {};

template <class State, class = void>
struct HasParts : std::false_type {};
template <class State>
struct HasParts<State, std::void_t<decltype(std::declval<State&>().parts())>>
    : std::is_same<decltype(std::declval<State&>().parts()),
                   std::vector<AnyState>&> {};

template <class State, class = void>
struct HasLonePart : std::false_type {};
template <class State>
struct HasLonePart<State,
                   std::void_t<decltype(std::declval<State&>().lone_part())>>
    : std::true_type {};

template <class State, class = void>
struct HasForget : std::false_type {};
template <class State>
struct HasForget<State, std::void_t<decltype(std::declval<State&>().forget())>>
    : std::true_type {};
}  // namespace internal

/// What can be done with a state whose type is not known: one small table per
/// state type.
///
/// A state type is default-constructible (its identity under merge), copyable,
/// and lists its fields. If they do not merge one by one, it has
/// `static State merge(const State&, const State&)`, associative, which throws
/// c10::ValueError for states that do not fit together.
///
/// A state that grows as batches are merged into it may have `void compact()`,
/// which brings it into a smaller form of the same value. It is called before
/// each merge into the state, may throw as long as nothing has changed then,
/// and writes to no tensor that it shares.
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
  /// Null: it is not made of other states.
  std::vector<AnyState>& (*parts)(void*);
  /// Of a batch: the only part with anything to merge. Null, or returns null:
  /// any part may have.
  LonePart* (*lone_part)(void*);
  /// Null: nothing outlasts a reset.
  void (*forget)(void*);
  void (*swap)(void*, void*);
};

template <class State>
const StateOps& state_ops() {
  static_assert(
      internal::HasMerge<State>::value ||
          !internal::HasMergeOfAnyKind<State>::value,
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
    if constexpr (internal::HasMerge<State>::value) {
      o.merge_from = [](const void* into, void* from) {
        State& f = *static_cast<State*>(from);
        f = State::merge(*static_cast<const State*>(into), f);
      };
    }
    if constexpr (internal::HasCompact<State>::value) {
      o.compact = [](void* s) { static_cast<State*>(s)->compact(); };
    }
    if constexpr (internal::HasParts<State>::value) {
      o.parts = [](void* s) -> std::vector<AnyState>& {
        return static_cast<State*>(s)->parts();
      };
    }
    if constexpr (internal::HasLonePart<State>::value) {
      o.lone_part = [](void* s) { return static_cast<State*>(s)->lone_part(); };
    }
    if constexpr (internal::HasForget<State>::value) {
      o.forget = [](void* s) { static_cast<State*>(s)->forget(); };
    }
    o.swap = [](void* a, void* b) {
      std::swap(*static_cast<State*>(a), *static_cast<State*>(b));
    };
    return o;
  }();
  return ops;
}

/// An owned state of any type. Copies share tensors, which merging never
/// writes to while they are shared.
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

  /// c10::TypeError, which names both types, unless it holds a State.
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
  /// For reading only.
  Fields fields() const { return const_cast<AnyState*>(this)->fields(); }

 private:
  void require(const std::type_info& type) const {
    if (!state_ || *ops_->type != type) refuse(type);
  }
  [[noreturn]] void refuse(const std::type_info& type) const;

  const StateOps* ops_ = nullptr;
  void* state_ = nullptr;
};

/// One of the states that another one is made of.
struct LonePart {
  std::size_t place = 0;
  AnyState state;
};

/// How a batch becomes fit to be kept: without its graph, and with tensors of
/// its own where a merge of the state's own would keep them.
struct BatchIntake {
  bool to_cpu = false;  // moved there as well
};

/// A merge in two steps: the constructor checks and does all that can fail
/// (c10::ValueError; the value of `into` has not changed), commit() finishes
/// it. Both states must outlive it; `from` is used up.
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

/// `into` becomes merge(into, from), or nothing changes and it throws:
/// c10::ValueError also for states of different types.
void merge(AnyState& into, AnyState from, const char* owner);

/// Whether it merges field by field: neither it nor a part has its own merge.
bool merges_by_field(const AnyState& state);
/// Whether it or a part has a compact of its own.
bool compacts(const AnyState& state);

/// Whether anything of such a state is to outlast a reset.
bool outlasts_reset(const AnyState& state);
/// `state` becomes `identity`, except for what outlasts that.
void reset(AnyState& state, const AnyState& identity);

}  // namespace tally
