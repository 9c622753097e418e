#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tally/state/fields.h"

namespace tally {
namespace internal {
struct NarrowIntegers;
}

/// Alignment of the data of large tensors in an encoding, in bytes.
inline constexpr std::size_t kAlignment = 64;

/// Encodes values as self-describing bytes, for messages between ranks and for
/// checkpoints. Little-endian, like every machine LibTorch runs on. Counts
/// (int64 tensors) take only as many bytes as their values require.
class Encoder {
 public:
  /// Is told how many of the bytes are final, while the last of them are in
  /// the cache.
  using Written = c10::function_ref<void(std::size_t end)>;

  /// Appends to `bytes`. Of large tensors, calls `written` after each part.
  explicit Encoder(std::string& bytes, Written written = {})
      : bytes_(&bytes), written_(written) {}

  void integer(std::int64_t value) { raw(&value, sizeof(value)); }
  void real(double value) { raw(&value, sizeof(value)); }
  void text(std::string_view value);
  /// Any dense tensor (copied to the CPU if necessary) or an undefined one.
  /// Throws c10::ValueError for sparse and quantized ones.
  void tensor(const at::Tensor& value);
  /// The values of all fields, without any graph.
  void fields(const Fields& fields);

 private:
  void raw(const void* data, std::size_t size);
  void in_parts(const char* data, std::size_t size);

  std::string* bytes_;
  Written written_;
};

/// At least as many bytes as the encoding of these fields takes.
std::size_t encoded_bound(const Fields& fields);

/// Decodes the output of Encoder. Every length is checked against the remaining
/// bytes; malformed bytes of any kind throw c10::ValueError.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}
  /// Large tensors become views into the bytes, which `storage` keeps alive, if
  /// they are suitably aligned: they are if the encoding starts at a multiple
  /// of kAlignment.
  Decoder(std::string_view bytes, at::Tensor storage)
      : rest_(bytes), storage_(std::move(storage)) {}

  std::int64_t integer();
  double real();
  std::string text();
  /// On the CPU; owns its memory, except for views into a storage.
  at::Tensor tensor();
  /// Fills all fields, in order.
  void fields(const Fields& fields);
  /// Skips fields with the given Fields::schema().
  void skip_fields(std::string_view schema);
  std::size_t remaining() const noexcept { return rest_.size(); }

 private:
  struct TensorHeader;

  const char* take(std::size_t size);
  TensorHeader tensor_header();
  internal::NarrowIntegers take_narrow(std::int64_t size);
  at::Tensor narrow(c10::IntArrayRef sizes, std::int64_t elements);
  void take_gap();
  void skip_tensor();

  std::string_view rest_;
  at::Tensor storage_;
};

}  // namespace tally
