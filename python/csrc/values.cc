#include "tally/python/csrc/values.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/python/csrc/images.h"

namespace tally::python {
namespace {

struct Field {
  const char* name;
  at::Tensor ImageObjects::*tensor;
};
constexpr Field kFields[] = {
    {"boxes", &ImageObjects::boxes},
    {"scores", &ImageObjects::scores},
    {"labels", &ImageObjects::labels},
    {"iscrowd", &ImageObjects::iscrowd},
    {"area", &ImageObjects::area},
    {"ignore", &ImageObjects::ignore},
    {"masks", &ImageObjects::masks},
    {"keypoints", &ImageObjects::keypoints},
    {"negative_labels", &ImageObjects::negative_labels},
    {"inexhaustive_labels", &ImageObjects::inexhaustive_labels},
    {"image_size", &ImageObjects::image_size},
};

template <class T>
std::vector<T> numbers_of(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor plain = tensor.detach().to(at::kCPU, type).contiguous();
  const T* values = plain.const_data_ptr<T>();
  return std::vector<T>(values, values + plain.numel());
}

RunLengthMask read_mask(InputSource& source) {
  const std::int64_t height = source.next_kind();
  const std::int64_t width = source.next_kind();
  const std::int64_t form = source.next_kind();
  if (form < 0) {
    return RunLengthMask::from_string(height, width, source.next_text());
  }
  if (form == 0) {
    return RunLengthMask::from_counts(
        height, width,
        numbers_of<std::int64_t>(source.next_tensor(), at::kLong));
  }
  std::vector<RunLengthMask::Polygon> polygons;
  for (std::int64_t i = 0; i < form; ++i) {
    polygons.push_back(numbers_of<double>(source.next_tensor(), at::kDouble));
  }
  return RunLengthMask::from_polygons(height, width, polygons);
}

}  // namespace

std::vector<std::string> image_fields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) names.emplace_back(field.name);
  return names;
}

ImageObjects read_image_objects(InputSource& source) {
  ImageObjects objects;
  const std::int64_t present = source.next_kind();
  std::int64_t bit = 1;
  for (const Field& field : kFields) {
    if (present & bit) objects.*field.tensor = source.next_tensor();
    bit *= 2;
  }
  const std::int64_t masks = source.next_kind();
  for (std::int64_t i = 0; i < masks; ++i) {
    objects.runs.push_back(read_mask(source));
  }
  return objects;
}

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
  dict.reserve(results.size());
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
