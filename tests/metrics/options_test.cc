#include "tally/metrics/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/core/option_text.h"
#include "tally/metrics/metric_options.h"
#include "tally/sync/errors.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

enum class SampleColor { kRed, kDarkBlue };
template <>
struct EnumNames<SampleColor> {
  static constexpr const char* kNames[] = {"red", "dark_blue"};
};

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Color = SampleColor;
using Texts = std::map<std::string, std::string>;

struct SampleOptions {
  TORCH_ARG(bool, flag) = false;
  TORCH_ARG(std::int64_t, count) = 5;
  TORCH_ARG(double, ratio) = 0.5;
  TORCH_ARG(std::string, name) = "x";
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;
  TORCH_ARG(std::optional<double>, limit) = std::nullopt;
  TORCH_ARG(std::vector<double>, quantiles) = {0.1, 0.9};
  TORCH_ARG(CountOrList, thresholds) = std::monostate();
  TORCH_ARG(Color, color) = Color::kRed;
  TORCH_ARG(std::vector<std::int64_t>, top_k) = {1, 5};
  TORCH_ARG(std::vector<std::string>, keys) = {};
  TORCH_ARG(std::optional<std::string>, model) = std::nullopt;
  TORCH_ARG(std::vector<Color>, palette) = {};
  TORCH_ARG(std::optional<Color>, ink) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("flag", flag_);
    v("count", count_);
    v("ratio", ratio_, OptionRole::kValue);
    v("name", name_);
    v("ignore_index", ignore_index_);
    v("limit", limit_);
    v("quantiles", quantiles_);
    v("thresholds", thresholds_);
    v("color", color_, OptionRole::kValue);
    v("top_k", top_k_, OptionRole::kSize);
    v("keys", keys_, OptionRole::kValue);
    v("model", model_, OptionRole::kValue);
    v("palette", palette_, OptionRole::kValue);
    v("ink", ink_, OptionRole::kValue);
  }
};

SampleOptions parsed(const Texts& texts) {
  SampleOptions options;
  parse_options(options, "Sample", texts);
  return options;
}

std::string error_of(const Texts& texts) {
  SampleOptions options;
  const std::string text =
      testkit::refusal_of([&] { parse_options(options, "Sample", texts); });
  EXPECT_EQ(options_repr(options), options_repr(SampleOptions()));
  return text;
}

TEST(OptionsTest, AreShownInTheirOrder) {
  EXPECT_EQ(options_repr(SampleOptions()),
            "flag=false, count=5, ratio=0.5, name=x, ignore_index=none, "
            "limit=none, quantiles=[0.1, 0.9], thresholds=none, color=red, "
            "top_k=[1, 5], keys=[], model=none, palette=[], ink=none");
}

TEST(OptionsTest, StateKeyHasWhatShapesTheStateByName) {
  EXPECT_EQ(options_state_key(SampleOptions()),
            "count=5, flag=false, ignore_index=none, limit=none, name=x, "
            "quantiles=[0.1, 0.9], thresholds=none, top_k=[1, 5]");
  EXPECT_EQ(options_state_key(SampleOptions().ratio(9).color(Color::kDarkBlue)),
            options_state_key(SampleOptions()));
  EXPECT_NE(options_state_key(SampleOptions().count(6)),
            options_state_key(SampleOptions()));
}

