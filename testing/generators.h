#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/testing/batch.h"

/// Random inputs for metrics. The same seed gives the same rows on all
/// platforms.
namespace tally::testkit {

/// Generates a batch of `rows` rows. Can be any lambda:
///
/// Example:
///     const testkit::BatchGenerator angles = [](std::uint64_t seed,
///                                               std::int64_t rows) {
///       std::mt19937_64 random(seed);
///       at::Tensor degrees = at::zeros({rows}, at::kDouble);
///       for (std::int64_t i = 0; i < rows; ++i) {
///         degrees[i] = static_cast<double>(random() % 360);
///       }
///       return testkit::Batch{degrees, degrees.add(1)};
///     };
using BatchGenerator =
    std::function<Batch(std::uint64_t seed, std::int64_t rows)>;

/// Generates one input of a batch.
using InputGenerator =
    std::function<BatchInput(std::uint64_t seed, std::int64_t rows)>;

/// Numbers [rows, sizes...] in [0, 1]: multiples of 1/64, so that some are
/// equal.
InputGenerator scores(std::vector<std::int64_t> sizes = {},
                      at::ScalarType dtype = at::kDouble);
/// Scores [rows, classes] that add up to 1 in each row.
InputGenerator probabilities(std::int64_t classes,
                             at::ScalarType dtype = at::kDouble);
/// int64 [rows, sizes...] from 0 to classes - 1.
InputGenerator labels(std::int64_t classes = 2,
                      std::vector<std::int64_t> sizes = {});
/// Numbers [rows, sizes...] around 0, mostly between -2 and 2.
InputGenerator reals(std::vector<std::int64_t> sizes = {},
                     at::ScalarType dtype = at::kDouble);
/// Texts of up to six words from a vocabulary of twelve; some are empty.
InputGenerator texts();
/// One to three such texts for each row.
InputGenerator text_lists();
/// Rows of a custom type: `row` generates the tensors of one row, and `convert`
/// converts several to an input of update().
///
/// Example:
///     const auto boxes = testkit::ragged(
///         [](std::mt19937_64& random) -> testkit::RaggedRow {
///           const auto count = static_cast<std::int64_t>(random() % 4);
///           return {{"boxes", at::zeros({count, 4})}};
///         },
///         [](const std::vector<testkit::RaggedRow>& rows) {
///           std::vector<at::Tensor> images;
///           for (const auto& row : rows) images.push_back(row.at("boxes"));
///           return InputValue::of(std::move(images));
///         });
InputGenerator ragged(std::function<RaggedRow(std::mt19937_64& random)> row,
                      RaggedInput convert);

/// A batch of these inputs, each with an independent random stream.
///
/// Example:
///     const auto generator =
///         testkit::batch_of({testkit::scores(), testkit::labels()});
BatchGenerator batch_of(std::vector<InputGenerator> inputs);

/// The inputs that a metric declares, except optional ones: reals for kReal,
/// scores for kFloat, labels of two classes for kInteger, texts and text lists.
/// All are [rows]. Throws c10::ValueError if there are no inputs, or for other
/// kinds.
BatchGenerator batch_of(c10::ArrayRef<InputInfo> declared);

}  // namespace tally::testkit
