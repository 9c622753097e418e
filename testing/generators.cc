#include "tally/testing/generators.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace tally::testkit {
namespace {

using Random = std::mt19937_64;
using Sizes = std::vector<std::int64_t>;

// The standard's distributions differ between libraries.
std::int64_t below(Random& random, std::int64_t limit) {
  return static_cast<std::int64_t>(random() %
                                   static_cast<std::uint64_t>(limit));
}

double uniform(Random& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// A sum of uniform numbers: of mean 0 and standard deviation 1.
double around_zero(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(random);
  return sum;
}

double score(Random& random) {
  return static_cast<double>(below(random, 65)) / 64;
}

template <class Draw>
at::Tensor filled(std::int64_t rows, const Sizes& sizes, at::ScalarType dtype,
                  const Draw& draw) {
  Sizes all{rows};
  all.insert(all.end(), sizes.begin(), sizes.end());
  const at::Tensor tensor = at::empty(all, at::kDouble);
  double* values = tensor.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    values[i] = static_cast<double>(draw());
  }
  return tensor.to(dtype);
}

InputGenerator numbers(Sizes sizes, at::ScalarType dtype,
                       std::function<double(Random&)> draw) {
  return [sizes = std::move(sizes), dtype, draw = std::move(draw)](
             std::uint64_t seed, std::int64_t rows) -> BatchInput {
    Random random(seed);
    return filled(rows, sizes, dtype, [&] { return draw(random); });
  };
}

std::string text(Random& random) {
  static constexpr const char* kWords[] = {"a",    "the", "cat", "dog",
                                           "sat",  "ran", "on",  "mat",
                                           "over", "log", "and", "away"};
  std::string words;
  for (std::int64_t i = below(random, 7); i > 0; --i) {
    if (!words.empty()) words += ' ';
    words += kWords[below(random, std::size(kWords))];
  }
  return words;
}

// Neighboring seeds and inputs share nothing.
std::uint64_t stream(std::uint64_t seed, std::size_t input) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed),
                         static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(input)};
  std::uint32_t words[2];
  sequence.generate(std::begin(words), std::end(words));
  return std::uint64_t{words[0]} << 32 | words[1];
}

InputGenerator of_kind(const InputInfo& input) {
  switch (input.kind) {
    case InputKind::kReal:
      return reals();
    case InputKind::kFloat:
      return scores();
    case InputKind::kInteger:
      return labels();
    case InputKind::kText:
      return texts();
    case InputKind::kTextLists:
    case InputKind::kTokens:
      return text_lists();
    default:
      TORCH_CHECK_VALUE(false, "expected inputs of numbers or texts, got '",
                        input.name, "' (", input.words,
                        "): pass a generator for this metric");
  }
}

}  // namespace

InputGenerator scores(Sizes sizes, at::ScalarType dtype) {
  return numbers(std::move(sizes), dtype, score);
}

InputGenerator probabilities(std::int64_t classes, at::ScalarType dtype) {
  return [=](std::uint64_t seed, std::int64_t rows) -> BatchInput {
    Random random(seed);
    const at::Tensor weights = filled(rows, {classes}, at::kDouble,
                                      [&] { return 1 + below(random, 16); });
    return weights.div(weights.sum({1}, /*keepdim=*/true)).to(dtype);
  };
}

InputGenerator labels(std::int64_t classes, Sizes sizes) {
  return numbers(std::move(sizes), at::kLong, [classes](Random& random) {
    return static_cast<double>(below(random, classes));
  });
}

InputGenerator reals(Sizes sizes, at::ScalarType dtype) {
  return numbers(std::move(sizes), dtype, around_zero);
}

InputGenerator texts() {
  return [](std::uint64_t seed, std::int64_t rows) -> BatchInput {
    Random random(seed);
    BatchInput::Texts result;
    for (std::int64_t i = 0; i < rows; ++i) result.push_back(text(random));
    return result;
  };
}

InputGenerator text_lists() {
  return [](std::uint64_t seed, std::int64_t rows) -> BatchInput {
    Random random(seed);
    BatchInput::TextLists result(static_cast<std::size_t>(rows));
    for (BatchInput::Texts& list : result) {
      for (std::int64_t i = 1 + below(random, 3); i > 0; --i) {
        list.push_back(text(random));
      }
    }
    return result;
  };
}

InputGenerator ragged(std::function<RaggedRow(Random& random)> row,
                      RaggedInput convert) {
  return [row = std::move(row), convert = std::move(convert)](
             std::uint64_t seed, std::int64_t rows) {
    Random random(seed);
    BatchInput::Ragged result;
    for (std::int64_t i = 0; i < rows; ++i) result.push_back(row(random));
    return BatchInput(std::move(result), convert);
  };
}

BatchGenerator batch_of(std::vector<InputGenerator> inputs) {
  return [inputs = std::move(inputs)](std::uint64_t seed, std::int64_t rows) {
    Batch batch;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      batch.push_back(inputs[i](stream(seed, i), rows));
    }
    return batch;
  };
}

BatchGenerator batch_of(c10::ArrayRef<InputInfo> declared) {
  TORCH_CHECK_VALUE(!declared.empty(),
                    "expected a metric that declares its inputs (kInputs): "
                    "pass a generator for this one");
  std::vector<InputGenerator> inputs;
  for (const InputInfo& input : declared) {
    if (!input.is_optional) inputs.push_back(of_kind(input));
  }
  return batch_of(std::move(inputs));
}

}  // namespace tally::testkit
