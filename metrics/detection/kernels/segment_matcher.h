#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tally::internal::detection {

/// What is accumulated of a class.
struct PanopticTally {
  double matched_iou = 0;  ///< of segments that match
  double iou = 0;          ///< of all pairs that overlap
  std::int64_t tp = 0, fp = 0, fn = 0;
  std::int64_t segments = 0;  ///< annotated ones that are no crowds
};

/// The categories that segments have, and their classes.
class Categories {
 public:
  /// Things come before stuffs.
  Categories(const std::vector<std::int64_t>& all, std::size_t num_things);

  static constexpr std::int64_t kVoid = -1;
  /// kVoid for others.
  std::int64_t class_of(std::int64_t category) const {
    const auto found = classes_.find(category);
    return found == classes_.end() ? kVoid : found->second;
  }
  bool is_thing(std::int64_t class_id) const { return class_id < num_things_; }
  std::size_t size() const { return classes_.size(); }

 private:
  std::unordered_map<std::int64_t, std::int64_t> classes_;
  std::int64_t num_things_;
};

/// The pixels of an image: category and instance, [pixels, 2].
struct PanopticImage {
  const std::int64_t* preds;
  const std::int64_t* target;
  const std::uint8_t* crowd;  ///< [pixels], of target; null: no pixel is
  std::int64_t pixels;
};

/// Matches the segments of images, as panopticapi does, with all crowds.
class SegmentMatcher {
 public:
  explicit SegmentMatcher(const Categories& categories)
      : categories_(categories) {}

  /// Adds an image to the tallies of the classes. Returns a category of preds
  /// that is none, if there is one.
  std::optional<std::int64_t> match(const PanopticImage& image,
                                    std::vector<PanopticTally>& tallies);

 private:
  struct Segment {
    std::int64_t class_id;
    std::int64_t area = 0;
    std::int64_t ignored = 0;  ///< pixels in void, or in crowds of the class
    std::int64_t in_void = 0;
    bool matches = false;
  };
  struct Overlap {
    std::int64_t pred, target;
    std::int64_t pixels = 0;
  };
  struct Key {
    std::int64_t first, second;
    bool operator==(const Key& other) const {
      return first == other.first && second == other.second;
    }
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  // Segments by class and instance, in the order of their first pixels.
  struct Segments {
    std::vector<Segment> all;
    std::unordered_map<Key, std::int64_t, KeyHash> places;

    void clear();
    std::int64_t place_of(std::int64_t class_id, std::int64_t instance);
  };

  // Pixels in a row that belong to the same segments.
  void add_run(std::int64_t pred_class, std::int64_t pred_instance,
               std::int64_t target_class, std::int64_t target_instance,
               bool is_crowd, std::int64_t pixels);
  void count(std::vector<PanopticTally>& tallies);

  const Categories& categories_;
  Segments preds_, targets_;
  std::vector<Overlap> overlaps_;  // in the order of their first pixels
  std::unordered_map<Key, std::size_t, KeyHash> overlap_places_;
};

}  // namespace tally::internal::detection
