#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <type_traits>

/// Reading targets of any dtype, without a copy of all of them.
namespace tally::losses::internal {

/// Where a label is, by strides.
struct Plane {
  const void* data;
  at::ScalarType dtype;
  std::int64_t group, row, position;  ///< strides
};

/// Labels as the kernels read them; the first that is none is put into `wrong`.
template <class S, class T>
void read_labels(const S* from, std::int64_t stride, std::int64_t count,
                 double largest, std::optional<std::int64_t> ignore_index,
                 T* labels, std::optional<double>& wrong) {
  using Wide =
      std::conditional_t<std::is_floating_point_v<S>, double, std::int64_t>;
  const auto most = static_cast<Wide>(largest);
  const bool ignores = ignore_index.has_value();
  const auto ignored = static_cast<Wide>(ignore_index.value_or(0));
  const auto skips = [&](Wide value) { return ignores && value == ignored; };
  const auto is_label = [&](Wide value) { return value >= 0 && value <= most; };
  bool all = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<Wide>(from[i * stride]);
    const bool skip = skips(value), fits = is_label(value);
    labels[i] = fits && !skip ? static_cast<T>(value) : T(-1);
    all = all && (fits || skip);
  }
  for (std::int64_t i = 0; !all && !wrong; ++i) {
    const auto value = static_cast<Wide>(from[i * stride]);
    if (!skips(value) && !is_label(value)) wrong = value;
  }
}

template <class T>
void read_labels(const Plane& plane, std::int64_t first, std::int64_t count,
                 double largest, std::optional<std::int64_t> ignore_index,
                 T* labels, std::optional<double>& wrong) {
  const auto read = [&](auto type) {
    using S = decltype(type);
    read_labels(static_cast<const S*>(plane.data) + first, plane.position,
                count, largest, ignore_index, labels, wrong);
  };
  switch (plane.dtype) {
    case at::kBool:
      return read(bool());
    case at::kByte:
      return read(std::uint8_t());
    case at::kInt:
      return read(std::int32_t());
    case at::kLong:
      return read(std::int64_t());
    case at::kFloat:
      return read(float());
    default:
      return read(double());
  }
}

/// With a dtype that they are read of. REQUIRES: no graph.
inline at::Tensor readable(const at::Tensor& target) {
  switch (target.scalar_type()) {
    case at::kBool:
    case at::kByte:
    case at::kInt:
    case at::kLong:
    case at::kFloat:
    case at::kDouble:
      return target;
    default:
      return target.to(target.is_floating_point() ? at::kFloat : at::kLong);
  }
}

}  // namespace tally::losses::internal
