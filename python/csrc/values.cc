#include "tally/python/csrc/values.h"

#include <c10/util/Exception.h>

#include <utility>

namespace tally::python {
namespace {

enum Kind : std::int64_t {
  kTensor,
  kNone,
  kTexts,
  kTextLists,
  kTasks,
  kImages,
  kJoinedImages
};

}  // namespace

ReadInputs::ReadInputs(FlatInputs flat) : flat_(std::move(flat)) {
  while (kind_ < flat_.kinds.size()) refs_.push_back(read());
  if (!by_name()) return;
  TORCH_CHECK_VALUE(flat_.names.size() == refs_.size(), "expected ",
                    refs_.size(), " names of inputs, got ", flat_.names.size());
  for (std::size_t i = 0; i < refs_.size(); ++i) {
    named_.emplace_back(flat_.names[i], refs_[i]);
  }
}

std::int64_t ReadInputs::next_kind() {
  TORCH_CHECK_VALUE(kind_ < flat_.kinds.size(), "expected more kinds, got ",
                    flat_.kinds.size());
  return flat_.kinds[kind_++];
}

std::string ReadInputs::next_text() {
  TORCH_CHECK_VALUE(text_ < flat_.texts.size(), "expected more texts, got ",
                    flat_.texts.size());
  return flat_.texts[text_++];
}

const at::Tensor& ReadInputs::next_tensor() {
  TORCH_CHECK_VALUE(tensor_ < flat_.tensors.size(),
                    "expected more tensors, got ", flat_.tensors.size());
  return flat_.tensors[tensor_++];
}

InputRef ReadInputs::read() {
  const std::int64_t kind = next_kind();
  const auto read_texts = [this](std::int64_t count) {
    Strings texts;
    for (std::int64_t i = 0; i < count; ++i) texts.push_back(next_text());
    return texts;
  };
  switch (kind) {
    case kTensor:
      return InputRef::of(next_tensor());
    case kNone:
      return InputRef::none();
    case kTexts:
      return InputRef::of(texts_.emplace_back(read_texts(next_kind())));
    case kTextLists: {
      auto& lists = lists_.emplace_back();
      for (std::int64_t rows = next_kind(); rows > 0; --rows) {
        lists.push_back(read_texts(next_kind()));
      }
      return InputRef::of(lists);
    }
    case kTasks: {
      auto& tasks = tasks_.emplace_back();
      for (std::string& name : read_texts(next_kind())) {
        tasks.emplace(std::move(name), next_tensor());
      }
      return InputRef::of(tasks);
    }
    case kImages: {
      auto& images = images_.emplace_back();
      for (std::int64_t rows = next_kind(); rows > 0; --rows) {
        images.push_back(read_image_objects(*this));
      }
      return InputRef::of(images);
    }
    case kJoinedImages: {
      FlatImageObjects& joined = joined_.emplace_back();
      joined.objects = read_image_objects(*this);
      joined.counts = next_tensor();
      return InputRef::of(joined);
    }
    default:
      TORCH_CHECK_VALUE(false, "expected a kind from 0 to 6, got ", kind);
  }
}

TensorDict dict_of(const Results& results) {
  TensorDict dict;
  for (const auto& [name, value] : results) {
    dict.insert(name.empty() ? "value" : name, value);
  }
  return dict;
}

c10::IValue value_of(const Results& results) {
  if (results.size() == 1 && results.begin()->first.empty()) {
    return results.begin()->second;
  }
  return dict_of(results);
}

}  // namespace tally::python
