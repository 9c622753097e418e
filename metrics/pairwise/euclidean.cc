#include "tally/metrics/pairwise/euclidean.h"

#include <ATen/ops/_cdist_backward.h>
#include <ATen/ops/_cdist_forward.h>

#include <algorithm>
#include <cstdint>

namespace tally::internal::pairwise {
namespace {

// Squares of less than this part of those from the common point are of near
// pairs.
constexpr double kNear = 0.1;
// Where more than one of so many pairs is near, all are taken by differences.
constexpr std::int64_t kFew = 8;
// So many numbers of differences at a time.
constexpr std::int64_t kNumbers = 1 << 20;

// Rows from the first of x.
struct Centred {
  Centred(const at::Tensor& of_x, const at::Tensor& of_y)
      : x(of_x.sub(of_x.narrow(0, 0, 1))),
        y(of_y.sub(of_x.narrow(0, 0, 1))),
        squares(x.square()
                    .sum(at::IntArrayRef{1}, /*keepdim=*/true)
                    .add(y.square().sum(at::IntArrayRef{1}))) {}

  // Those that are NaN are near, too, and so are equal ones.
  at::Tensor near(const at::Tensor& squared_distances) const {
    return squared_distances.gt(squares.mul(kNear)).logical_not();
  }

  at::Tensor x, y;
  at::Tensor squares;  // of both rows of each pair
};

bool are_few(const at::Tensor& near) {
  return near.sum().item().toLong() * kFew <= near.numel();
}

// Calls visit(rows of x, rows of y) for the near pairs, some at a time.
template <class Visit>
void for_each_near(const at::Tensor& near, std::int64_t columns,
                   const Visit& visit) {
  const at::Tensor places = near.nonzero();
  const std::int64_t some = std::max<std::int64_t>(kNumbers / columns, 1);
  for (std::int64_t i = 0; i < places.size(0); i += some) {
    const at::Tensor part =
        places.narrow(0, i, std::min(some, places.size(0) - i));
    visit(part.select(1, 0), part.select(1, 1));
  }
}

at::Tensor differences(const at::Tensor& x, const at::Tensor& y,
                       const at::Tensor& of_x, const at::Tensor& of_y) {
  return x.index_select(0, of_x).sub_(y.index_select(0, of_y));
}

// Where pairs are in a matrix of all, row by row.
at::Tensor in_line(const at::Tensor& of_x, const at::Tensor& of_y,
                   std::int64_t rows_of_y) {
  return of_x.mul(rows_of_y).add_(of_y);
}

}  // namespace

at::Tensor euclidean_by_products(const at::Tensor& x, const at::Tensor& y) {
  const Centred centred(x, y);
  at::Tensor squares =
      centred.squares.sub(centred.x.matmul(centred.y.t()).mul_(2));
  const at::Tensor near = centred.near(squares);
  if (!are_few(near)) return at::_cdist_forward(x, y, 2, /*compute_mode=*/2);
  for_each_near(near, x.size(1),
                [&](const at::Tensor& of_x, const at::Tensor& of_y) {
                  squares.view({-1}).index_copy_(
                      0, in_line(of_x, of_y, y.size(0)),
                      differences(x, y, of_x, of_y).square_().sum(1));
                });
  return squares.sqrt_();
}

at::Tensor euclidean_backward(const at::Tensor& gradient, const at::Tensor& x,
                              const at::Tensor& y,
                              const at::Tensor& distances) {
  const Centred centred(x, y);
  const at::Tensor near = centred.near(distances.square());
  if (!are_few(near)) {
    return at::_cdist_backward(gradient.contiguous(), x, y, 2,
                               distances.contiguous());
  }
  const at::Tensor slopes = gradient.div(distances).masked_fill_(near, 0);
  at::Tensor result =
      centred.x.mul(slopes.sum(at::IntArrayRef{1}, /*keepdim=*/true))
          .sub_(slopes.matmul(centred.y));
  for_each_near(
      near, x.size(1), [&](const at::Tensor& of_x, const at::Tensor& of_y) {
        const at::Tensor places = in_line(of_x, of_y, y.size(0));
        const auto at_places = [&](const at::Tensor& of) {
          return of.reshape({-1}).index_select(0, places);
        };
        const at::Tensor lengths = at_places(distances);
        const at::Tensor slope =
            at_places(gradient).div_(lengths).masked_fill_(lengths.eq(0), 0);
        result.index_add_(
            0, of_x, differences(x, y, of_x, of_y).mul_(slope.unsqueeze(1)));
      });
  return result;
}

}  // namespace tally::internal::pairwise
