#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tally {

/// Rows that grow by concatenation along dimension 0: the state of metrics that
/// keep every sample (exact curves, rank correlations).
///
/// Plain rows are stored in a buffer with spare capacity: appending copies them
/// (the caller's tensor is never aliased), the value is a view, and copies of
/// the object share the rows already written. Rows with a graph, which only
/// occur in the state of a single batch, are kept as a list and concatenated on
/// demand. Undefined (the default) is the identity of append.
class Rows {
 public:
  Rows() = default;
  /// The rows of one batch, not copied; a 0-dim tensor is one row.
  explicit Rows(at::Tensor rows);

  Rows(const Rows& other);
  Rows& operator=(const Rows& other);
  Rows(Rows&& other) noexcept = default;
  Rows& operator=(Rows&& other) noexcept = default;

  bool defined() const { return buffer_.defined() || !pieces_.empty(); }
  std::int64_t size() const noexcept { return size_; }
  /// [size(), ...]; undefined if undefined. Never written to by later appends.
  at::Tensor tensor() const;
  /// Whether it is defined on another device than the CPU.
  bool is_beside_cpu() const { return defined() && !example().is_cpu(); }
  bool requires_grad() const {
    return !pieces_.empty() && pieces_require_grad();
  }

  /// Throws c10::ValueError, naming the owner and the field, unless `other` has
  /// this one's dtype, device and row shape (or either is undefined).
  void check_append(const Rows& other, const char* owner,
                    const char* field) const;
  /// Reserves capacity, so that append(other) cannot fail. The value does not
  /// change.
  void reserve_for(const Rows& other);
  void append(const Rows& other);

  /// The rows without a graph, as one plain tensor.
  Rows detach() const;
  Rows to(c10::Device device) const;

 private:
  bool pieces_require_grad() const;
  const at::Tensor& example() const {
    return buffer_.defined() ? buffer_ : pieces_.front();
  }

  at::Tensor buffer_;               // plain rows; the first size_ are written
  std::int64_t capacity_ = 0;       // rows that fit; 0 = not ours to write to
  std::int64_t row_bytes_ = 0;      // of the buffer, when it is ours
  std::vector<at::Tensor> pieces_;  // instead of the buffer: rows with a graph
  std::int64_t size_ = 0;
};

}  // namespace tally
