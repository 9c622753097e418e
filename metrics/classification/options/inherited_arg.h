#pragma once

/// TORCH_ARG in options that others inherit: the setter returns `Self`, the
/// options that inherit it.
#define TALLY_INHERITED_ARG(Self, T, name)                 \
 public:                                                   \
  Self& name(const T& value) {                             \
    this->name##_ = value;                                 \
    return static_cast<Self&>(*this);                      \
  }                                                        \
  const T& name() const noexcept { return this->name##_; } \
                                                           \
 protected:                                                \
  T name##_
