#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tally/metrics/detection/inputs/run_length_mask.h"

namespace tally::files {

/// An image, category, annotation or result of a COCO file. Functions throw
/// c10::ValueError that names it for what is missing or of another kind.
class CocoItem {
 public:
  using Polygons = std::vector<RunLengthMask::Polygon>;

  /// `where` is "results.json: result 3".
  CocoItem(const nlohmann::json& json, std::string where)
      : json_(json), where_(std::move(where)) {}

  const std::string& where() const { return where_; }

  bool has(const char* key) const { return json_.contains(key); }
  std::int64_t integer(const char* key) const;
  /// One of at least 1.
  std::int64_t size(const char* key) const;
  /// An integer, also as 42.0, or a text, for which its 64-bit hash stands (see
  /// SampleIds); `names` gets the texts, of which no two may have one hash.
  std::int64_t id(const char* key,
                  std::map<std::int64_t, std::string>& names) const;
  /// A list of such.
  std::vector<std::int64_t> ids(
      const char* key, std::map<std::int64_t, std::string>& names) const;
  double number(const char* key) const;
  /// 0 or 1, or false or true.
  bool flag(const char* key) const;
  std::string text(const char* key) const;
  /// Appends a list of numbers, `count` of them unless that is 0, and returns
  /// how many there are.
  std::size_t add_numbers(const char* key, std::size_t count,
                          std::vector<double>& numbers) const;
  /// The objects of a list.
  std::vector<CocoItem> items(const char* key) const;
  /// A segmentation: runs with their size, or polygons.
  std::variant<RunLengthMask, Polygons> segmentation() const;

 private:
  const nlohmann::json& at(const char* key) const;
  void check(bool holds, const char* key, const char* expected) const;
  std::int64_t id_of(const nlohmann::json& value, const char* key,
                     std::map<std::int64_t, std::string>& names) const;
  RunLengthMask runs(const nlohmann::json& value) const;

  const nlohmann::json& json_;
  std::string where_;
};

/// Reads a file whose lists are too long for memory as JSON: calls `visit` for
/// each object of the lists at `keys`, or, without keys, of the list that the
/// file is.
void read_coco_items(const std::string& path,
                     const std::vector<std::string>& keys,
                     const std::function<void(const std::string& key,
                                              const CocoItem& item)>& visit);

}  // namespace tally::files
