#include "tally/metrics/core/spec_text.h"

#include <c10/util/Exception.h>

#include <utility>

namespace tally::internal {
namespace {

struct NamedDtype {
  const char* name;
  at::ScalarType dtype;
};

constexpr NamedDtype kDtypes[] = {{"float16", at::kHalf},
                                  {"bfloat16", at::kBFloat16},
                                  {"float32", at::kFloat},
                                  {"float64", at::kDouble}};
constexpr const char* kDtype = "dtype";

OptionTexts texts_of(const CommonOptions& common) {
  MetricOptions options = common.metric_options;
  OptionTexts texts = option_texts(&options, visit_of<MetricOptions>(),
                                   /*state_only=*/false);
  std::string dtype = "none";
  for (const NamedDtype& named : kDtypes) {
    if (common.dtype == named.dtype) dtype = named.name;
  }
  texts.emplace_back(kDtype, std::move(dtype));
  return texts;
}

std::optional<at::ScalarType> dtype_of(const std::string& owner,
                                       const std::string& text) {
  if (text == "none") return std::nullopt;
  for (const NamedDtype& named : kDtypes) {
    if (text == named.name) return named.dtype;
  }
  TORCH_CHECK_VALUE(false, owner, ": option 'dtype': expected none, float16, ",
                    "bfloat16, float32 or float64, got '", text, "'");
}

}  // namespace

std::string with_common_options(std::string text, const CommonOptions& common) {
  // A class of a program may call itself as it likes.
  if (text.empty() || text.back() != ')') return text;
  const OptionTexts plain = texts_of({});
  const OptionTexts texts = texts_of(common);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].second == plain[i].second) continue;
    text.pop_back();
    text += (text.back() == '(' ? "" : ", ") + texts[i].first + "=" +
            texts[i].second + ")";
  }
  return text;
}

void take_common_options(const std::string& owner,
                         const std::map<std::string, std::string>& own,
                         std::map<std::string, std::string>& options,
                         CommonOptions& common) {
  std::map<std::string, std::string> taken;
  for (const auto& [name, text] : texts_of({})) {
    const auto given = options.find(name);
    if (given == options.end() || own.count(name) != 0) continue;
    if (name == kDtype) {
      common.dtype = dtype_of(owner, given->second);
    } else {
      taken.insert(*given);
    }
    options.erase(given);
  }
  parse_options(common.metric_options, owner, taken);
}

}  // namespace tally::internal
