#include "tally/state/fields.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tally/state/sole_owner.h"

namespace tally {
namespace {

// Beyond this LibTorch's vectors and threads pay.
constexpr std::int64_t kPlainElements = 4096;

const char* kind_name(Field::Kind kind) {
  switch (kind) {
    case Field::Kind::kInt:
      return "int";
    case Field::Kind::kNumber:
      return "number";
    case Field::Kind::kTensor:
      return "tensor";
    case Field::Kind::kRows:
      return "rows";
    case Field::Kind::kNote:
      return "note";
  }
  return "unknown";
}

const char* merge_name(Merge merge) {
  switch (merge) {
    case Merge::kSum:
      return "sum";
    case Merge::kMin:
      return "min";
    case Merge::kMax:
      return "max";
    case Merge::kCat:
      return "cat";
  }
  return "unknown";
}

template <class T>
T merge_plain(const T& a, const T& b, Merge rule) {
  using std::max;
  using std::min;
  switch (rule) {
    case Merge::kMin:
      return min(a, b);
    case Merge::kMax:
      return max(a, b);
    default:
      if constexpr (std::is_integral_v<T>) {
        // Counts that a forged state claims wrap.
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) +
                              static_cast<Unsigned>(b));
      } else {
        return a + b;
      }
  }
}

at::Tensor merged(const at::Tensor& a, const at::Tensor& b, Merge rule) {
  switch (rule) {
    case Merge::kMin:
      return a.minimum(b);
    case Merge::kMax:
      return a.maximum(b);
    default:
      return a.add(b);
  }
}

// Sums are the large states; minima and maxima are merged into a new tensor.
bool merges_in_place(const at::Tensor& into, const at::Tensor& from,
                     Merge rule) {
  return rule == Merge::kSum && internal::is_sole_owner(into) &&
         !into.requires_grad() && !from.requires_grad() &&
         into.is_non_overlapping_and_dense() &&
         (!into.is_inference() || c10::InferenceMode::is_enabled());
}

void prepare_tensor(const Field& into, const Field& from, const char* owner) {
  at::Tensor& a = into.as_tensor();
  at::Tensor& b = from.as_tensor();
  if (!b.defined()) return;
  if (!a.defined()) {
    if (!b.requires_grad() && !internal::is_sole_owner(b)) b = b.clone();
    from.replaces = true;
    return;
  }
  TORCH_CHECK_VALUE(
      a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
          a.device() == b.device(),
      owner, ": state '", into.name, "' holds ", a.scalar_type(), " ",
      a.sizes(), " on ", a.device(), ", expected the same, got ",
      b.scalar_type(), " ", b.sizes(), " on ", b.device());
  if (!merges_in_place(a, b, into.merge)) {
    b = merged(a, b, into.merge);
    from.replaces = true;
  }
}

// Small states would spend most of an update in the dispatcher.
template <class T>
bool add_plain(const at::Tensor& into, const at::Tensor& from) {
  if (into.scalar_type() != c10::CppTypeToScalarType<T>::value ||
      !into.is_cpu() || !into.is_contiguous() || !from.is_contiguous() ||
      from.is_neg() || into.is_neg() || into.numel() > kPlainElements) {
    return false;
  }
  T* const a = into.mutable_data_ptr<T>();
  const T* const b = from.const_data_ptr<T>();
  // Not read again each time: a[i] might be where it is kept.
  const std::int64_t count = into.numel();
  std::int64_t i = 0;
  // All sums before the first is written: compilers make vectors of that.
  for (; i + 4 <= count; i += 4) {
    const T sum_0 = a[i] + b[i];
    const T sum_1 = a[i + 1] + b[i + 1];
    const T sum_2 = a[i + 2] + b[i + 2];
    const T sum_3 = a[i + 3] + b[i + 3];
    a[i] = sum_0;
    a[i + 1] = sum_1;
    a[i + 2] = sum_2;
    a[i + 3] = sum_3;
  }
  for (; i < count; ++i) a[i] += b[i];
  return true;
}

