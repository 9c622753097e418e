#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "tally/state/note.h"
#include "tally/state/number.h"
#include "tally/state/rows.h"

namespace tally {

/// How two values of a field are merged. Every rule is associative. The
/// default-constructed value (0, an undefined tensor, no rows) is the identity
/// of kSum and kCat, and an undefined tensor that of kMin and kMax. A number
/// merged by kMin or kMax starts at +infinity or -infinity.
enum class Merge : std::uint8_t { kSum, kMin, kMax, kCat };

/// One field of a state: its name, how it merges, and where it is.
struct Field {
  enum class Kind : std::uint8_t { kInt, kNumber, kTensor, kRows, kNote };

  std::int64_t& as_int() const { return *static_cast<std::int64_t*>(value); }
  Number& as_number() const { return *static_cast<Number*>(value); }
  at::Tensor& as_tensor() const { return *static_cast<at::Tensor*>(value); }
  Rows& as_rows() const { return *static_cast<Rows*>(value); }
  Note& as_note() const { return *static_cast<Note*>(value); }

  const char* name;
  Kind kind;
  Merge merge;
  void* value;
  bool is_later = false;  // see Fields::later
  /// Set by prepare_merge if this already holds the merged value.
  mutable bool replaces = false;
};

/// Collects the fields of a state, in order. A state type lists them:
///
///     struct State {
///       tally::Number sum;
///       std::int64_t total = 0;
///       void fields(tally::Fields& f) { f("sum", sum)("total", total); }
///     };
///
/// All operations on states (merge, sync, save, move) iterate over this list,
/// so that they are not compiled again for each metric. A field's name, kind
/// and merge rule are the same for every value of the state.
class Fields {
 public:
  Fields& operator()(const char* name, std::int64_t& value,
                     Merge merge = Merge::kSum) {
    return add(name, Field::Kind::kInt, merge, &value);
  }
  Fields& operator()(const char* name, Number& value,
                     Merge merge = Merge::kSum) {
    return add(name, Field::Kind::kNumber, merge, &value);
  }
  /// A tensor of fixed shape, merged elementwise.
  Fields& operator()(const char* name, at::Tensor& value,
                     Merge merge = Merge::kSum) {
    return add(name, Field::Kind::kTensor, merge, &value);
  }
  Fields& operator()(const char* name, Rows& value) {
    return add(name, Field::Kind::kRows, Merge::kCat, &value);
  }
  /// A field that states have got when there were files of them already: a file
  /// without it is read, and it stays as in an empty state.
  Fields& later(const char* name, Rows& value) {
    (*this)(name, value);
    list_.back().is_later = true;
    return *this;
  }
  /// It has the name of its kind.
  Fields& operator()(Note& value) {
    return add(value.kind().name, Field::Kind::kNote, Merge::kCat, &value);
  }
  /// Any other type.
  template <class T>
  Fields& operator()(const char*, T&, Merge = Merge::kSum) {
    static_assert(!std::is_same_v<T, T>,
                  "a field is an std::int64_t, a tally::Number (use it for "
                  "double and float), an at::Tensor or tally::Rows");
    return *this;
  }

  /// Adds an existing field.
  void add(const Field& field) { list_.push_back(field); }

  const Field* begin() const { return list_.begin(); }
  const Field* end() const { return list_.end(); }
  std::size_t size() const { return list_.size(); }
  const Field& operator[](std::size_t i) const { return list_[i]; }
  void clear() { list_.clear(); }

  /// "sum:number:sum;total:int:sum;": must be equal for two states to be
  /// merged.
  std::string schema() const;

 private:
  Fields& add(const char* name, Field::Kind kind, Merge merge, void* value) {
    // Written in place: a copy would read from the store buffer.
    list_.resize_for_overwrite(list_.size() + 1);
    Field& field = list_.back();
    field.name = name;
    field.kind = kind;
    field.merge = merge;
    field.value = value;
    return *this;
  }

  c10::SmallVector<Field, 12> list_;
};

/// Checks that every field of `from` can be merged into `into` (c10::ValueError
/// that starts with `owner` and names the field) and performs everything that
/// can fail, so that commit_merge cannot. Does not modify `into`; `from` is
/// consumed.
void prepare_merge(const Fields& into, const Fields& from, const char* owner);
/// Merges in place if `into` is the only owner of a tensor; shared tensors are
/// never modified.
void commit_merge(const Fields& into, const Fields& from);

/// Whether any field carries a graph.
bool requires_grad(const Fields& fields);
/// Drops the graph of every field. Returns whether any tensor or rows are on
/// another device than the CPU, which the same pass sees.
bool detach(const Fields& fields);
/// Copies every tensor that is shared with another owner.
void unshare(const Fields& fields);
/// Moves every tensor of every field.
void move_to(const Fields& fields, c10::Device device);

}  // namespace tally
