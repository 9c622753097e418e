#include "tally/metrics/registry/collection_config.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// JSON with ' for ".
std::string json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

std::string error_of(const std::string& text) {
  return testkit::refusal_of([&] { make_collection(json(text)); });
}

TEST(CollectionConfigTest, MakesACollection) {
  MetricCollection metrics = make_collection(
      json("{'prefix': 'val_', 'postfix': '!', 'nan_policy': 'ignore',"
           " 'sync_on_compute': false,"
           " 'metrics': {"
           "  'rmse': 'MeanSquaredError(squared=false)',"
           "  'mse': {'metric': 'MeanSquaredError', 'options': {'squared':"
           "          true}, 'nan_policy': 'propagate'},"
           "  'pearson': {'metric': 'PearsonCorrCoef'}}}"));
  EXPECT_THAT(metrics.names(), ElementsAre("rmse", "mse", "pearson"));
  EXPECT_FALSE(metrics.metric_options().sync_on_compute());
  EXPECT_EQ(metrics.extract("rmse")->metric_options().nan_policy(),
            NanPolicy::kIgnore);
  EXPECT_EQ(metrics.extract("mse")->metric_options().nan_policy(),
            NanPolicy::kPropagate);
  metrics.update(at::tensor({1.0, 2.0}), at::tensor({1.0, 4.0}));
  const Results results = metrics.compute();
  EXPECT_DOUBLE_EQ(results["val_mse!"].item<double>(), 2);
  EXPECT_DOUBLE_EQ(results["val_rmse!"].item<double>(), std::sqrt(2.0));
}

TEST(CollectionConfigTest, TakesAList) {
  const MetricCollection metrics =
      make_collection(json("{'metrics': ['MaxMetric', 'low=MinMetric']}"));
  EXPECT_THAT(metrics.names(), ElementsAre("MaxMetric", "low"));
}

TEST(CollectionConfigTest, OptionsCanBeOfAnyJsonType) {
  const CollectionConfig config = parse_collection_config(
      json("{'metrics': {'x': {'metric': 'A', 'options': {"
           "'text': 'a, b', 'flag': true, 'count': -3, 'ratio': 0.1,"
           "'none': null, 'list': [0.5, 1], 'names': ['a', 'b, c'],"
           "'map': {'k': [1]}, 'other': 'C(d=e)',"
           "'metric': {'metric': 'B', 'options': {'c': 'd'}}}}}}"));
  ASSERT_EQ(config.members.size(), 1u);
  EXPECT_EQ(config.members[0].text,
            "A(text=\"a, b\", flag=true, count=-3, ratio=0.1, none=none, "
            "list=[0.5, 1], names=[a, \"b, c\"], map={k: [1]}, "
            "other=C(d=e), metric=B(c=d))");
}

TEST(CollectionConfigTest, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("{"),
            "config: line 1, column 2: expected JSON, got an end that comes "
            "too early");
  EXPECT_EQ(error_of("[1e999]"),
            "config: expected JSON, got the number 1e999, which is too large");
  EXPECT_EQ(error_of("[]"), "config: expected an object, got []");
  EXPECT_EQ(error_of("{}"), "config: expected \"metrics\" in it, got none");
  EXPECT_EQ(error_of("{'metric': {'metric': 'A'}}"),
            "config: unknown option 'metric'; did you mean 'metrics'?");
  EXPECT_EQ(error_of("{'metrics': {}}"),
            "config: expected at least one metric, got none");
  EXPECT_THAT(error_of("{'metrics': []}"), HasSubstr("got none"));
  EXPECT_EQ(error_of("{'metrics': 5}"),
            "config: expected metrics to be an object or a list, got 5");
  EXPECT_EQ(error_of("{'metrics': [5]}"),
            "config: expected a list of texts as metrics, got 5");
  EXPECT_EQ(error_of("{'metrics': {'a': 5}}"),
            "config: metric 'a': expected text or an object, got 5");
  EXPECT_EQ(error_of("{'metrics': {'a': {'options': {}}}}"),
            "config: expected \"metric\" to be text in {\"options\":{}}");
  EXPECT_THAT(error_of("{'metrics': {'a': {'metric': 'A', 'options': 5}}}"),
              HasSubstr("expected \"options\" to be an object, got 5"));
  EXPECT_THAT(error_of("{'metrics': {'a': {'metric': 'A()', 'options': {}}}}"),
              HasSubstr("expected options in \"options\" or in parentheses, "
                        "got both"));
  EXPECT_EQ(error_of("{'metrics': {'a': {'metric': 'A', 'optoins': {}}}}"),
            "config: metric 'a': unknown option 'optoins'; did you mean "
            "'options'?");
  EXPECT_EQ(error_of("{'nan_policy': 'no', 'metrics': ['MaxMetric']}"),
            "config: option 'nan_policy': expected one of propagate, error, "
            "ignore, got 'no'");
  EXPECT_EQ(error_of("{'metrics': {'a': 'MaxMetric', 'a': 'MinMetric'}}"),
            "config: expected each name once, got 'a' twice");
  EXPECT_THAT(error_of("{'metrics': " + std::string(100, '[')),
              HasSubstr("expected at most 32 levels"));
  EXPECT_THAT(error_of("{'metrics': {'a': 'MaxMetrik'}}"),
              HasSubstr("did you mean 'MaxMetric'?"));
  EXPECT_THAT(error_of("{'metrics': {'': 'MaxMetric'}}"),
              HasSubstr("expected a name"));
  EXPECT_THAT(error_of("{'metrics': '" + std::string(1000, 'x') + "'}"),
              HasSubstr("xxx..."));
}

}  // namespace
}  // namespace tally
