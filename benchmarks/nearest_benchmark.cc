// VectorQuantize's search for the nearest code over a plain argmax of ATen's,
// whose answer depends on batch, threads and processor: see README.md.

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/target.h"
#include "tally/losses/codebook/nearest_codes.h"

namespace {

using tally::benchmarks::microseconds;
using tally::benchmarks::quantile;

at::Tensor argmax(const at::Tensor& tokens, const at::Tensor& codes,
                  bool cosine) {
  const at::Tensor half_squares = codes.square().sum(-1).div(2);
  const std::int64_t rows = std::max<std::int64_t>(
      1, (16 << 20) / (codes.size(0) * codes.element_size()));
  std::vector<at::Tensor> indices;
  for (const at::Tensor& piece : tokens.split(rows)) {
    at::Tensor products = piece.matmul(codes.t());
    if (!cosine) products.sub_(half_squares);
    indices.push_back(products.argmax(-1));
  }
  return at::cat(indices);
}

at::Tensor unit(const at::Tensor& rows) {
  return rows.div(rows.norm(2, {1}, /*keepdim=*/true));
}

void compare(std::int64_t tokens, std::int64_t codes, std::int64_t dims,
             bool cosine) {
  at::Tensor x = at::randn({tokens, dims});
  at::Tensor c = at::randn({codes, dims});
  if (cosine) x = unit(x), c = unit(c);
  std::vector<double> ours, plain;
  double spent = 0;
  while (spent < 5e5 || ours.size() < 5) {
    ours.push_back(
        microseconds([&] { tally::losses::internal::nearest(x, c, cosine); }));
    plain.push_back(microseconds([&] { argmax(x, c, cosine); }));
    spent += ours.back() + plain.back();
  }
  const double best = quantile(ours, 0), other = quantile(plain, 0);
  std::printf(
      "%-9s %6lld tokens %6lld codes %4lld dims  %10.1f us  argmax %10.1f us  "
      "ratio %.2f  median %.2f\n",
      cosine ? "cosine" : "euclidean", static_cast<long long>(tokens),
      static_cast<long long>(codes), static_cast<long long>(dims), best, other,
      best / other, quantile(ours, 0.5) / quantile(plain, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  for (const bool cosine : {false, true}) {
    compare(1, 512, 64, cosine);
    compare(8, 1024, 64, cosine);
    compare(64, 1024, 256, cosine);
    compare(4096, 16, 4, cosine);
    compare(4096, 512, 64, cosine);
    compare(8192, 1024, 256, cosine);
    compare(4096, 16384, 32, cosine);
    compare(65536, 8192, 8, cosine);
  }
}
