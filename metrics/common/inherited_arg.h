#pragma once

/// TORCH_ARG for inherited options: the setter returns `Self`, the derived
/// options.
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
