#include "tally/testing/batch.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

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
  const at::Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
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

Batch copy_of(const Batch& batch) {
  Batch copy;
  for (const BatchInput& input : batch) copy.push_back(input.copy());
  return copy;
}

}  // namespace tally::testkit
