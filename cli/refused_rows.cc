#include "tally/cli/refused_rows.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iterator>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "tally/cli/update_inputs.h"
#include "tally/metrics/registry/registry.h"
#include "tally/sync/errors.h"

namespace tally::cli {
namespace {

constexpr std::size_t kPlaces = 5;
// Batches of which it is tried what the metrics say: enough for 5000 rows that
// are refused. Metrics with large states are slow.
constexpr std::int64_t kMostTries = 10'000;
constexpr std::chrono::seconds kLongest(1);

struct RefusedRow {
  std::int64_t row;
  std::string message;
};

/// Finds rows by halves, as it is only known of a batch whether it is refused.
class RowSearch {
 public:
  explicit RowSearch(Job& job) : job_(job) {}

  /// Of a batch that begins at row `first`.
  void search(std::int64_t first, const std::vector<InputValue>& values) {
    first_ = first;
    values_ = &values;
    find(0, values.front().ref().rows());
  }

  /// The message for some rows of the batch, if they are refused.
  std::optional<std::string> refusal(const std::vector<std::int64_t>& places) {
    ++tries_;
    std::vector<InputValue> rows;
    for (const InputValue& value : *values_) {
      rows.push_back(value.ref().is_none() ? value
                                           : value.ref().select(places));
    }
    job_.metrics.reset();
    try {
      update_inputs(job_.source->names(), rows,
                    [&](auto inputs) { job_.metrics.update_inputs(inputs); });
    } catch (const c10::Error& error) {
      return sync::describe(error);
    }
    return std::nullopt;
  }

  const std::vector<RefusedRow>& found() const { return found_; }
  bool may_go_on() const {
    return tries_ < kMostTries && std::chrono::steady_clock::now() < end_;
  }
  /// Whether a batch is refused of which no row is.
  bool is_of_several() const { return is_of_several_; }

 private:
  void find(std::int64_t begin, std::int64_t end) {
    if (!may_go_on()) return;
    std::vector<std::int64_t> places;
    for (std::int64_t i = begin; i < end; ++i) places.push_back(i);
    auto message = refusal(places);
    if (!message) return;
    if (end - begin == 1) {
      found_.push_back({first_ + begin, *std::move(message)});
      return;
    }
    const std::size_t before = found_.size();
    const std::int64_t middle = begin + (end - begin) / 2;
    find(begin, middle);
    find(middle, end);
    if (found_.size() == before && may_go_on()) is_of_several_ = true;
  }

  Job& job_;
  const std::vector<InputValue>* values_ = nullptr;
  std::int64_t first_ = 0;
  std::vector<RefusedRow> found_;
  std::int64_t tries_ = 0;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + kLongest;
  bool is_of_several_ = false;
};

bool have_rows(const std::vector<InputValue>& values) {
  const auto count = values.empty() ? -1 : values.front().ref().rows();
  return count > 0 &&
         std::all_of(values.begin(), values.end(), [&](const auto& value) {
           return value.ref().is_none() || value.ref().rows() == count;
         });
}

/// Without what differs between rows: numbers.
std::string form_of(const std::string& message) {
  static const std::regex kNumbers("-?[0-9][0-9.e+-]*|nan|inf|NaN");
  return std::regex_replace(message, kNumbers, "#");
}

/// Whether a message may be about values, not about a whole batch, whose sizes
/// all rows share.
bool is_of_values(const std::string& message) {
  static const std::regex kOfBatch(
      "sizes|shape|dtype|\\[N|tensor of at most|pixels in each dimension");
  return message.find("got ") != message.npos &&
         !std::regex_search(message, kOfBatch);
}

/// Whether the rows found are what is wrong: one is refused for the same reason
/// as the batch.
bool explain(const RowSearch& search, const std::string& message) {
  if (search.is_of_several()) return false;
  const std::string form = form_of(message);
  return std::any_of(
      search.found().begin(), search.found().end(),
      [&](const RefusedRow& row) { return form_of(row.message) == form; });
}

/// Where a word begins; npos if it is not there.
std::size_t find_word(const std::string& text, const std::string& word) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("\\b" + word + "\\b"))
             ? static_cast<std::size_t>(found.position())
             : text.npos;
}

/// The names of the inputs that the source has, also of those in order.
std::vector<std::string> input_names(const Job& job, std::int64_t row) {
  std::vector<std::string> names = job.source->names();
  if (!names.empty()) return names;
  for (const InputInfo& info :
       builtin_registry().inputs(job.config.members.front().text)) {
    names.emplace_back(info.name);
  }
  names.resize(std::min(names.size(), job.source->read(row, row + 1).size()));
  return names;
}

/// The input whose value a message tells, "got 3 as target", or that it names
/// first; -1 if it names none, or tells several.
std::int64_t named_input(const std::string& message,
                         const std::vector<std::string>& names) {
  static const std::regex kGot("got [^ ;,]+ as (\\w+)( and )?");
  std::smatch got;
  const bool tells = std::regex_search(message, got, kGot);
  if (tells && got[2].matched) return -1;
  const std::string text = tells ? got[1].str() : message;
  std::int64_t input = -1;
  std::size_t first = text.npos;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t begin = find_word(text, names[i]);
    if (begin >= first) continue;
    first = begin;
    input = static_cast<std::int64_t>(i);
  }
  return input;
}

