#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tally/state/fields.h"

namespace tally {

/// Writes values as self-describing bytes: what travels between ranks and what
/// lies in checkpoints. Little-endian, as every machine LibTorch runs on.
class Encoder {
 public:
  /// Appends to `bytes`.
  explicit Encoder(std::string& bytes) : bytes_(&bytes) {}

  void integer(std::int64_t value) { raw(&value, sizeof(value)); }
  void real(double value) { raw(&value, sizeof(value)); }
  void text(std::string_view value);
  /// Any dense tensor (copied to the CPU if it is elsewhere) or an undefined
  /// one. c10::ValueError for sparse and quantized ones.
  void tensor(const at::Tensor& value);
  /// The values of all fields, without any graph.
  void fields(const Fields& fields);

 private:
  void raw(const void* data, std::size_t size);

  std::string* bytes_;
};

/// Reads what Encoder wrote. Every length is checked against what is left;
/// bytes that do not fit throw c10::ValueError, whatever they hold.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  std::int64_t integer();
  double real();
  std::string text();
  /// On the CPU, in memory of its own.
  at::Tensor tensor();
  /// Fills all fields, in order.
  void fields(const Fields& fields);
  std::size_t remaining() const noexcept { return rest_.size(); }

 private:
  const char* take(std::size_t size);

  std::string_view rest_;
};

}  // namespace tally
