#include "tally/tests/testing/sum_order.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_fft_c2c_cpu_dispatch.h>
#include <ATen/ops/_fft_c2r_cpu_dispatch.h>
#include <ATen/ops/_fft_r2c_cpu_dispatch.h>
#include <ATen/ops/_linalg_det_cpu_dispatch.h>
#include <ATen/ops/_linalg_eigh_cpu_dispatch.h>
#include <ATen/ops/_linalg_solve_ex_cpu_dispatch.h>
#include <ATen/ops/_linalg_svd_cpu_dispatch.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/addmv_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/dot_cpu_dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_cholesky_ex_cpu_dispatch.h>
#include <ATen/ops/linalg_vector_norm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/std_cpu_dispatch.h>
#include <ATen/ops/sum_cpu_dispatch.h>
#include <ATen/ops/var_cpu_dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "tally/metrics/common/hash.h"

namespace tally::testkit {
namespace {

using tally::internal::mixed;

// 0: LibTorch's own order.
std::atomic<std::uint64_t> seed_in_use{0};

std::uint64_t with(std::uint64_t key, std::int64_t number) {
  return mixed(key ^ mixed(static_cast<std::uint64_t>(number)));
}

std::uint64_t with(std::uint64_t key, at::IntArrayRef sizes) {
  for (const std::int64_t size : sizes) key = with(key, size);
  return key;
}

std::uint64_t with_threads(std::uint64_t key) {
  key = with(key, at::get_num_threads());
  key = with(key, at::get_thread_num());
  return with(key, static_cast<std::int64_t>(at::in_parallel_region()));
}

std::uint64_t key_of(at::IntArrayRef sizes, bool by_threads) {
  const std::uint64_t key = with(seed_in_use.load(), sizes);
  return by_threads ? with_threads(key) : key;
}

at::Tensor permutation(std::int64_t count, std::uint64_t key) {
  at::Tensor places = at::empty({count}, at::kLong);
  auto* const place = places.mutable_data_ptr<std::int64_t>();
  std::iota(place, place + count, 0);
  for (std::int64_t i = count - 1; i > 0; --i) {
    key = mixed(key);
    std::swap(place[i], place[key % static_cast<std::uint64_t>(i + 1)]);
  }
  return places;
}

bool is_real(const at::Tensor& tensor) {
  return seed_in_use.load() != 0 && tensor.is_floating_point() &&
         tensor.numel() != 0;
}

// LibTorch's own kernels, past the dispatcher.
at::Tensor own_product(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == 3 ? at::cpu::bmm(a, b) : at::cpu::mm(a, b);
}

// [.., M, K] times [.., K, N], with an order of its own for every other row and
// column.
at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!is_real(a) || !is_real(b)) return own_product(a, b);
  const std::int64_t columns = b.size(-1);
  auto sizes = a.sizes().vec();
  sizes.back() = columns;
  at::Tensor result = at::empty(sizes, a.options());
  const std::uint64_t key = with(key_of(a.sizes(), true), columns);
  for (std::int64_t parity = 0; parity < 2; ++parity) {
    const at::Tensor places = permutation(a.size(-1), with(key, parity));
    // Whole rows are quickly copied.
    const at::Tensor left =
        a.transpose(-1, -2).contiguous().index_select(-2, places);
    const at::Tensor right = b.index_select(-2, places);
    for (std::int64_t row = 0; row < std::min<std::int64_t>(a.size(-2), 2);
         ++row) {
      const std::int64_t column = row ^ parity;
      if (column >= columns) continue;
      result.slice(-2, row, std::nullopt, 2)
          .slice(-1, column, std::nullopt, 2)
          .copy_(own_product(
              left.slice(-1, row, std::nullopt, 2).transpose(-1, -2),
              right.slice(-1, column, std::nullopt, 2)));
    }
  }
  return result;
}

