#include "tally/tests/storm/calls.h"

#include <ATen/ops/empty.h>

#include <stdexcept>

#include "tally/state/codec.h"

namespace tally::storm {
namespace {

/// Of float64, or int64, drawn one by one.
template <class Number, class Next>
at::Tensor filled(const std::vector<std::int64_t>& sizes, const Next& next) {
  at::Tensor tensor = at::empty(sizes, c10::CppTypeToScalarType<Number>::value);
  auto* const data = tensor.mutable_data_ptr<Number>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) data[i] = next();
  return tensor;
}

}  // namespace

Draw::Draw(unsigned seed)
    : rank_(sync::default_communicator()->rank()),
      ranks_(sync::default_communicator()->size()),
      draws_few_rows_(seed >= kFewRows),
      shared_(seed),
      own_(seed * 64 + 1 + static_cast<unsigned>(rank_)) {}

std::int64_t Draw::shared(std::int64_t limit) { return shared_() % limit; }
std::int64_t Draw::own(std::int64_t limit) { return own_() % limit; }

at::Tensor Draw::values(std::vector<std::int64_t> sizes) {
  return filled<double>(sizes,
                        [&] { return static_cast<double>(own(17)) - 8; });
}

at::Tensor Draw::scores(std::vector<std::int64_t> sizes) {
  return filled<double>(sizes,
                        [&] { return static_cast<double>(own(1024)) / 1024; });
}

at::Tensor Draw::labels(std::int64_t rows, std::int64_t classes) {
  return filled<std::int64_t>({rows}, [&] { return own(classes); });
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void append(std::string& bytes, const at::Tensor& tensor) {
  Encoder(bytes).tensor(tensor);
}

}  // namespace tally::storm