TEST(OptionsTest, AreReadFromText) {
  const SampleOptions options = parsed({{"flag", "true"},
                                        {"count", "-7"},
                                        {"ratio", "1e-3"},
                                        {"name", "a b"},
                                        {"ignore_index", "-100"},
                                        {"limit", "inf"},
                                        {"quantiles", "[0,1e-2, -3]"},
                                        {"thresholds", "200"},
                                        {"color", "dark_blue"},
                                        {"top_k", "[ 1,10 ]"},
                                        {"keys", R"([a b,"c, \"d\"]", ""])"},
                                        {"model", "bert"},
                                        {"palette", "[red, dark_blue]"},
                                        {"ink", "red"}});
  EXPECT_TRUE(options.flag());
  EXPECT_EQ(options.count(), -7);
  EXPECT_EQ(options.ratio(), 1e-3);
  EXPECT_EQ(options.name(), "a b");
  EXPECT_EQ(options.ignore_index(), -100);
  EXPECT_EQ(options.limit(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(options.quantiles(), (std::vector<double>{0, 1e-2, -3}));
  EXPECT_EQ(std::get<std::int64_t>(options.thresholds()), 200);
  EXPECT_EQ(options.color(), Color::kDarkBlue);
  EXPECT_THAT(options.top_k(), ElementsAre(1, 10));
  EXPECT_THAT(options.keys(), ElementsAre("a b", "c, \"d\"]", ""));
  EXPECT_EQ(options.model(), "bert");
  EXPECT_THAT(options.palette(), ElementsAre(Color::kRed, Color::kDarkBlue));
  EXPECT_EQ(options.ink(), Color::kRed);
}

TEST(OptionsTest, OptionalOnesCanBeNoneAgain) {
  SampleOptions options = SampleOptions().ignore_index(3).limit(0.5);
  parse_options(options, "Sample",
                {{"ignore_index", "none"}, {"limit", "none"}});
  EXPECT_EQ(options.ignore_index(), std::nullopt);
  EXPECT_EQ(options.limit(), std::nullopt);
}

TEST(OptionsTest, WhatIsShownReadsBack) {
  const std::vector<SampleOptions> all = {
      SampleOptions(),
      SampleOptions().flag(true).ratio(0.1).limit(std::nextafter(1.0, 2.0)),
      SampleOptions().ratio(std::numeric_limits<double>::quiet_NaN()),
      SampleOptions().ratio(-std::numeric_limits<double>::infinity()),
      SampleOptions().ratio(5e-324).quantiles({}).ignore_index(0),
      SampleOptions().keys({"", " ", "a, b", "[", "c\"\\", "none"}),
      SampleOptions().top_k({}).model("x; y").ink(Color::kDarkBlue),
      SampleOptions().palette({Color::kDarkBlue, Color::kDarkBlue}),
      SampleOptions().thresholds(std::int64_t{11}),
      SampleOptions().thresholds(std::vector<double>{0.25, 1e300}),
      SampleOptions().count(std::numeric_limits<std::int64_t>::min())};
  for (SampleOptions options : all) {
    Texts texts;
    for (const auto& [name, text] : internal::option_texts(
             &options, internal::visit_of<SampleOptions>(), false)) {
      texts[name] = internal::unquote_text(text);
    }
    EXPECT_EQ(options_repr(parsed(texts)), options_repr(options));
  }
}

TEST(OptionsTest, UnknownNamesGetTheNearestOne) {
  EXPECT_EQ(error_of({{"cuont", "5"}}),
            "Sample: unknown option 'cuont'; did you mean 'count'?");
  EXPECT_EQ(error_of({{"ignore-index", "5"}}),
            "Sample: unknown option 'ignore-index'; did you mean "
            "'ignore_index'?");
  // Nothing is set, though the first name is right.
  EXPECT_THAT(error_of({{"count", "6"}, {"zzz", "5"}}),
              HasSubstr("unknown option 'zzz'"));
  struct None {
    void visit(OptionVisitor&) {}
  } none;
  try {
    parse_options(none, "Sample", {{"a", "b"}});
    FAIL();
  } catch (const c10::ValueError& error) {
    EXPECT_EQ(sync::describe(error), "Sample: unknown option 'a'");
  }
}

TEST(OptionsTest, TextsThatAreNoValueAreRefused) {
  EXPECT_EQ(error_of({{"flag", "yes"}}),
            "Sample: option 'flag': expected true or false, got 'yes'");
  for (const char* text : {"", "5.0", "5x", " 5", "9223372036854775808"}) {
    EXPECT_EQ(error_of({{"count", text}}),
              "Sample: option 'count': expected an integer, got '" +
                  std::string(text) + "'");
  }
  for (const char* text : {"", "1,5", "0.5.", "x", "none"}) {
    EXPECT_EQ(error_of({{"ratio", text}}),
              "Sample: option 'ratio': expected a number, got '" +
                  std::string(text) + "'");
  }
  EXPECT_THAT(error_of({{"ignore_index", "None"}}),
              HasSubstr("expected none or an integer, got 'None'"));
  EXPECT_THAT(error_of({{"limit", "nil"}}),
              HasSubstr("expected none or a number, got 'nil'"));
  EXPECT_EQ(error_of({{"top_k", "5"}}),
            "Sample: option 'top_k': expected a list such as [1, 2], got '5'");
  EXPECT_THAT(error_of({{"top_k", "[1, 0.5]"}}),
              HasSubstr("expected an integer, got '0.5'"));
  EXPECT_THAT(error_of({{"keys", "[a, \"b]"}}),
              HasSubstr("expected a list such as [one, two], got '[a, \"b]'"));
  EXPECT_THAT(error_of({{"palette", "red"}}),
              HasSubstr("a list, each one of red, dark_blue, got 'red'"));
  EXPECT_THAT(error_of({{"palette", "[blue]"}}),
              HasSubstr("expected one of red, dark_blue, got 'blue'"));
  EXPECT_THAT(error_of({{"ink", "blue"}}),
              HasSubstr("expected none or one of red, dark_blue, got 'blue'"));
  EXPECT_EQ(error_of({{"quantiles", "0.1, 0.2"}}),
            "Sample: option 'quantiles': expected a list such as [0.1, 0.9], "
            "got '0.1, 0.2'");
  EXPECT_THAT(error_of({{"quantiles", "[0.1, a]"}}),
              HasSubstr("expected a number, got 'a'"));
  EXPECT_THAT(error_of({{"quantiles", "[0.1,,0.2]"}}),
              HasSubstr("expected a number, got ''"));
  EXPECT_THAT(error_of({{"quantiles", "["}}), HasSubstr("expected a list"));
  EXPECT_EQ(error_of({{"thresholds", "many"}}),
            "Sample: option 'thresholds': expected none, an integer, or a list "
            "such as [0.1, 0.9], got 'many'");
  EXPECT_EQ(error_of({{"color", "blue"}}),
            "Sample: option 'color': expected one of red, dark_blue, got "
            "'blue'");
}

TEST(OptionsTest, AreDescribed) {
  const auto infos = describe_options(SampleOptions());
  const auto info = [&](const std::string& name) {
    return *std::find_if(infos.begin(), infos.end(),
                         [&](const auto& i) { return i.name == name; });
  };
  EXPECT_EQ(info("top_k").text, "[1, 5]");
  EXPECT_EQ(info("top_k").expected, "a list such as [1, 2]");
  EXPECT_TRUE(info("top_k").is_size);
  EXPECT_FALSE(info("keys").is_size);
  EXPECT_EQ(info("ink").expected, "none or one of red, dark_blue");
  EXPECT_EQ(info("model").expected, "none or text");
}

TEST(OptionsTest, MetricOptionsThatShapeTheState) {
  EXPECT_EQ(options_state_key(MetricOptions()),
            "compute_on_cpu=false, nan_policy=propagate, validate_args=true");
  EXPECT_EQ(options_state_key(MetricOptions().dist_sync_on_step(true)),
            options_state_key(MetricOptions()));
}

}  // namespace
}  // namespace tally