at::Tensor& given(at::Tensor& out, const at::Tensor& result) {
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

at::Tensor product_added(const at::Tensor& self, const at::Tensor& a,
                         const at::Tensor& b, const at::Scalar& beta,
                         const at::Scalar& alpha) {
  const at::Tensor scaled = product(a, b).mul(alpha);
  return beta.toDouble() == 0 ? scaled : scaled.add(self, beta);
}

at::Tensor& product_added_in_place(at::Tensor& self, const at::Tensor& a,
                                   const at::Tensor& b, const at::Scalar& beta,
                                   const at::Scalar& alpha) {
  return self.copy_(product_added(self, a, b, beta, alpha));
}

at::Tensor& product_added_out(const at::Tensor& self, const at::Tensor& a,
                              const at::Tensor& b, const at::Scalar& beta,
                              const at::Scalar& alpha, at::Tensor& out) {
  return given(out, product_added(self, a, b, beta, alpha));
}

at::Tensor& product_out(const at::Tensor& a, const at::Tensor& b,
                        at::Tensor& out) {
  return given(out, product(a, b));
}

at::Tensor vector_added(const at::Tensor& self, const at::Tensor& matrix,
                        const at::Tensor& vector, const at::Scalar& beta,
                        const at::Scalar& alpha) {
  const at::Tensor scaled =
      product(matrix, vector.unsqueeze(1)).squeeze(1).mul(alpha);
  return beta.toDouble() == 0 ? scaled : scaled.add(self, beta);
}

at::Tensor& vector_added_in_place(at::Tensor& self, const at::Tensor& matrix,
                                  const at::Tensor& vector,
                                  const at::Scalar& beta,
                                  const at::Scalar& alpha) {
  return self.copy_(vector_added(self, matrix, vector, beta, alpha));
}

at::Tensor& vector_added_out(const at::Tensor& self, const at::Tensor& matrix,
                             const at::Tensor& vector, const at::Scalar& beta,
                             const at::Scalar& alpha, at::Tensor& out) {
  return given(out, vector_added(self, matrix, vector, beta, alpha));
}

at::Tensor dot(const at::Tensor& a, const at::Tensor& b) {
  if (!is_real(a) || a.numel() != b.numel()) return at::cpu::dot(a, b);
  const at::Tensor places =
      permutation(a.numel(), key_of(a.sizes(), /*by_threads=*/true));
  return at::cpu::dot(a.index_select(0, places), b.index_select(0, places));
}

// `self` with the places along `dims` (all, if there are none) in another
// order: a reduction over them is the same one.
at::Tensor reordered(const at::Tensor& self, at::OptionalIntArrayRef dims) {
  if (!is_real(self) || self.dim() == 0) return self;
  const bool has_threads = self.numel() >= at::internal::GRAIN_SIZE &&
                           at::get_num_threads() > 1 &&
                           !at::in_parallel_region();
  const std::uint64_t key = key_of(self.sizes(), has_threads);
  const bool all = !dims.has_value() || dims->empty();
  at::Tensor result = self;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    const bool is_reduced =
        all || std::any_of(dims->begin(), dims->end(), [&](std::int64_t dim) {
          return dim == d || dim == d - self.dim();
        });
    if (!is_reduced || self.size(d) < 2) continue;
    result = result.index_select(d, permutation(self.size(d), with(key, d)));
  }
  return result;
}

at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dims,
               bool keepdim, std::optional<at::ScalarType> dtype) {
  return at::cpu::sum(reordered(self, dims), dims, keepdim, dtype);
}

at::Tensor& sum_out(const at::Tensor& self, at::OptionalIntArrayRef dims,
                    bool keepdim, std::optional<at::ScalarType> dtype,
                    at::Tensor& out) {
  return at::cpu::sum_outf(reordered(self, dims), dims, keepdim, dtype, out);
}

at::Tensor vector_norm(const at::Tensor& self, const at::Scalar& ord,
                       at::OptionalIntArrayRef dims, bool keepdim,
                       std::optional<at::ScalarType> dtype) {
  return at::cpu::linalg_vector_norm(reordered(self, dims), ord, dims, keepdim,
                                     dtype);
}

at::Tensor& vector_norm_out(const at::Tensor& self, const at::Scalar& ord,
                            at::OptionalIntArrayRef dims, bool keepdim,
                            std::optional<at::ScalarType> dtype,
                            at::Tensor& out) {
  return at::cpu::linalg_vector_norm_outf(reordered(self, dims), ord, dims,
                                          keepdim, dtype, out);
}

at::Tensor variance(const at::Tensor& self, at::OptionalIntArrayRef dims,
                    const std::optional<at::Scalar>& correction, bool keepdim) {
  return at::cpu::var(reordered(self, dims), dims, correction, keepdim);
}

at::Tensor deviation(const at::Tensor& self, at::OptionalIntArrayRef dims,
                     const std::optional<at::Scalar>& correction,
                     bool keepdim) {
  return at::cpu::std(reordered(self, dims), dims, correction, keepdim);
}

