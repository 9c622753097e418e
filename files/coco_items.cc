#include "tally/files/coco_items.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <streambuf>
#include <utility>

#include "tally/files/file_kind.h"
#include "tally/files/input_file.h"
#include "tally/files/json_text.h"
#include "tally/metrics/common/json_fault.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/sync/errors.h"

namespace tally::files {
namespace {

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

std::int64_t CocoItem::size(const char* key) const {
  const std::int64_t size = integer(key);
  check(size >= 1, key, "an integer of at least 1");
  return size;
}

std::int64_t CocoItem::id(const char* key,
                          std::map<std::int64_t, std::string>& names) const {
  return id_of(at(key), key, names);
}

std::vector<std::int64_t> CocoItem::ids(
    const char* key, std::map<std::int64_t, std::string>& names) const {
  const Json& list = at(key);
  check(list.is_array(), key, "a list of ids");
  std::vector<std::int64_t> ids;
  for (const Json& value : list) ids.push_back(id_of(value, key, names));
  return ids;
}

std::int64_t CocoItem::id_of(const Json& value, const char* key,
                             std::map<std::int64_t, std::string>& names) const {
  constexpr double kMost = 0x1p53;  // up to which a double is one integer
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const std::int64_t id =
        SampleIds(std::vector<std::string>{text}).values().front();
    const auto [known, is_new] = names.emplace(id, text);
    TORCH_CHECK_VALUE(is_new || known->second == text, where_, ": '", key,
                      "': expected texts of different 64-bit hashes, got '",
                      shown_text(text), "' with that of '",
                      shown_text(known->second), "'; change one of them");
    return id;
  }
  const bool is_whole = value.is_number_float() &&
                        std::abs(value.get<double>()) <= kMost &&
                        std::trunc(value.get<double>()) == value.get<double>();
  if (is_whole) return static_cast<std::int64_t>(value.get<double>());
  TORCH_CHECK_VALUE(is_integer(value), where_, ": '", key,
                    "': expected an integer or a text, got ",
                    shown_json(value));
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

std::vector<CocoItem> CocoItem::items(const char* key) const {
  const Json& list = at(key);
  check(list.is_array() &&
            std::all_of(list.begin(), list.end(),
                        [](const Json& item) { return item.is_object(); }),
        key, "a list of objects");
  std::vector<CocoItem> items;
  for (const Json& item : list) {
    items.emplace_back(
        item, where_ + ": " + key + " " + std::to_string(items.size()));
  }
  return items;
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

namespace {

/// What is wrong at the end of a file that is no JSON, or within.
std::string fault_words(const InputFile& file, const Json::parse_error& error) {
  constexpr std::int64_t kBefore = 400;
  constexpr std::int64_t kBehind = 16;
  const auto at = std::min(static_cast<std::int64_t>(error.byte), file.size());
  const std::int64_t begin = std::max<std::int64_t>(0, at - kBefore);
  std::string text(
      static_cast<std::size_t>(std::min(file.size(), at + kBehind) - begin),
      '\0');
  file.read(begin, text.data(), static_cast<std::int64_t>(text.size()));
  return internal::JsonFault{error, error.byte, text,
                             static_cast<std::size_t>(begin)}
      .words();
}

/// Reads a file in pieces.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(const InputFile& file) : file_(file), piece_(1 << 16) {}

 private:
  int_type underflow() override {
    const auto count = std::min(static_cast<std::int64_t>(piece_.size()),
                                file_.size() - place_);
    if (count == 0) return traits_type::eof();
    file_.read(place_, piece_.data(), count);
    place_ += count;
    setg(piece_.data(), piece_.data(), piece_.data() + count);
    return traits_type::to_int_type(piece_.front());
  }

  const InputFile& file_;
  std::vector<char> piece_;
  std::int64_t place_ = 0;
};

}  // namespace

void read_coco_items(const std::string& path,
                     const std::vector<std::string>& keys,
                     const std::function<void(const std::string& key,
                                              const CocoItem& item)>& visit) {
  const InputFile file(path);
  refuse_other_kinds(file);
  FileBuffer buffer(file);
  std::istream text(&buffer);
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
                            : ": expected an object with lists of annotations, "
                              "got a list",
                        "; annotations come first, then results");
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
    const Json rest = Json::parse(text, callback);
    for (const std::string& wanted : keys) {
      TORCH_CHECK_VALUE(rest.is_object() && rest.contains(wanted), path,
                        ": expected '", wanted, "', got no such list");
    }
  } catch (const Json::parse_error& error) {
    const std::string place =
        key.empty() ? "" : ": " + key + " " + std::to_string(counts[key]);
    TORCH_CHECK_VALUE(false, path, place, ": expected JSON, got ",
                      fault_words(file, error));
  } catch (const Json::out_of_range& error) {
    TORCH_CHECK_VALUE(false, path, ": expected JSON, got ",
                      internal::json_overflow(error));
  }
}

}  // namespace tally::files
