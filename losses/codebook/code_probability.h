#pragma once

#include <ATen/core/Tensor.h>

/// Probabilities of codes whose bits are independent of each other: bit k of a
/// token is set with probability sigmoid(z_k), z being its logits. A code's
/// probability is the product of its bits', so a token's entropy is the sum of
/// theirs, and the table of all tokens' codes is never needed.
namespace tally::losses::internal {

/// The entropy of each bit, in nats, of the logits' size.
at::Tensor bit_entropy(const at::Tensor& logits);

/// [c, 2^d], from logits [n, c, d] (float32 or wider): the sum over the n
/// tokens of each code's probability. The first of the d bits counts most in a
/// code's number.
///
/// The d bits are cut in halves and the sum of outer products of the halves'
/// tables is one matrix product: n * 2^d multiplications, and memory for the
/// result and a few MB. Backward builds the tables again. Gradients of
/// gradients flow.
at::Tensor sum_of_code_probabilities(const at::Tensor& logits);

/// The entropy along the last dimension, in nats. Where a probability is 0, so
/// is its term, and the gradient is that of the least number above 0.
at::Tensor entropy(const at::Tensor& probabilities);

}  // namespace tally::losses::internal
