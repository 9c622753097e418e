#include "tally/losses/boxes/box_overlap_loss.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/labeled_losses.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using namespace testkit;  // NOLINT(google-build-using-namespace)
using Tensors = std::vector<at::Tensor>;

const auto overlap_loss = made<BoxOverlapLoss, BoxOverlapLossOptions>;
const std::vector<const char*> kOverlaps = {"iou", "giou", "diou", "ciou"};

/// [N, 4], of any corners and sides.
at::Tensor boxes_of(const at::Tensor& numbers) {
  const at::Tensor first = numbers.narrow(1, 0, 2);
  return at::cat({first, first.add(numbers.narrow(1, 2, 2).exp())}, 1);
}

TEST(BoxOverlapLossTest, GivesWhatTorchvisionDoes) {
  check_peers("BoxOverlapLoss", overlap_loss);
}

TEST(BoxOverlapLossTest, IsThatOfTheGlobalBatch) {
  for (const char* const overlap : kOverlaps) {
    SCOPED_TRACE(overlap);
    LossSubject subject;
    subject.make = [loss = overlap_loss({{"overlap", overlap}})] {
      const at::Tensor weight = normal_rows({3, 4}, 3).requires_grad_();
      return LossInstance{[loss, weight](const Tensors& batch) {
                            return loss(boxes_of(batch[0].matmul(weight)),
                                        batch[1]);
                          },
                          {{"weight", weight}}};
    };
    subject.batch = {normal_rows({11, 3}, 1),
                     boxes_of(normal_rows({11, 4}, 2))};
    // The weight of aspect ratios is a constant.
    subject.numerical = std::string(overlap) != "ciou";
    check_loss(subject);
    if (!subject.numerical) continue;
    subject.ranks = {3};
    check_second_derivatives(subject);
  }
}

TEST(BoxOverlapLossTest, BoxesWithoutAreasHaveNoNan) {
  // A point, a line and a square.
  const at::Tensor boxes =
      at::tensor({1.0, 1.0, 1.0, 1.0, 0.0, 2.0, 3.0, 2.0, 0.0, 0.0, 2.0, 2.0},
                 at::kDouble)
          .view({3, 4});
  for (const BoxOverlap overlap : {BoxOverlap::kIoU, BoxOverlap::kGIoU,
                                   BoxOverlap::kDIoU, BoxOverlap::kCIoU}) {
    at::Tensor x = boxes.clone().requires_grad_();
    const at::Tensor all =
        functional::box_overlaps(x.unsqueeze(1), boxes, overlap);
    EXPECT_EQ(all.sizes(), at::IntArrayRef({3, 3}));
    EXPECT_EQ(all[0][0].item<double>(), 0);
    EXPECT_EQ(all[1][1].item<double>(), 0);
    EXPECT_EQ(all[2][2].item<double>(), 1);
    all.sum().backward();
    EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
    // A point on itself.
    at::Tensor point = boxes.narrow(0, 0, 1).clone().requires_grad_();
    functional::box_overlap_loss(point, boxes.narrow(0, 0, 1), overlap)
        .backward();
    EXPECT_EQ(point.grad().abs().sum().item<double>(), 0);
  }
}

TEST(BoxOverlapLossTest, IsZeroWithoutBoxes) {
  at::Tensor none = at::zeros({0, 4}, at::kDouble).requires_grad_();
  const at::Tensor loss = overlap_loss({})(none, none.detach());
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
}

THREAD_RANKS_TEST(BoxOverlapLossTest, SendsTwoNumbers, 2) {
  const auto sent = [&](std::int64_t rows) {
    const at::Tensor boxes = boxes_of(normal_rows({rows, 4}, 1));
    return bytes_sent(self, overlap_loss({}), boxes, boxes);
  };
  EXPECT_EQ(sent(1000 * self.rank()), sent(2));
}

THREAD_RANKS_TEST(BoxOverlapLossTest, TellsOtherRanksOfBadInput, 2) {
  const at::Tensor x = boxes_of(normal_rows({3, 4}, 1));
  at::Tensor broken = x.clone();
  broken[1][2] = broken[1][0] - 1;
  const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                           const std::string& message) {
    expect_refused_on_all_ranks(self, overlap_loss({}), x, x, preds, target,
                                "BoxOverlapLoss: expected " + message);
  };
  refused(broken, x,
          "boxes [left, top, right, bottom] of width and height at least 0, "
          "but box 1 is not");
  refused(x, x.narrow(0, 0, 2),
          "preds and target of one size [N, 4], got [3, 4] and [2, 4]");
  refused(x, x.narrow(1, 0, 3),
          "boxes of size [..., 4] and a floating dtype, got CPUDoubleType [3, "
          "3]");
}

}  // namespace
}  // namespace tally::losses
