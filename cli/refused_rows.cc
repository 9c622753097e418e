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

/// Whether a message may be about values, not about a whole batch.
bool is_of_values(const std::string& message) {
  constexpr const char* kOfBatches[] = {"sizes", "shape", "dtype",
                                        "tensor of at most"};
  return message.find("got ") != message.npos &&
         std::none_of(std::begin(kOfBatches), std::end(kOfBatches),
                      [&](const char* word) {
                        return message.find(word) != message.npos;
                      });
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

bool has_word(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("\\b" + word + "\\b"));
}

/// The input that a message names first; -1 if it names none.
std::int64_t named_input(const std::string& message, const Job& job,
                         std::size_t inputs) {
  std::vector<std::string> names = job.source->names();
  for (const auto& member : job.config.members) {
    if (!names.empty()) break;
    for (const InputInfo& info : builtin_registry().inputs(member.text)) {
      names.emplace_back(info.name);
    }
  }
  names.resize(std::min(names.size(), inputs));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (has_word(message, names[i])) return static_cast<std::int64_t>(i);
  }
  return -1;
}

/// "got 7", of a message about one value.
std::string got_words(const std::string& message) {
  static const std::regex kGot("got ([^ ;,]+)");
  std::smatch found;
  return std::regex_search(message, found, kGot) ? found[1].str() : "";
}

/// "x.csv, " of "x.csv, line 7".
std::string file_of(const std::string& place) {
  const std::size_t end = place.rfind(", ");
  return end == std::string::npos ? "" : place.substr(0, end + 2);
}

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
  static const std::regex kMember(", as '([^']*)' of a collection\\)");
  static const std::regex kImage("image [0-9]+ \\(id (-?[0-9]+)\\)");
  static const std::regex kOption("(\\w+) is \\w+::k(\\w+)");
  static const std::regex kValue("\\w+::k([A-Z]\\w*)");
  std::string text = std::regex_replace(
      message, kMember, job.config.members.size() == 1 ? ")" : " as '$1')");
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
                         std::int64_t first, std::int64_t end) {
  const std::string of_all =
      job.source->file_names() + ": " + program_words(message, job);
  if (!is_of_values(message)) return of_all;
  RowSearch search(job);
  bool is_single = true;
  std::int64_t input = -1;
  for (std::int64_t begin = first; begin < end && search.may_go_on();) {
    const std::int64_t count = std::min(job.batch_size, end - begin);
    const auto values = job.source->read(begin, begin + count);
    if (!have_rows(values)) break;
    if (begin == first) {
      input = named_input(message, job, values.size());
      const auto place =
          static_cast<std::size_t>(std::max<std::int64_t>(0, input));
      const auto* const tensor = values[place].ref().as<at::Tensor>();
      is_single = tensor == nullptr || tensor->dim() == 1;
    }
    search.search(begin, values);
    if (search.is_of_several()) break;
    begin += count;
  }
  // Other ranks have rows of their own.
  const bool is_whole = search.may_go_on() && job.split.size() == 1;
  if (!explain(search, message)) return of_all;
  const auto& rows = search.found();
  std::string text = job.source->value_place(rows.front().row, input) + ": " +
                     without_position(rows.front().message, is_single);
  const std::string file = file_of(job.source->value_place(rows[0].row, -1));
  for (std::size_t i = 1; i < std::min(kPlaces, rows.size()); ++i) {
    const std::string got = got_words(rows[i].message);
    const std::string place = job.source->value_place(rows[i].row, -1);
    text += (i == 1 ? "; also in " : ", ") +
            (file_of(place) == file ? place.substr(file.size()) : place) +
            (got.empty() ? "" : " (" + got + ")");
  }
  if (rows.size() > kPlaces) {
    text += " and " + std::string(is_whole ? "" : "at least ") +
            std::to_string(rows.size() - kPlaces) + " more";
  }
  return program_words(text, job);
}

}  // namespace tally::cli
