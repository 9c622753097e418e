#include "tally/state/codec.h"

#include <ATen/ops/from_blob.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tally/state/fresh_tensor.h"
#include "tally/state/narrow_integers.h"

namespace tally {
namespace {

// dtype of an undefined tensor
constexpr std::int64_t kUndefined = -1;
constexpr std::int64_t kMaxDimensions = 64;

// How the elements of a tensor are laid out.
enum Layout : std::int64_t {
  kPlain = 0,
  kNarrow = 1,   // see narrow_integers.h
  kAligned = 2,  // behind an integer that counts the bytes to leave out
};
constexpr std::int64_t kNarrowed = 16;                  // elements, or more
constexpr std::size_t kViewed = std::size_t{64} << 10;  // bytes, or more
constexpr std::size_t kPart = std::size_t{64} << 10;    // bytes, in the cache

// A tensor header is one integer: dtype in the low half, dimensions above, the
// layout at the top.
std::int64_t pack_header(std::int64_t dtype, std::int64_t dimensions,
                         Layout layout) {
  return layout << 48 | dimensions << 32 | (dtype & 0xffffffff);
}

}  // namespace

void Encoder::raw(const void* data, std::size_t size) {
  bytes_->append(static_cast<const char*>(data), size);
}

void Encoder::in_parts(const char* data, std::size_t size) {
  while (size > 0) {
    const std::size_t part = std::min(size, kPart);
    raw(data, part);
    if (written_) written_(bytes_->size());
    data += part;
    size -= part;
  }
}

void Encoder::text(std::string_view value) {
  integer(static_cast<std::int64_t>(value.size()));
  raw(value.data(), value.size());
}

void Encoder::tensor(const at::Tensor& value) {
  if (!value.defined()) {
    integer(pack_header(kUndefined, 0, kPlain));
    return;
  }
  TORCH_CHECK_VALUE(value.layout() == at::kStrided && !value.is_quantized(),
                    "expected a dense tensor, got ", value.toString());
  at::Tensor dense = value.requires_grad() ? value.detach() : value;
  if (!dense.is_cpu()) dense = dense.cpu();
  if (dense.is_conj()) dense = dense.resolve_conj();
  if (dense.is_neg()) dense = dense.resolve_neg();
  dense = dense.contiguous();
  const bool counts =
      dense.scalar_type() == at::kLong && dense.numel() >= kNarrowed;
  const Layout layout = counts                      ? kNarrow
                        : dense.nbytes() >= kViewed ? kAligned
                                                    : kPlain;
  integer(pack_header(static_cast<std::int64_t>(dense.scalar_type()),
                      dense.dim(), layout));
  for (std::int64_t size : dense.sizes()) integer(size);
  if (layout == kNarrow) {
    internal::append_narrow(
        *bytes_, static_cast<const std::int64_t*>(dense.const_data_ptr()),
        dense.numel(), written_);
    return;
  }
  if (layout == kAligned) {
    bytes_->reserve(bytes_->size() + dense.nbytes() + 2 * kAlignment);
    const std::size_t behind = bytes_->size() + sizeof(std::int64_t);
    const std::size_t gap = (kAlignment - behind % kAlignment) % kAlignment;
    integer(static_cast<std::int64_t>(gap));
    bytes_->append(gap, '\0');
  }
  if (dense.numel() == 0) return;
  in_parts(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
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
      case Field::Kind::kNote: {
        const Note& note = field.as_note();
        integer(note.rows());
        integer(note.count());
        integer(note.first());
        break;
      }
    }
  }
}