// Some numbers by their last bit more or less, as rounding may have it.
at::Tensor disturbed(const at::Tensor& self) {
  if (seed_in_use.load() == 0 || self.numel() == 0) return self;
  const at::Tensor real = self.is_complex() ? self.abs() : self;
  if (real.scalar_type() != at::kDouble && real.scalar_type() != at::kFloat) {
    return self;
  }
  const double step = real.scalar_type() == at::kDouble ? 0x1p-52 : 0x1p-23;
  at::Tensor factors = at::empty(self.sizes(), at::kDouble);
  auto* const factor = factors.mutable_data_ptr<double>();
  std::uint64_t key = key_of(self.sizes(), /*by_threads=*/true);
  for (std::int64_t i = 0; i < factors.numel(); ++i) {
    key = mixed(key);
    factor[i] = 1 + step * (static_cast<double>(key % 3) - 1);
  }
  return self.mul(factors.to(real.scalar_type()));
}

std::tuple<at::Tensor, at::Tensor> eigh(const at::Tensor& a,
                                        c10::string_view triangle,
                                        bool with_vectors) {
  return at::cpu::_linalg_eigh(disturbed(a), triangle, with_vectors);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> svd(
    const at::Tensor& a, bool full_matrices, bool with_vectors,
    std::optional<c10::string_view> driver) {
  return at::cpu::_linalg_svd(disturbed(a), full_matrices, with_vectors,
                              driver);
}

std::tuple<at::Tensor, at::Tensor> cholesky(const at::Tensor& a, bool upper,
                                            bool check_errors) {
  return at::cpu::linalg_cholesky_ex(disturbed(a), upper, check_errors);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> solve(
    const at::Tensor& a, const at::Tensor& b, bool left, bool check_errors) {
  return at::cpu::_linalg_solve_ex(disturbed(a), b, left, check_errors);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> determinant(
    const at::Tensor& a) {
  return at::cpu::_linalg_det(disturbed(a));
}

at::Tensor fft_of_real(const at::Tensor& self, at::IntArrayRef dims,
                       std::int64_t normalization, bool onesided) {
  return at::cpu::_fft_r2c(disturbed(self), dims, normalization, onesided);
}

at::Tensor fft_to_real(const at::Tensor& self, at::IntArrayRef dims,
                       std::int64_t normalization, std::int64_t last_size) {
  return at::cpu::_fft_c2r(disturbed(self), dims, normalization, last_size);
}

at::Tensor fft(const at::Tensor& self, at::IntArrayRef dims,
               std::int64_t normalization, bool forward) {
  return at::cpu::_fft_c2c(disturbed(self), dims, normalization, forward);
}

// The dispatcher warns of kernels that are replaced.
class Quiet : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

void replace_kernels() {
  Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  // For the rest of the process: other threads may be using them.
  static auto& library = *new torch::Library(
      torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
  library.impl("mm", product);
  library.impl("mm.out", product_out);
  library.impl("bmm", product);
  library.impl("bmm.out", product_out);
  library.impl("addmm", product_added);
  library.impl("addmm_", product_added_in_place);
  library.impl("addmm.out", product_added_out);
  library.impl("baddbmm", product_added);
  library.impl("baddbmm_", product_added_in_place);
  library.impl("baddbmm.out", product_added_out);
  library.impl("addmv", vector_added);
  library.impl("addmv_", vector_added_in_place);
  library.impl("addmv.out", vector_added_out);
  library.impl("dot", dot);
  library.impl("sum.dim_IntList", sum);
  library.impl("sum.IntList_out", sum_out);
  library.impl("linalg_vector_norm", vector_norm);
  library.impl("linalg_vector_norm.out", vector_norm_out);
  library.impl("var.correction", variance);
  library.impl("std.correction", deviation);
  library.impl("_linalg_eigh", eigh);
  library.impl("_linalg_svd", svd);
  library.impl("linalg_cholesky_ex", cholesky);
  library.impl("_linalg_solve_ex", solve);
  library.impl("_linalg_det", determinant);
  library.impl("_fft_r2c", fft_of_real);
  library.impl("_fft_c2r", fft_to_real);
  library.impl("_fft_c2c", fft);
}

std::uint64_t use(std::uint64_t seed) {
  [[maybe_unused]] static const bool replaced = [] {
    replace_kernels();
    return true;
  }();
  return seed_in_use.exchange(seed);
}

[[maybe_unused]] const bool kIsChosen = [] {
  const char* const text = std::getenv("TALLY_SUM_ORDER");
  if (text == nullptr || *text == '\0') return false;
  char* end = nullptr;
  const std::uint64_t seed = std::strtoull(text, &end, 10);
  if (seed == 0 || *end != '\0') {
    std::fprintf(stderr,
                 "TALLY_SUM_ORDER: expected a seed of 1 or more, got %s\n",
                 text);
    std::exit(1);
  }
  use(seed);
  return true;
}();

}  // namespace

SumOrder::SumOrder(std::uint64_t seed) : before_(use(seed)) {}

SumOrder::~SumOrder() { use(before_); }

}  // namespace tally::testkit
