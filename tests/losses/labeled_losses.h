#pragma once

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/rank.h"
#include "tally/tests/losses/fixture_options.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"

/// What tests of losses of scores and labels have in common.
namespace tally::testkit {

using LabelledLoss = std::function<at::Tensor(const at::Tensor& preds,
                                              const at::Tensor& target)>;

/// A loss with options as texts.
template <class Module, class Options>
LabelledLoss made(const OptionTexts& texts) {
  Options options;
  parse_options(options, "options", texts);
  return [module = Module(options)](const at::Tensor& x,
                                    const at::Tensor& y) mutable {
    return module->forward(x, y);
  };
}

/// One of several losses that a test is about, with options.
struct NamedLoss {
  const char* name;
  LabelledLoss (*make)(const OptionTexts&);
  OptionTexts options = {};
  bool twice = false;  ///< whether it has second derivatives

  LabelledLoss loss() const { return make(options); }
};

/// Classes, of any sizes, in no order.
inline at::Tensor labels_of(at::IntArrayRef sizes, std::int64_t below) {
  return at::arange(c10::multiply_integers(sizes), at::kLong)
      .mul(7)
      .remainder(11)
      .remainder(below)
      .view(sizes);
}

/// The loss of scores that a linear layer gives for rows: [N] for one output,
/// otherwise [N, outputs].
inline LossSubject subject_of_scores(const LabelledLoss& loss,
                                     const at::Tensor& rows,
                                     const at::Tensor& target,
                                     std::int64_t outputs) {
  LossSubject subject;
  std::vector<std::int64_t> sizes = {rows.size(-1)};
  if (outputs > 1) sizes.push_back(outputs);
  subject.make = [loss, sizes] {
    const at::Tensor weight = normal_rows(sizes, 3).requires_grad_();
    return LossInstance{[loss, weight](const std::vector<at::Tensor>& batch) {
                          return loss(batch[0].matmul(weight), batch[1]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {rows, target};
  return subject;
}

/// Compares value and gradient with those of data/peers/<name>.json.
template <class Make>
void check_peers(const std::string& name, const Make& make) {
  for (const FixtureCase& fixture : read_fixture("peers/" + name)) {
    SCOPED_TRACE(name + ", " + fixture.name);
    const std::vector<at::Tensor> inputs = tensors_of(fixture);
    at::Tensor scores = inputs[0];
    scores.requires_grad_();
    const at::Tensor value = make(fixture.options)(scores, inputs[1]);
    value.backward();
    EXPECT_TRUE(near(value.detach(), fixture.expected.at(""),
                     {fixture.rtol, fixture.atol}));
    // Small derivatives are as exact as large ones.
    EXPECT_TRUE(near(scores.grad(), fixture.expected.at("grad_0"),
                     {fixture.rtol, fixture.rtol}));
  }
}

/// The second rank passes what the loss refuses with this message, the others
/// get kPeerFailed, and nobody is out of step.
inline void expect_refused_on_all_ranks(
    const Rank& self, const LabelledLoss& loss, const at::Tensor& good_preds,
    const at::Tensor& good_target, const at::Tensor& preds,
    const at::Tensor& target, const std::string& message) {
  if (self.rank() == 1) {
    EXPECT_EQ(refusal_of([&] { loss(preds, target); }), message);
  } else {
    try {
      loss(good_preds, good_target);
      ADD_FAILURE() << message;
    } catch (const sync::SyncError& error) {
      EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
    }
  }
  EXPECT_TRUE(loss(good_preds, good_target).defined());
}

/// How many bytes this rank sends in forward. Expects that backward sends none.
inline std::int64_t bytes_sent(const Rank& self, const LabelledLoss& loss,
                               const at::Tensor& preds,
                               const at::Tensor& target) {
  const auto total = [&] { return self.group()->account().total().bytes; };
  const std::int64_t before = total();
  at::Tensor leaf = preds.detach().clone();
  leaf.requires_grad_();
  const at::Tensor value = loss(leaf, target);
  const std::int64_t sent = total() - before;
  value.backward();
  EXPECT_EQ(total() - before, sent);
  return sent;
}

}  // namespace tally::testkit
