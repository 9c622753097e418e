#include "tally/state/rows.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tally/state/fresh_tensor.h"
#include "tally/state/outside_inference.h"

namespace tally {
namespace {

constexpr std::int64_t kFirstCapacity = 64;

std::string describe(const at::Tensor& rows) {
  std::string text =
      c10::str(rows.scalar_type(), " on ", rows.device(), " with sizes [*");
  for (const std::int64_t size : rows.sizes().slice(1)) {
    text += ", " + std::to_string(size);
  }
  return text + "]";
}

// A large copy takes all threads: most of it is the kernel's, which makes the
// pages for it.
void copy_bytes(const void* from, std::int64_t bytes, char* to) {
  constexpr std::int64_t kGrain = std::int64_t{1} << 20;
  if (bytes < 2 * kGrain) {
    std::memcpy(to, from, bytes);
    return;
  }
  at::parallel_for(0, bytes, kGrain, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, static_cast<const char*>(from) + begin,
                end - begin);
  });
}

// Of all that a metric needs, its rows are what fills the memory of a GPU.
at::Tensor empty_rows(c10::IntArrayRef sizes,
                      const at::TensorOptions& options) {
  if (options.device().is_cpu()) {
    return internal::fresh_tensor(sizes,
                                  c10::typeMetaToScalarType(options.dtype()));
  }
  try {
    return at::empty(sizes, options);
  } catch (c10::OutOfMemoryError& error) {
    error.add_context(c10::str(
        "for ", sizes[0], " rows of a metric's state on ", options.device(),
        "; with the option compute_on_cpu, rows are kept in the CPU's memory"));
    throw;
  }
}

bool same_row_shape(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == b.dim() && a.sizes().slice(1) == b.sizes().slice(1);
}

}  // namespace

Rows::Rows(at::Tensor rows) {
  if (rows.dim() == 0) rows = rows.unsqueeze(0);
  size_ = rows.size(0);
  if (rows.requires_grad()) {
    pieces_.push_back(std::move(rows));
  } else {
    buffer_ = std::move(rows);
  }
}

// A copy sees the rows written so far; only the original goes on to write
// behind them.
Rows::Rows(const Rows& other)
    : buffer_(other.buffer_), pieces_(other.pieces_), size_(other.size_) {}

Rows& Rows::operator=(const Rows& other) {
  if (this != &other) *this = Rows(other);
  return *this;
}

at::Tensor Rows::tensor() const {
  if (!pieces_.empty()) {
    return pieces_.size() == 1 ? pieces_.front() : at::cat(pieces_, 0);
  }
  return buffer_.defined() && buffer_.size(0) != size_
             ? buffer_.narrow(0, 0, size_)
             : buffer_;
}

bool Rows::pieces_require_grad() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const at::Tensor& t) { return t.requires_grad(); });
}

void Rows::check_append(const Rows& other, const char* owner,
                        const char* field) const {
  if (!defined() || !other.defined()) return;
  const at::Tensor& a = example();
  const at::Tensor& b = other.example();
  TORCH_CHECK_VALUE(a.scalar_type() == b.scalar_type() &&
                        a.device() == b.device() && same_row_shape(a, b),
                    owner, ": state '", field, "' holds rows of ", describe(a),
                    ", got ", describe(b));
}

void Rows::reserve_for(const Rows& other) {
  if (!other.defined()) return;
  if (!pieces_.empty() || !other.pieces_.empty()) {
    pieces_.reserve(pieces_.size() + other.pieces_.size() + 2);
    return;
  }
  const std::int64_t needed = size_ + other.size_;
  if (buffer_.defined() && needed <= capacity_) return;
  const at::Tensor& example = buffer_.defined() ? buffer_ : other.buffer_;
  const std::int64_t capacity =
      std::max({needed, 2 * capacity_, kFirstCapacity});
  std::vector<std::int64_t> sizes = example.sizes().vec();
  sizes[0] = capacity;
  const internal::OutsideInference outside;
  at::Tensor larger = empty_rows(sizes, example.options().requires_grad(false));
  if (size_ > 0) larger.narrow(0, 0, size_).copy_(buffer_.narrow(0, 0, size_));
  buffer_ = std::move(larger);
  capacity_ = capacity;
  row_bytes_ = static_cast<std::int64_t>(buffer_.nbytes()) / capacity;
}

void Rows::append(const Rows& other) {
  if (!other.defined()) return;
  reserve_for(other);
  if (!pieces_.empty() || !other.pieces_.empty()) {
    if (buffer_.defined()) pieces_.push_back(tensor());
    if (other.buffer_.defined()) pieces_.push_back(other.tensor());
    pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
    buffer_.reset();
    capacity_ = 0;
  } else if (other.size_ > 0) {
    const at::Tensor& from = other.buffer_;
    if (buffer_.is_cpu() && from.is_contiguous() && !from.is_conj() &&
        !from.is_neg()) {
      copy_bytes(
          from.const_data_ptr(), other.size_ * row_bytes_,
          static_cast<char*>(buffer_.mutable_data_ptr()) + size_ * row_bytes_);
    } else {
      buffer_.narrow(0, size_, other.size_).copy_(other.tensor());
    }
  }
  size_ += other.size_;
}

Rows Rows::detach() const {
  return pieces_.empty() ? *this : Rows(tensor().detach());
}

Rows Rows::to(c10::Device device) const {
  if (!defined() || example().device() == device) return *this;
  return Rows(tensor().to(device));
}

}  // namespace tally
