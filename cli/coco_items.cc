#include "tally/cli/coco_items.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

#include "tally/cli/input_file.h"
#include "tally/cli/shown_json.h"
#include "tally/sync/errors.h"

namespace tally::cli {
namespace {

using Json = nlohmann::json;

bool is_integer(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<std::uint64_t>() <=
              std::numeric_limits<std::int64_t>::max());
}

bool are_numbers(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& item) { return item.is_number(); });
}

}  // namespace

const Json& CocoItem::at(const char* key) const {
  TORCH_CHECK_VALUE(json_.is_object() && json_.contains(key), where_,
                    ": expected '", key, "'");
  return json_.at(key);
}

void CocoItem::check(bool holds, const char* key, const char* expected) const {
  if (holds) return;
  TORCH_CHECK_VALUE(false, where_, ": '", key, "': expected ", expected,
                    ", got ", shown_json(at(key)));
}

std::int64_t CocoItem::integer(const char* key) const {
  const Json& value = at(key);
  check(is_integer(value), key, "an integer");
  return value.get<std::int64_t>();
}

double CocoItem::number(const char* key) const {
  const Json& value = at(key);
  check(value.is_number(), key, "a number");
  return value.get<double>();
}

bool CocoItem::flag(const char* key) const {
  const Json& value = at(key);
  return value.is_boolean() ? value.get<bool>() : integer(key) != 0;
}

std::string CocoItem::text(const char* key) const {
  const Json& value = at(key);
  check(value.is_string(), key, "a text");
  return value.get<std::string>();
}

std::size_t CocoItem::add_numbers(const char* key, std::size_t count,
                                  std::vector<double>& numbers) const {
  const Json& list = at(key);
  check(are_numbers(list) && (count == 0 || list.size() == count), key,
        count == 0
            ? "a list of numbers"
            : ("a list of " + std::to_string(count) + " numbers").c_str());
  for (const Json& number : list) numbers.push_back(number.get<double>());
  return list.size();
}

RunLengthMask CocoItem::runs(const Json& value) const {
  constexpr const char* kKey = "segmentation";
  const auto size = value.find("size");
  const auto counts = value.find("counts");
  const bool has_size = size != value.end() && size->is_array() &&
                        size->size() == 2 && is_integer(size->front()) &&
                        is_integer(size->back());
  const bool has_counts =
      counts != value.end() &&
      (counts->is_string() ||
       (counts->is_array() &&
        std::all_of(counts->begin(), counts->end(), is_integer)));
  check(has_size && has_counts, kKey, "runs with 'size' and 'counts'");
  const auto height = size->front().get<std::int64_t>();
  const auto width = size->back().get<std::int64_t>();
  return counts->is_string()
             ? RunLengthMask::from_string(height, width,
                                          counts->get<std::string>())
             : RunLengthMask::from_counts(
                   height, width, counts->get<std::vector<std::int64_t>>());
}

std::variant<RunLengthMask, CocoItem::Polygons> CocoItem::segmentation() const {
  constexpr const char* kKey = "segmentation";
  const Json& value = at(kKey);
  if (value.is_object()) {
    try {
      return runs(value);
    } catch (const c10::ValueError& error) {
      const std::string what = sync::describe(error);
      TORCH_CHECK_VALUE(what.rfind(where_, 0) != 0, what);
      TORCH_CHECK_VALUE(false, where_, ": '", kKey, "': ", what);
    }
  }
  check(value.is_array() && !value.empty() &&
            std::all_of(value.begin(), value.end(), are_numbers),
        kKey, "runs or a list of polygons");
  return value.get<Polygons>();
}

void read_coco_items(const std::string& path,
                     const std::vector<std::string>& keys,
                     const std::function<void(const std::string& key,
                                              const CocoItem& item)>& visit) {
  { const InputFile readable(path); }
  std::ifstream file(path, std::ios::binary);
  const bool is_list = keys.empty();
  const int depth = is_list ? 1 : 2;
  std::string key = is_list ? "result" : "";
  std::map<std::string, std::int64_t> counts;
  const auto callback = [&](int at, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (at == 0 &&
        (event == Event::object_start || event == Event::array_start)) {
      TORCH_CHECK_VALUE((event == Event::array_start) == is_list, path,
                        is_list
                            ? ": expected a list of results, got an object"
                            : ": expected an object with lists, got a list");
    }
    if (!is_list && at == 1 && event == Event::key) {
      key = parsed.get<std::string>();
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    }
    if (at != depth || event != Event::object_end) return true;
    const std::string place = key + " " + std::to_string(counts[key]++);
    visit(key, CocoItem(parsed, path + ": " + place));
    return false;
  };
  try {
    const Json rest = Json::parse(file, callback);
  } catch (const Json::exception& error) {
    TORCH_CHECK_VALUE(false, path, ": expected JSON: ", error.what());
  }
}

}  // namespace tally::cli
