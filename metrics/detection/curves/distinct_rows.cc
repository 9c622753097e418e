#include "tally/metrics/detection/curves/distinct_rows.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tally/metrics/detection/kernels/score_order.h"
#include "tally/metrics/detection/options/match_rules.h"

namespace tally::internal::detection {
namespace {

// Words of rows, which a checkpoint may hold in any shape.
struct Words {
  Words(const char* field, const Rows& rows, std::size_t row_width)
      : width(row_width) {
    if (rows.size() == 0) return;
    tensor = rows.tensor().to(at::kCPU).contiguous();
    TORCH_CHECK_VALUE(tensor.scalar_type() == at::kLong && tensor.dim() == 2 &&
                          tensor.size(1) == static_cast<std::int64_t>(width),
                      "expected ", field, " of int64 [N, ", width, "], got ",
                      tensor.scalar_type(), " ", tensor.sizes());
    count = static_cast<std::size_t>(tensor.size(0));
    data = tensor.const_data_ptr<std::int64_t>();
  }
  const std::int64_t* row(std::size_t i) const { return data + i * width; }

  at::Tensor tensor;
  const std::int64_t* data = nullptr;
  std::size_t count = 0;
  std::size_t width;
};

// Whether an image occurs twice; throws if it differs from itself.
bool repeats_images(const Words& images) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ids;
  for (std::size_t i = 0; i < images.count; ++i) {
    const std::int64_t* row = images.row(i);
    ids.emplace_back(row[ImageRow::kImage], row[ImageRow::kFingerprint]);
  }
  std::sort(ids.begin(), ids.end());
  bool repeats = false;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i].first != ids[i - 1].first) continue;
    TORCH_CHECK_VALUE(ids[i].second == ids[i - 1].second,
                      "expected one set of objects for each image, got image ",
                      ids[i].first, " twice with objects that differ");
    repeats = true;
  }
  return repeats;
}

// Keeps one of the rows whose first `key` words from kImage on are equal.
void keep_distinct(std::vector<const std::int64_t*>& rows, std::size_t from,
                   std::size_t to) {
  const auto less = [=](const std::int64_t* a, const std::int64_t* b) {
    return std::lexicographical_compare(a + from, a + to, b + from, b + to);
  };
  const auto equal = [=](const std::int64_t* a, const std::int64_t* b) {
    return std::equal(a + from, a + to, b + from);
  };
  std::sort(rows.begin(), rows.end(), less);
  rows.erase(std::unique(rows.begin(), rows.end(), equal), rows.end());
}

std::vector<const std::int64_t*> pointers(const Words& words) {
  std::vector<const std::int64_t*> rows(words.count);
  for (std::size_t i = 0; i < words.count; ++i) rows[i] = words.row(i);
  return rows;
}

// A detection with what orders it.
struct Ordered {
  std::uint64_t score;
  std::int64_t image;
  std::int64_t place;
  const std::int64_t* row;
};

}  // namespace

at::Tensor DistinctRows::labels() const {
  at::Tensor labels =
      at::empty({static_cast<std::int64_t>(classes.size())}, at::kLong);
  for (std::size_t k = 0; k < classes.size(); ++k) {
    labels.mutable_data_ptr<std::int64_t>()[k] = classes[k].label;
  }
  return labels;
}

ClassRows DistinctRows::pooled() const {
  ClassRows all;
  all.objects.resize(areas);
  for (const ClassRows& one : classes) {
    all.detections.insert(all.detections.end(), one.detections.begin(),
                          one.detections.end());
    for (std::size_t area = 0; area < areas; ++area) {
      all.objects[area] += one.objects[area];
    }
  }
  return all;
}

void DistinctRows::sort(ClassRows& rows) const {
  std::vector<Ordered> order;
  order.reserve(rows.detections.size());
  for (const std::int64_t* row : rows.detections) {
    order.push_back({descending(score_of(row[MatchRow::kScore])),
                     row[MatchRow::kImage], row[MatchRow::kPlace], row});
  }
  if (has_ids) {
    std::sort(order.begin(), order.end(),
              [](const Ordered& a, const Ordered& b) {
                return std::tie(a.score, a.image, a.place) <
                       std::tie(b.score, b.image, b.place);
              });
  } else {
    const std::size_t end = MatchRow::width(words);
    std::sort(order.begin(), order.end(),
              [end](const Ordered& a, const Ordered& b) {
                if (a.score != b.score) return a.score < b.score;
                const auto bits = [end](const Ordered& one) {
                  return c10::ArrayRef<std::int64_t>(one.row + MatchRow::kBits,
                                                     one.row + end);
                };
                const auto x = bits(a), y = bits(b);
                if (!x.equals(y)) {
                  return std::lexicographical_compare(x.begin(), x.end(),
                                                      y.begin(), y.end());
                }
                return MatchRow::rank(a.row) < MatchRow::rank(b.row);
              });
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    rows.detections[i] = order[i].row;
  }
}

DistinctRows distinct_rows(const MatchedDetectionsState& state,
                           std::size_t areas, std::size_t thresholds) {
  DistinctRows distinct;
  distinct.areas = areas;
  distinct.thresholds = thresholds;
  distinct.words = (areas * thresholds + 63) / 64;
  const Words detections("detections", state.detections,
                         MatchRow::width(distinct.words));
  const Words counts("counts", state.counts, CountRow::kCounts + areas);
  const Words images("images", state.images, ImageRow::kWidth);
  distinct.owner = detections.tensor;
  distinct.has_ids = images.count > 0;
  TORCH_CHECK_VALUE(
      !distinct.has_ids ||
          state.num_images == static_cast<std::int64_t>(images.count),
      "expected image_ids in every update or in none, got them for ",
      images.count, " of ", state.num_images, " images");
  std::vector<const std::int64_t*> rows = pointers(detections);
  std::vector<const std::int64_t*> count_rows = pointers(counts);
  if (repeats_images(images)) {
    keep_distinct(rows, MatchRow::kImage, MatchRow::kBits);
    keep_distinct(count_rows, CountRow::kImage, CountRow::kCounts);
  }
  // Few classes, and many rows.
  std::map<std::int64_t, std::size_t> sizes;
  for (const std::int64_t* row : rows) ++sizes[MatchRow::label(row)];
  for (const std::int64_t* row : count_rows) sizes[row[CountRow::kLabel]];
  std::map<std::int64_t, ClassRows*> by_label;
  distinct.classes.reserve(sizes.size());
  for (const auto& [label, size] : sizes) {
    ClassRows& one = distinct.classes.emplace_back();
    one.label = label;
    one.detections.reserve(size);
    one.objects.resize(areas);
    by_label[label] = &one;
  }
  for (const std::int64_t* row : rows) {
    by_label[MatchRow::label(row)]->detections.push_back(row);
  }
  for (const std::int64_t* row : count_rows) {
    ClassRows& one = *by_label[row[CountRow::kLabel]];
    for (std::size_t area = 0; area < areas; ++area) {
      one.objects[area] += row[CountRow::kCounts + area];
    }
  }
  return distinct;
}

}  // namespace tally::internal::detection