/// "7" of "got 7" and "[3, 1]" of "got [3, 1]", in a message about one value.
std::string got_words(const std::string& message) {
  static const std::regex kGot(
      "got (\\[[^\\]]*\\]|(?:[-0-9'][^ ;,]*|nan|inf)"
      "(?: as \\w+ and \\S+ as \\w+)?)");
  std::smatch found;
  return std::regex_search(message, found, kGot) ? found[1].str() : "";
}

/// "x.csv", "line 7" and ", column 'a'".
struct Place {
  std::string file;
  std::string row;
  std::string input;
};

Place parse_place(const std::string& text) {
  static const std::regex kPlace("^(.*), ((?:line|row) [0-9]+)(, .*)?$");
  std::smatch found;
  if (!std::regex_match(text, found, kPlace)) return {"", text, ""};
  return {found[1].str(), found[2].str(), found[3].str()};
}

/// The places of other rows than the first, as far as each differs from the one
/// before: "line 7 (5)".
class OtherPlaces {
 public:
  OtherPlaces(Job& job, std::vector<std::string> names, const RefusedRow& first)
      : job_(job), names_(std::move(names)), last_(place_of(first)) {}

  std::string words(const RefusedRow& found) {
    const Place place = place_of(found);
    const std::string got = got_words(found.message);
    const std::string text =
        (place.file == last_.file ? "" : place.file + ", ") + place.row +
        (place.input == last_.input ? "" : place.input) +
        (got.empty() ? "" : " (" + got + ")");
    last_ = place;
    return text;
  }

 private:
  Place place_of(const RefusedRow& found) const {
    return parse_place(job_.source->value_place(
        found.row, named_input(found.message, names_)));
  }

  Job& job_;
  std::vector<std::string> names_;
  Place last_;
};

/// Of a message about one row that is named elsewhere. The position within it
/// is only of use where a row has several values.
std::string without_position(const std::string& message, bool is_single) {
  static const std::regex kPosition(" at position ([0-9]+)");
  static const std::regex kImage(" (?:of|in) image 0\\b(?! \\(id)");
  return std::regex_replace(std::regex_replace(message, kImage, ""), kPosition,
                            is_single ? "" : " at position $1 of the row");
}

}  // namespace

std::string program_words(const std::string& message, const Job& job) {
  static const std::regex kOwn("\\((\\w+), as '\\1' of a collection\\)");
  static const std::regex kMember(", as '([^']*)' of a collection\\)");
  static const std::regex kImage("image [0-9]+ \\(id (-?[0-9]+)\\)");
  static const std::regex kOption("(\\w+) is \\w+::k(\\w+)");
  static const std::regex kValue("\\w+::k([A-Z]\\w*)");
  std::string text = std::regex_replace(message, kOwn, "($1)");
  text = std::regex_replace(text, kMember,
                            job.config.members.size() == 1 ? ")" : " as '$1')");
  // A number in a batch, which nobody sees.
  text = std::regex_replace(text, kImage, "image $1");
  for (const auto& [pattern, format] :
       {std::make_pair(&kOption, "$1=$2"), std::make_pair(&kValue, "$1")}) {
    std::smatch found;
    while (std::regex_search(text, found, *pattern)) {
      std::string words = found.format(format);
      const std::size_t begin = words.find('=') + 1;
      words[begin] = static_cast<char>(
          std::tolower(static_cast<unsigned char>(words[begin])));
      text = found.prefix().str() + words + found.suffix().str();
    }
  }
  return text;
}

std::string refused_rows(Job& job, const std::string& message,
                         std::int64_t first) {
  const std::string of_all =
      job.source->file_names() + ": " + program_words(message, job);
  if (!is_of_values(message)) return of_all;
  const std::vector<std::string> names = input_names(job, first);
  RowSearch search(job);
  bool is_single = true;
  // Other ranks do not report theirs: the first of all is told.
  const std::int64_t end = job.source->rows();
  for (std::int64_t begin = first; begin < end && search.may_go_on();) {
    const std::int64_t count = std::min(job.batch_size, end - begin);
    const auto values = job.source->read(begin, begin + count);
    if (!have_rows(values)) break;
    const auto place = static_cast<std::size_t>(
        std::max<std::int64_t>(0, named_input(message, names)));
    const auto* const tensor = values.at(place).ref().as<at::Tensor>();
    is_single = tensor == nullptr || tensor->dim() == 1;
    search.search(begin, values);
    if (search.is_of_several()) break;
    begin += count;
  }
  if (!explain(search, message)) return of_all;
  std::vector<RefusedRow> rows = search.found();
  const std::size_t count = rows.size();
  rows.resize(std::min(kPlaces, count));
  std::string text =
      job.source->value_place(rows.front().row,
                              named_input(rows.front().message, names)) +
      ": " + without_position(rows.front().message, is_single);
  OtherPlaces others(job, names, rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    text += (i == 1 ? "; also in " : ", ") + others.words(rows[i]);
  }
  if (count > kPlaces) {
    text += " and " + std::string(search.may_go_on() ? "" : "at least ") +
            std::to_string(count - kPlaces) + " more";
  }
  return program_words(text, job);
}

}  // namespace tally::cli
