#include "tally/metrics/registry/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/core/option_text.h"
#include "tally/metrics/options.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testkit::refusal_of;

std::string spec_error(const std::string& text) {
  return refusal_of([&] { parse_metric_spec(text); });
}

TEST(MetricSpecTest, HasNameAndOptions) {
  EXPECT_EQ(spec_error("A(x=1), B(y=2)"),
            "expected ';' between metrics behind 'A(x=1)', got ', B(y=2)'");
  EXPECT_EQ(spec_error("A(x=1) B()"),
            "expected nothing behind 'A(x=1)', got 'B()'");
  EXPECT_EQ(parse_metric_spec("A").name, "A");
  EXPECT_EQ(parse_metric_spec(" A_1 ( ) ").name, "A_1");
  EXPECT_THAT(parse_metric_spec("A()").options, IsEmpty());
  EXPECT_THAT(parse_metric_spec("A(b=1,c = two words , d=, e==x,)").options,
              ElementsAre(Pair("b", "1"), Pair("c", "two words"), Pair("d", ""),
                          Pair("e", "=x")));
}

TEST(MetricSpecTest, BracketsAndQuotesNest) {
  EXPECT_THAT(
      parse_metric_spec("A(b=[1, 2], c=B(d=C(e=\")\"), f=[1]), g={x: [A()]})")
          .options,
      ElementsAre(Pair("b", "[1, 2]"), Pair("c", "B(d=C(e=\")\"), f=[1])"),
                  Pair("g", "{x: [A()]}")));
  const char* quotes = "A(b=\"a, \\\"b\\\" \\\\ )\", c=\"\", d=\"a\"b\"c\")";
  EXPECT_THAT(parse_metric_spec(quotes).options,
              ElementsAre(Pair("b", "a, \"b\" \\ )"), Pair("c", ""),
                          Pair("d", "\"a\"b\"c\"")));
}

TEST(MetricSpecTest, WhatQuotingWritesReadsBack) {
  for (const std::string text :
       {"", "plain", "a, b", "A(b=[1, 2])", "a)", "(]", "\"", "\\", "a\"b",
        " a", "a ", "A(b=\"c, d\")", "\"a\"", "a;b", "\"a\" and \"b\"",
        "A(b=\"\\\"\")"}) {
    SCOPED_TRACE(text);
    const MetricSpec spec =
        parse_metric_spec("A(b=" + internal::quote_text(text) + ", c=1)");
    EXPECT_THAT(spec.options, ElementsAre(Pair("b", text), Pair("c", "1")));
  }
  EXPECT_EQ(internal::quote_text("A(b=[1, 2])"), "A(b=[1, 2])");
  EXPECT_EQ(internal::quote_text("a, b"), "\"a, b\"");
}

TEST(MetricSpecTest, SaysWhatIsWrong) {
  EXPECT_EQ(spec_error(""),
            "expected a metric such as MulticlassAccuracy(num_classes=5), got "
            "''");
  EXPECT_THAT(spec_error("5A"), HasSubstr("expected a metric such as"));
  EXPECT_THAT(spec_error("(a=1)"), HasSubstr("expected a metric such as"));
  EXPECT_EQ(spec_error("A(b=1"), "expected a closing ) in 'A(b=1'");
  EXPECT_EQ(spec_error("A(b=[1)"), "expected ], got ) in 'A(b=[1)'");
  EXPECT_EQ(spec_error("A(b=1)]"),
            "expected nothing to close, got ] in "
            "'A(b=1)]'");
  EXPECT_EQ(spec_error("A(b=\"1)"), "expected a closing \" in 'A(b=\"1)'");
  EXPECT_EQ(spec_error("A(b=1) c"),
            "expected A(...) to end with ')', got 'A(b=1) c'");
  EXPECT_THAT(spec_error("A(b=1)(c=2)"),
              HasSubstr("expected nothing behind 'A(b=1)', got '(c=2)'"));
  EXPECT_EQ(spec_error("A(b\nc=5)"), "A: expected option=value, got 'b c=5'");
  EXPECT_EQ(spec_error("A(5)"), "A: expected option=value, got '5'");
  EXPECT_EQ(spec_error("A(b=1,,c=2)"),
            "expected something before ',' in 'b=1,,c=2'");
  EXPECT_EQ(spec_error("A(b=1, b=2)"), "A: option 'b' is given twice");
  EXPECT_THAT(spec_error(std::string(1000, '(')), HasSubstr("(((...'"));
}

TEST(MetricListTest, HasNames) {
  EXPECT_THAT(parse_metric_list("A(b=1); x y=A(b=\";\") ;B;"),
              ElementsAre(Pair("A", "A(b=1)"), Pair("x y", "A(b=\";\")"),
                          Pair("B", "B")));
  EXPECT_EQ(refusal_of([] { parse_metric_list("A; A(b=1)"); }),
            "expected one metric of each name, got 'A' twice; write "
            "name=A(...)");
  // Whether it can be a metric's name is found out later.
  EXPECT_THAT(parse_metric_list("NDCG@10"),
              ElementsAre(Pair("NDCG@10", "NDCG@10")));
  EXPECT_THAT(refusal_of([] { parse_metric_list(" "); }),
              HasSubstr("got none"));
  EXPECT_THAT(refusal_of([] { parse_metric_list("A;;B"); }),
              HasSubstr("expected something before ';'"));
}

TEST(ItemsTest, AreOneOrMany) {
  EXPECT_THAT(parse_items(" A(b=1) "), ElementsAre(Pair("", "A(b=1)")));
  EXPECT_THAT(
      parse_items("[A, B(c=[1, 2]),\"d, e\"]"),
      ElementsAre(Pair("", "A"), Pair("", "B(c=[1, 2])"), Pair("", "d, e")));
  EXPECT_THAT(parse_items("{x: A, \"y:z\": B(c={d: e})}"),
              ElementsAre(Pair("x", "A"), Pair("y:z", "B(c={d: e})")));
  EXPECT_EQ(refusal_of([] { parse_items("{A}"); }),
            "expected name: item, got 'A'");
  EXPECT_EQ(refusal_of([] { parse_items("[]"); }),
            "expected at least one item, got '[]'");
  EXPECT_EQ(refusal_of([] { parse_items("[A] B"); }),
            "expected [item, ...], got '[A] B'");
}

TEST(NearestTest, HasALimit) {
  const std::vector<std::string> names = {"average", "num_classes", "top_k"};
  const auto meant = [&](const std::string& name) {
    return internal::did_you_mean(name, names);
  };
  EXPECT_EQ(meant("avreage"), "; did you mean 'average'?");
  EXPECT_EQ(meant("Average"), "; did you mean 'average'?");
  EXPECT_EQ(meant("numclasses"), "; did you mean 'num_classes'?");
  EXPECT_EQ(meant("classes"), "; did you mean 'num_classes'?");
  EXPECT_EQ(meant("topk"), "; did you mean 'top_k'?");
  for (const char* far : {"", "x", "xyz", "banana", "weight", "ks"}) {
    EXPECT_EQ(meant(far), "") << far;
  }
  EXPECT_EQ(meant(std::string(100'000, 'a')), "");
  EXPECT_EQ(internal::did_you_mean(
                "accuracy", {"BinaryAccuracy", "MulticlassAccuracy", "Recall"}),
            "; did you mean 'BinaryAccuracy' or 'MulticlassAccuracy'?");
}

}  // namespace
}  // namespace tally
