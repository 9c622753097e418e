#include "tally/state/codec.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <limits>

namespace tally {
namespace {

// dtype of an undefined tensor
constexpr std::int64_t kUndefined = -1;
constexpr std::int64_t kMaxDimensions = 64;

// A tensor header is one integer: dtype in the low half, dimensions above.
std::int64_t pack_header(std::int64_t dtype, std::int64_t dimensions) {
  return dimensions << 32 | (dtype & 0xffffffff);
}

}  // namespace

void Encoder::raw(const void* data, std::size_t size) {
  bytes_->append(static_cast<const char*>(data), size);
}

void Encoder::text(std::string_view value) {
  integer(static_cast<std::int64_t>(value.size()));
  raw(value.data(), value.size());
}

void Encoder::tensor(const at::Tensor& value) {
  if (!value.defined()) {
    integer(pack_header(kUndefined, 0));
    return;
  }
  TORCH_CHECK_VALUE(value.layout() == at::kStrided && !value.is_quantized(),
                    "expected a dense tensor, got ", value.toString());
  at::Tensor dense = value.detach();
  if (!dense.is_cpu()) dense = dense.cpu();
  if (dense.is_conj()) dense = dense.resolve_conj();
  if (dense.is_neg()) dense = dense.resolve_neg();
  dense = dense.contiguous();
  integer(
      pack_header(static_cast<std::int64_t>(dense.scalar_type()), dense.dim()));
  for (std::int64_t size : dense.sizes()) integer(size);
  if (dense.numel() > 0) raw(dense.const_data_ptr(), dense.nbytes());
}

void Encoder::fields(const Fields& fields) {
  for (const Field& field : fields) {
    switch (field.kind) {
      case Field::Kind::kInt:
        integer(field.as_int());
        break;
      case Field::Kind::kNumber:
        real(field.as_number().value());
        break;
      case Field::Kind::kTensor:
        tensor(field.as_tensor());
        break;
      case Field::Kind::kRows:
        tensor(field.as_rows().tensor());
        break;
    }
  }
}

const char* Decoder::take(std::size_t size) {
  TORCH_CHECK_VALUE(size <= rest_.size(), "expected ", size,
                    " more bytes of state, got ", rest_.size());
  const char* data = rest_.data();
  rest_.remove_prefix(size);
  return data;
}

std::int64_t Decoder::integer() {
  std::int64_t value;
  std::memcpy(&value, take(sizeof(value)), sizeof(value));
  return value;
}

double Decoder::real() {
  double value;
  std::memcpy(&value, take(sizeof(value)), sizeof(value));
  return value;
}

std::string Decoder::text() {
  const std::int64_t size = integer();
  TORCH_CHECK_VALUE(size >= 0, "expected a text of state, got length ", size);
  const char* data = take(static_cast<std::size_t>(size));
  return std::string(data, static_cast<std::size_t>(size));
}

at::Tensor Decoder::tensor() {
  const std::int64_t header = integer();
  const std::int64_t dtype = static_cast<std::int32_t>(header & 0xffffffff);
  const std::int64_t dimensions = header >> 32;
  if (dtype == kUndefined) return {};
  TORCH_CHECK_VALUE(
      dtype >= 0 &&
          dtype < static_cast<std::int64_t>(c10::ScalarType::NumOptions) &&
          dimensions >= 0 && dimensions <= kMaxDimensions,
      "expected a tensor of state, got header ", header);
  const auto type = static_cast<c10::ScalarType>(dtype);
  TORCH_CHECK_VALUE(type != c10::ScalarType::Undefined &&
                        !c10::isQIntType(type) && !c10::isBitsType(type),
                    "expected a tensor of state, got dtype ", type);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(dimensions));
  bool empty = false;
  for (std::int64_t& size : sizes) {
    size = integer();
    TORCH_CHECK_VALUE(size >= 0, "expected a tensor of state, got size ", size);
    empty = empty || size == 0;
  }
  // The element count is bounded by the bytes at hand before it can overflow;
  // strides of empty tensors must not overflow either.
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  const auto limit = (empty ? std::numeric_limits<std::int64_t>::max()
                            : static_cast<std::int64_t>(rest_.size())) /
                     width;
  std::int64_t elements = 1;
  for (std::int64_t size : sizes) {
    if (size == 0) continue;
    TORCH_CHECK_VALUE(size <= limit / elements, "expected a tensor of state ",
                      "within ", limit, " elements, got sizes ",
                      c10::IntArrayRef(sizes));
    elements *= size;
  }
  if (empty) elements = 0;
  const char* data = take(static_cast<std::size_t>(elements * width));
  at::Tensor value = at::empty(sizes, type);
  if (elements > 0) std::memcpy(value.mutable_data_ptr(), data, value.nbytes());
  return value;
}

void Decoder::fields(const Fields& fields) {
  for (const Field& field : fields) {
    switch (field.kind) {
      case Field::Kind::kInt:
        field.as_int() = integer();
        break;
      case Field::Kind::kNumber:
        field.as_number() = Number(real());
        break;
      case Field::Kind::kTensor:
        field.as_tensor() = tensor();
        break;
      case Field::Kind::kRows: {
        at::Tensor rows = tensor();
        TORCH_CHECK_VALUE(!rows.defined() || rows.dim() > 0,
                          "expected rows of state, got a 0-dim tensor");
        field.as_rows() = rows.defined() ? Rows(rows) : Rows();
        break;
      }
    }
  }
}

}  // namespace tally