std::size_t encoded_bound(const Fields& fields) {
  std::size_t most = 0;
  const auto add = [&](const at::Tensor& value) {
    if (!value.defined()) return;
    const auto elements = static_cast<std::size_t>(value.numel());
    most += value.nbytes() + elements / internal::kNarrowBlock +
            2 * kAlignment +
            sizeof(std::int64_t) * static_cast<std::size_t>(value.dim());
  };
  for (const Field& field : fields) {
    most += 3 * sizeof(std::int64_t);
    if (field.kind == Field::Kind::kTensor) add(field.as_tensor());
    if (field.kind == Field::Kind::kRows) add(field.as_rows().tensor());
  }
  return most;
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

struct Decoder::TensorHeader {
  bool defined = false;
  c10::ScalarType type = c10::ScalarType::Undefined;
  std::int64_t layout = kPlain;
  c10::SmallVector<std::int64_t, 5> sizes = {};
  std::int64_t elements = 0;

  std::size_t bytes() const {
    return static_cast<std::size_t>(elements) * c10::elementSize(type);
  }
};

Decoder::TensorHeader Decoder::tensor_header() {
  const std::int64_t header = integer();
  const std::int64_t dtype = static_cast<std::int32_t>(header & 0xffffffff);
  const std::int64_t dimensions = header >> 32 & 0xffff;
  const std::int64_t layout = header >> 48;
  if (dtype == kUndefined) return {};
  TORCH_CHECK_VALUE(
      dtype >= 0 &&
          dtype < static_cast<std::int64_t>(c10::ScalarType::NumOptions) &&
          dimensions <= kMaxDimensions && layout >= kPlain &&
          layout <= kAligned &&
          (layout != kNarrow ||
           dtype == static_cast<std::int64_t>(c10::ScalarType::Long)),
      "expected a tensor of state, got header ", header);
  const auto type = static_cast<c10::ScalarType>(dtype);
  TORCH_CHECK_VALUE(type != c10::ScalarType::Undefined &&
                        !c10::isQIntType(type) && !c10::isBitsType(type),
                    "expected a tensor of state, got dtype ", type);
  c10::SmallVector<std::int64_t, 5> sizes(static_cast<std::size_t>(dimensions));
  bool empty = false;
  for (std::int64_t& size : sizes) {
    size = integer();
    TORCH_CHECK_VALUE(size >= 0, "expected a tensor of state, got size ", size);
    empty = empty || size == 0;
  }
  // The element count is bounded by the bytes at hand before it can overflow;
  // strides of empty tensors must not overflow either.
  // A block of narrow integers takes a byte at least.
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  const auto rest = static_cast<std::int64_t>(rest_.size());
  const std::int64_t limit =
      empty
          ? std::numeric_limits<std::int64_t>::max() / width
          : (layout == kNarrow ? rest * internal::kNarrowBlock : rest / width);
  std::int64_t elements = 1;
  for (std::int64_t size : sizes) {
    if (size == 0) continue;
    TORCH_CHECK_VALUE(size <= limit / elements, "expected a tensor of state ",
                      "within ", limit, " elements, got sizes ",
                      c10::IntArrayRef(sizes));
    elements *= size;
  }
  if (empty) elements = 0;
  return {true, type, layout, std::move(sizes), elements};
}

at::Tensor Decoder::tensor() {
  const TensorHeader header = tensor_header();
  if (!header.defined) return {};
  if (header.layout == kNarrow) return narrow(header.sizes, header.elements);
  if (header.layout == kAligned) take_gap();
  const char* data = take(header.bytes());
  if (storage_.defined() && header.layout == kAligned &&
      reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0) {
    return at::from_blob(
        const_cast<char*>(data), header.sizes, [storage = storage_](void*) {},
        header.type);
  }
  at::Tensor value = internal::fresh_tensor(header.sizes, header.type);
  if (header.elements > 0) {
    std::memcpy(value.mutable_data_ptr(), data, value.nbytes());
  }
  return value;
}

void Decoder::take_gap() {
  const std::int64_t gap = integer();
  TORCH_CHECK_VALUE(gap >= 0, "expected a gap in the state, got ", gap);
  take(static_cast<std::size_t>(gap));
}

void Decoder::skip_tensor() {
  const TensorHeader header = tensor_header();
  if (!header.defined) return;
  if (header.layout == kNarrow) {
    take_narrow(header.elements);
    return;
  }
  if (header.layout == kAligned) take_gap();
  take(header.bytes());
}

internal::NarrowIntegers Decoder::take_narrow(std::int64_t size) {
  internal::NarrowIntegers integers;
  integers.size = size;
  integers.widths = take(integers.blocks());
  integers.data = take(integers.bytes());
  return integers;
}

at::Tensor Decoder::narrow(c10::IntArrayRef sizes, std::int64_t elements) {
  const internal::NarrowIntegers integers = take_narrow(elements);
  at::Tensor value = internal::fresh_tensor(sizes, at::kLong);
  integers.read(static_cast<std::int64_t*>(value.mutable_data_ptr()));
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
      case Field::Kind::kNote: {
        const std::int64_t rows = integer(), count = integer(),
                           first = integer();
        TORCH_CHECK_VALUE(Note::are_valid(rows, count, first),
                          "expected a note of state, got ", count, " of ", rows,
                          " rows from ", first);
        field.as_note().set(rows, count, first);
        break;
      }
    }
  }
}

void Decoder::skip_fields(std::string_view schema) {
  while (!schema.empty()) {
    const std::size_t end = schema.find(';');
    const std::string_view field = schema.substr(0, end);
    const std::size_t name = field.find(':');
    const std::string_view kind =
        name == field.npos
            ? field
            : field.substr(name + 1, field.find(':', name + 1) - name - 1);
    if (kind == "int" || kind == "number") {
      take(sizeof(std::int64_t));
    } else if (kind == "note") {
      take(3 * sizeof(std::int64_t));
    } else {
      TORCH_CHECK_VALUE(kind == "tensor" || kind == "rows",
                        "expected fields of state, got '", std::string(field),
                        "'");
      skip_tensor();
    }
    schema.remove_prefix(end == schema.npos ? schema.size() : end + 1);
  }
}

}  // namespace tally
