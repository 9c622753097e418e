#include "tally/testing/batch.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "tally/testing/generators.h"

namespace tally::testkit {
namespace {

// Other values in the same memory.
void scramble_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  if (at::isFloatingType(tensor.scalar_type())) {
    tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  } else {
    tensor.bitwise_not_();
  }
}

bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) {
    return false;
  }
  const at::Tensor x = a.detach().cpu().contiguous();
  const at::Tensor y = b.detach().cpu().contiguous();
  // Of an empty one the pointer may be null.
  return x.nbytes() == 0 ||
         std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

template <class List>
List sliced(const List& list, std::int64_t first, std::int64_t last,
            std::int64_t step) {
  List rows;
  for (std::int64_t i = first; i < last; i += step) {
    rows.push_back(list[static_cast<std::size_t>(i)]);
  }
  return rows;
}

}  // namespace

std::int64_t BatchInput::rows() const {
  return std::visit(
      [](const auto& value) -> std::int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>,
                                     at::Tensor>) {
          return value.dim() > 0 ? value.size(0) : -1;
        } else {
          return static_cast<std::int64_t>(value.size());
        }
      },
      content_);
}

BatchInput BatchInput::slice(std::int64_t first, std::int64_t last,
                             std::int64_t step) const {
  BatchInput result = *this;
  std::visit(
      [&](auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>,
                                     at::Tensor>) {
          value = value.slice(0, first, last, step);
        } else {
          value = sliced(value, first, last, step);
        }
      },
      result.content_);
  return result;
}

BatchInput BatchInput::repeated(std::int64_t times) const {
  if (is_tensor()) {
    std::vector<std::int64_t> repeats(static_cast<std::size_t>(tensor().dim()),
                                      1);
    repeats[0] = times;
    return tensor().repeat(repeats);
  }
  return joined(
      std::vector<BatchInput>(static_cast<std::size_t>(times), *this));
}

BatchInput BatchInput::copy() const {
  return with_tensors([](const at::Tensor& tensor) { return tensor.clone(); });
}

BatchInput BatchInput::joined(const std::vector<BatchInput>& parts) {
  BatchInput result = parts.front();
  std::visit(
      [&](auto& all) {
        using List = std::decay_t<decltype(all)>;
        if constexpr (std::is_same_v<List, at::Tensor>) {
          std::vector<at::Tensor> tensors;
          for (const BatchInput& part : parts) {
            tensors.push_back(part.tensor());
          }
          all = at::cat(tensors, 0);
        } else {
          all.clear();
          for (const BatchInput& part : parts) {
            const auto& more = std::get<List>(part.content_);
            all.insert(all.end(), more.begin(), more.end());
          }
        }
      },
      result.content_);
  return result;
}

BatchInput BatchInput::with_tensors(
    const std::function<at::Tensor(const at::Tensor&)>& change) const {
  BatchInput result = *this;
  if (is_tensor()) result.content_ = change(tensor());
  if (auto* rows = std::get_if<Ragged>(&result.content_)) {
    for (RaggedRow& row : *rows) {
      for (auto& [name, tensor] : row) tensor = change(tensor);
    }
  }
  return result;
}

void BatchInput::scramble() {
  const auto spoil = [](std::string& text) {
    std::fill(text.begin(), text.end(), '?');
  };
  if (is_tensor()) scramble_tensor(tensor());
  if (auto* texts = std::get_if<Texts>(&content_)) {
    std::for_each(texts->begin(), texts->end(), spoil);
  }
  if (auto* lists = std::get_if<TextLists>(&content_)) {
    for (Texts& texts : *lists) {
      std::for_each(texts.begin(), texts.end(), spoil);
    }
  }
  if (auto* rows = std::get_if<Ragged>(&content_)) {
    for (RaggedRow& row : *rows) {
      for (auto& [name, tensor] : row) scramble_tensor(tensor);
    }
  }
}

InputValue BatchInput::value() const {
  if (const auto* rows = std::get_if<Ragged>(&content_)) {
    TORCH_CHECK(ragged_, "expected a RaggedInput for ragged rows, got none");
    return ragged_(*rows);
  }
  if (const auto* texts = std::get_if<Texts>(&content_)) {
    return InputValue::of(tally::TextList(*texts));
  }
  if (const auto* lists = std::get_if<TextLists>(&content_)) {
    return InputValue::of(tally::TextLists(*lists));
  }
  return InputValue::of(tensor());
}

bool same(const BatchInput& a, const BatchInput& b) {
  if (a.content_.index() != b.content_.index()) return false;
  if (a.is_tensor()) return same_tensor(a.tensor(), b.tensor());
  const auto* rows = std::get_if<BatchInput::Ragged>(&a.content_);
  if (!rows) {
    const auto* texts = std::get_if<BatchInput::Texts>(&a.content_);
    return texts ? *texts == std::get<BatchInput::Texts>(b.content_)
                 : std::get<BatchInput::TextLists>(a.content_) ==
                       std::get<BatchInput::TextLists>(b.content_);
  }
  const auto& others = std::get<BatchInput::Ragged>(b.content_);
  return std::equal(rows->begin(), rows->end(), others.begin(), others.end(),
                    [](const RaggedRow& x, const RaggedRow& y) {
                      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                                        [](const auto& p, const auto& q) {
                                          return p.first == q.first &&
                                                 same_tensor(p.second,
                                                             q.second);
                                        });
                    });
}

Batch joined(const std::vector<Batch>& batches) {
  Batch result;
  for (size_t i = 0; i < batches.front().size(); ++i) {
    std::vector<BatchInput> parts;
    for (const Batch& batch : batches) parts.push_back(batch[i]);
    result.push_back(BatchInput::joined(parts));
  }
  return result;
}

Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t last) {
  Batch rows;
  for (const BatchInput& input : batch) {
    rows.push_back(input.slice(first, last).copy());
  }
  return rows;
}

Batch moved_to(c10::Device device, const Batch& batch) {
  Batch moved;
  for (const BatchInput& input : batch) {
    moved.push_back(input.with_tensors([&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.to(device) : tensor;
    }));
  }
  return moved;
}

Batch copy_of(const Batch& batch) {
  Batch copy;
  for (const BatchInput& input : batch) copy.push_back(input.copy());
  return copy;
}

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
    case InputKind::kKeys:
    case InputKind::kCategories:
    case InputKind::kGroups:
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