void commit_tensor(const Field& into, const Field& from) {
  at::Tensor& a = into.as_tensor();
  at::Tensor& b = from.as_tensor();
  if (!b.defined()) return;
  if (from.replaces) {
    a = std::move(b);
  } else {
    if (!add_plain<std::int64_t>(a, b) && !add_plain<double>(a, b)) a.add_(b);
  }
}

}  // namespace

std::string Fields::schema() const {
  std::string text;
  for (const Field& field : list_) {
    text.append(field.name).append(":").append(kind_name(field.kind));
    text.append(":").append(merge_name(field.merge)).append(";");
  }
  return text;
}

void prepare_merge(const Fields& into, const Fields& from, const char* owner) {
  TORCH_INTERNAL_ASSERT(into.size() == from.size(), owner, " has ", into.size(),
                        " and ", from.size(), " fields");
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (into[i].kind == Field::Kind::kTensor) {
      prepare_tensor(into[i], from[i], owner);
    } else if (into[i].kind == Field::Kind::kRows) {
      Rows& rows = into[i].as_rows();
      const Rows& more = from[i].as_rows();
      if (!more.defined()) continue;
      rows.check_append(more, owner, into[i].name);
      rows.reserve_for(more);
    }
  }
}

void commit_merge(const Fields& into, const Fields& from) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Field& a = into[i];
    const Field& b = from[i];
    switch (a.kind) {
      case Field::Kind::kInt:
        a.as_int() = merge_plain(a.as_int(), b.as_int(), a.merge);
        break;
      case Field::Kind::kNumber:
        a.as_number() = merge_plain(a.as_number(), b.as_number(), a.merge);
        break;
      case Field::Kind::kTensor:
        commit_tensor(a, b);
        break;
      case Field::Kind::kRows:
        if (b.as_rows().defined()) a.as_rows().append(b.as_rows());
        break;
      case Field::Kind::kNote:
        a.as_note().append(b.as_note());
        break;
    }
  }
}

bool requires_grad(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const Field& field) {
    switch (field.kind) {
      case Field::Kind::kInt:
      case Field::Kind::kNote:
        return false;
      case Field::Kind::kNumber:
        return field.as_number().requires_grad();
      case Field::Kind::kTensor:
        return field.as_tensor().defined() && field.as_tensor().requires_grad();
      case Field::Kind::kRows:
        return field.as_rows().requires_grad();
    }
    return false;
  });
}

bool detach(const Fields& fields) {
  bool any_beside_cpu = false;
  for (const Field& field : fields) {
    if (field.kind == Field::Kind::kNumber) {
      Number& number = field.as_number();
      if (number.requires_grad()) number = number.detach();
    } else if (field.kind == Field::Kind::kTensor) {
      at::Tensor& tensor = field.as_tensor();
      if (!tensor.defined()) continue;
      if (tensor.requires_grad()) tensor = tensor.detach();
      any_beside_cpu = any_beside_cpu || !tensor.is_cpu();
    } else if (field.kind == Field::Kind::kRows) {
      Rows& rows = field.as_rows();
      if (rows.requires_grad()) rows = rows.detach();
      any_beside_cpu = any_beside_cpu || rows.is_beside_cpu();
    }
  }
  return any_beside_cpu;
}

void unshare(const Fields& fields) {
  for (const Field& field : fields) {
    if (field.kind == Field::Kind::kTensor) {
      at::Tensor& tensor = field.as_tensor();
      if (tensor.defined() && !internal::is_sole_owner(tensor)) {
        tensor = tensor.clone();
      }
    } else if (field.kind == Field::Kind::kRows) {
      Rows own;
      own.append(field.as_rows());
      field.as_rows() = std::move(own);
    }
  }
}

void move_to(const Fields& fields, c10::Device device) {
  for (const Field& field : fields) {
    if (field.kind == Field::Kind::kNumber && !field.as_number().is_plain()) {
      field.as_number() = Number(field.as_number().tensor().to(device));
    } else if (field.kind == Field::Kind::kTensor &&
               field.as_tensor().defined()) {
      field.as_tensor() = field.as_tensor().to(device);
    } else if (field.kind == Field::Kind::kRows) {
      field.as_rows() = field.as_rows().to(device);
    }
  }
}

}  // namespace tally
