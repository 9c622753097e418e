#include "tally/metrics/portable/any_metric.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/sync/fingerprint.h"
#include "tally/tests/metrics/registry_cases.h"
#include "tally/tests/metrics/row_cases.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using namespace registry_cases;  // NOLINT(build/namespaces)
using row_cases::text_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testkit::refusal_of;

std::string message_of(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

template <class T>
T taken(absl::StatusOr<T> found) {
  EXPECT_TRUE(found.ok()) << message_of(found.status());
  return *std::move(found);
}

Metric& metric_in(AnyMetric& any) {
  return *std::get<std::unique_ptr<Metric>>(any);
}

/// What `value(object)` says after bytes of two halves were merged.
template <class Case>
std::string value_of_merged_halves() {
  std::vector<std::string> bytes;
  for (const int first : {0, row_cases::kBatches / 2}) {
    auto half = Case::make(row_cases::accuracy());
    for (int i = 0; i < row_cases::kBatches / 2; ++i) {
      Case::update(half, row_cases::Batch(first + i));
    }
    bytes.push_back(half.to_bytes());
  }
  AnyMetric whole = taken(merge_bytes({bytes[0], bytes[1]}));
  return Case::value(std::get<typename Case::Object>(whole));
}

template <class Case>
std::string value_of_one() {
  auto one = Case::make(row_cases::accuracy());
  for (int i = 0; i < row_cases::kBatches; ++i) {
    Case::update(one, row_cases::Batch(i));
  }
  return Case::value(one);
}

TEST(AnyMetricTest, RowsMergeAsBytes) {
  using namespace row_cases;  // NOLINT(build/namespaces)
  EXPECT_EQ(value_of_merged_halves<Sliced>(), value_of_one<Sliced>());
  EXPECT_EQ(value_of_merged_halves<Named>(), value_of_one<Named>());
  EXPECT_EQ(value_of_merged_halves<Compared>(), value_of_one<Compared>());
  EXPECT_EQ(value_of_merged_halves<OfInterval>(), value_of_one<OfInterval>());
  EXPECT_EQ(value_of_merged_halves<OfModels>(), value_of_one<OfModels>());
}

/// Whether bytes of batches, each in an object of its own, could be merged.
void check_every_batch_alone(const std::string& name, const FixtureCase& each) {
  const auto empty = metric_of(name, each);
  const auto whole = empty->clone();
  std::vector<std::string> bytes;
  for (const Batch& batch : each.batches) {
    const auto part = empty->clone();
    with_inputs(batch, [&](Inputs inputs) { part->update_inputs(inputs); });
    bytes.push_back(part->to_bytes());
    whole->merge_state(*part);
  }
  const std::vector<std::string_view> views(bytes.begin(), bytes.end());
  AnyMetric merged = taken(merge_bytes(views));
  EXPECT_EQ(metric_in(merged).spec(), whole->spec());
  EXPECT_EQ(metric_in(merged).serialize(), whole->serialize());
}

TEST(AnyMetricTest, EveryMetricTravels) {
  std::set<std::string> left;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    SCOPED_TRACE(name);
    bool any = false;
    for (const FixtureCase& each : cases_with_rows(entry)) {
      any = true;
      check_every_batch_alone(name, each);
    }
    if (!any) left.insert(name);
  }
  EXPECT_LT(left.size(), 60u) << ::testing::PrintToString(left);
}

TEST(AnyMetricTest, SpecsAreThoseOfWhatIsMadeOfThem) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    for (const MetricOptions& options :
         {MetricOptions(), MetricOptions()
                               .validate_args(false)
                               .nan_policy(NanPolicy::kIgnore)
                               .compute_on_cpu(true)}) {
      const auto metric = make_metric(entry.example(), options);
      AnyMetric made = make_any_metric(metric->spec());
      EXPECT_EQ(metric_in(made).spec(), metric->spec());
      EXPECT_EQ(metric_in(made).state_key(), metric->state_key());
      EXPECT_EQ(metric_in(made).repr(), metric->repr());
    }
    std::vector<FixtureCase> cases = cases_of(entry);
    for (const FixtureCase& each : cases) {
      const auto metric = metric_of(name, each);
      AnyMetric made = make_any_metric(metric->spec());
      EXPECT_EQ(metric_in(made).spec(), metric->spec());
      EXPECT_EQ(metric_in(made).state_key(), metric->state_key());
    }
  }
}

TEST(AnyMetricTest, ArithmeticTravels) {
  BinaryPrecision p;
  BinaryRecall r(BinaryRecallOptions().threshold(0.1 + 0.2),
                 MetricOptions().nan_policy(NanPolicy::kIgnore));
  auto f1 = 2 * p * r / (p + r) - pow(minimum(p, 0.1), abs(sqrt(r)));
  f1.set_dtype(at::kFloat);
  const at::Tensor preds = at::tensor({0.9, 0.4, 0.2, 0.7});
  const at::Tensor target = at::tensor({1, 1, 0, 0});
  f1.update(preds, target);
  AnyMetric copy = taken(from_bytes(f1.to_bytes()));
  EXPECT_EQ(metric_in(copy).spec(), f1.spec());
  EXPECT_EQ(metric_in(copy).name(), "CompositionalMetric");
  EXPECT_EQ(metric_in(copy).number(), f1.compute().item<double>());
  EXPECT_EQ(metric_in(copy).compute().begin()->second.scalar_type(),
            at::kFloat);
}

TEST(AnyMetricTest, WrappersAndCollectionsTravel) {
  MultitaskWrapper tasks;
  tasks.add("age: years", MeanSquaredError());
  MetricCollection two;
  two.add("a", BinaryAccuracy());
  two.add("r", BinaryRecall());
  tasks.add("animal", std::move(two));
  MetricCollection metrics;
  metrics.prefix("val, ").postfix("_x");
  metrics.add("mean",
              MeanMetric({}, MetricOptions().nan_policy(NanPolicy::kIgnore)));
  metrics.add("best: one", MinMaxMetric(MeanMetric()));
  metrics.update(at::tensor({1.0, 2.0}));
  metrics.compute();
  AnyMetric copy = taken(from_bytes(metrics.to_bytes()));
  auto& read = std::get<MetricCollection>(copy);
  EXPECT_EQ(read.spec(), metrics.spec());
  EXPECT_EQ(text_of(read.compute()), text_of(metrics.compute()));
  AnyMetric made = make_any_metric(tasks.spec());
  EXPECT_EQ(metric_in(made).spec(), tasks.spec());
  EXPECT_EQ(builtin_registry().inputs(tasks.spec()).size(), 3u);
  builtin_registry().check_sizes(tasks.spec(), 10);
  EXPECT_EQ(make_any_metric("MetricCollection()").index(), 1u);
}

TEST(AnyMetricTest, TrackersTravel) {
  MetricCollection metrics;
  metrics.prefix("val/");
  metrics.add("mean", MeanMetric());
  metrics.add("error", MeanSquaredError());
  MetricTracker tracker(std::move(metrics), {{"mean", true}});
  MetricTracker single(MeanSquaredError{});
  for (const double value : {3.0, 5.0, 4.0}) {
    single.increment(static_cast<std::int64_t>(100 * value));
    single.update(at::tensor({value}), at::tensor({0.0}));
    single.compute_all();
  }
  AnyMetric copy = taken(from_bytes(single.to_bytes()));
  auto& read = std::get<MetricTracker>(copy);
  EXPECT_EQ(read.spec(), single.spec());
  EXPECT_EQ(read.best_metric().value, 9);
  EXPECT_EQ(read.best_metric().label, "300");
  EXPECT_EQ(read.labels(), (std::vector<std::string>{"300", "500", "400"}));
  EXPECT_EQ(base_of(make_any_metric(tracker.spec())).spec(), tracker.spec());
  EXPECT_EQ(
      base_of(make_any_metric("MetricTracker(metric=MeanMetric())")).spec(),
      MetricTracker(MeanMetric()).spec());

  // Other processes' batches of the same epoch.
  MetricTracker half(MeanSquaredError{}), other(MeanSquaredError{});
  half.increment("first");
  other.increment("first");
  half.update(at::tensor({3.0}), at::tensor({0.0}));
  other.update(at::tensor({1.0}), at::tensor({0.0}));
  const std::string a = half.to_bytes(), b = other.to_bytes();
  AnyMetric whole = taken(merge_bytes({a, b}));
  EXPECT_EQ(
      std::get<MetricTracker>(whole).compute_all().value()[0].item<double>(),
      5);
}

TEST(AnyMetricTest, OptionsAroundMetricsTravel) {
  SlicedMetric sliced(SlicedMetricOptions()
                          .keys({{SliceValue("a \"b\", c"), SliceValue(-3)},
                                 {SliceValue(), SliceValue("none")}})
                          .max_slices(7)
                          .largest(1));
  sliced.add("x", BinaryAccuracy());
  sliced.add("y", BinaryRecall());
  AnyMetric copy = make_any_metric(sliced.spec());
  EXPECT_EQ(base_of(copy).spec(), sliced.spec());
  EXPECT_EQ(std::get<SlicedMetric>(copy).options().keys(),
            sliced.options().keys());
  NamedSets sets({"clean, quiet", "[loud]"},
                 NamedSetsOptions().weights({0.25, 3}));
  sets.add("x", BinaryAccuracy());
  sets.add("y", BinaryRecall());
  copy = make_any_metric(sets.spec());
  EXPECT_EQ(base_of(copy).spec(), sets.spec());
  EXPECT_EQ(std::get<NamedSets>(copy).sets(), sets.sets());
  EXPECT_EQ(std::get<NamedSets>(copy).options().weights(),
            sets.options().weights());
  IntervalMetric interval(BinaryAccuracy(),
                          IntervalOptions()
                              .level(0.9)
                              .method(IntervalMethod::kPoisson)
                              .ends(ReplicateInterval::kNormal)
                              .replicates(20)
                              .seed(5)
                              .grouped(true));
  copy = make_any_metric(interval.spec());
  EXPECT_EQ(base_of(copy).spec(), interval.spec());
  const IntervalOptions& options = std::get<IntervalMetric>(copy).options();
  EXPECT_EQ(options.level(), 0.9);
  EXPECT_EQ(options.replicates(), 20);
  EXPECT_TRUE(options.grouped());
}

TEST(AnyMetricTest, TextsAreRefused) {
  const auto refusal = [](const char* text) {
    return refusal_of([&] { make_any_metric(text); });
  };
  EXPECT_THAT(refusal("MetricTracker(metric=MeanMetric(), maximize={A: true})"),
              HasSubstr("expected maximize for MeanMetric, got 'A'"));
  EXPECT_THAT(
      refusal("MetricTracker(metric=MeanMetric(), maximize={MeanMetric: up})"),
      HasSubstr("MetricTracker: maximize: expected true or false, got 'up'"));
  EXPECT_THAT(refusal("MetricTracker(metrics=MeanMetric())"),
              HasSubstr("metrics: expected MetricCollection(...), got "
                        "MeanMetric"));
  EXPECT_THAT(refusal("MetricTracker(metric=MeanMetric(), steps=3)"),
              HasSubstr("unknown option 'steps'"));
  EXPECT_THAT(refusal("NamedSets(metrics={a: MeanMetric()})"),
              HasSubstr("NamedSets: sets: expected a list such as"));
  EXPECT_THAT(refusal("NamedSets(sets=[a, a], metrics={a: MeanMetric()})"),
              HasSubstr("expected each set once, got 'a' twice"));
  EXPECT_THAT(refusal("IntervalMetric(level=0.9)"),
              HasSubstr("option 'metric' is required"));
  EXPECT_THAT(refusal("IntervalMetric(metric=BinaryAccuracy(), levle=0.9)"),
              HasSubstr("unknown option 'levle'"));
  EXPECT_THAT(refusal("SlicedMetric(metric=BinaryAccuracy(), keys=[[a]])"),
              HasSubstr("keys: expected none, an integer or \"text\""));
  EXPECT_THAT(refusal("SlicedMetric(metric=BinaryAccuracy(), keys=3)"),
              HasSubstr("keys: expected a list such as"));
  EXPECT_THAT(refusal("MetricCollection(mertics={a: MeanMetric()})"),
              HasSubstr("unknown option 'mertics'"));
  EXPECT_THAT(refusal("MeanMetric(dtype=int8)"),
              HasSubstr("option 'dtype': expected none, float16, bfloat16"));
  EXPECT_THAT(refusal("MeanMetric(nan_policy=omit)"),
              AllOf(HasSubstr("option 'nan_policy'"), HasSubstr("ignore")));
  const auto arithmetic = [&](const std::string& expression) {
    return refusal(
        ("CompositionalMetric(expression=" + expression + ")").c_str());
  };
  EXPECT_THAT(arithmetic("2 * "), HasSubstr("expected a metric, a number or"));
  EXPECT_THAT(arithmetic("MeanMetric() MeanMetric()"),
              HasSubstr("expected an operator or the end"));
  EXPECT_THAT(arithmetic("pow(MeanMetric())"), HasSubstr("expected ','"));
  EXPECT_THAT(arithmetic("2 + 3"), HasSubstr("at least one metric"));
  EXPECT_THAT(arithmetic("MaenMetric() + 1"), HasSubstr("unknown metric"));
  EXPECT_THAT(arithmetic(std::string(200, '-') + "MeanMetric()"),
              HasSubstr("nested at most"));
  EXPECT_THAT(refusal("CompositionalMetric()"),
              HasSubstr("expected one option, expression="));
}

BinaryAccuracy updated() {
  BinaryAccuracy accuracy;
  accuracy.update(at::tensor({0.9, 0.1}), at::tensor({1, 1}));
  return accuracy;
}

/// The same with another text, and a checksum that fits.
std::string forged(std::string bytes, const std::string& from,
                   const std::string& to) {
  constexpr std::size_t kEnvelope = 32;
  bytes.replace(bytes.find(from), from.size(), to);
  const std::uint64_t checksum =
      sync::fingerprint(std::string_view(bytes).substr(kEnvelope));
  std::memcpy(bytes.data() + kEnvelope - sizeof(checksum), &checksum,
              sizeof(checksum));
  return bytes;
}

TEST(AnyMetricTest, BytesAreRefused) {
  using absl::StatusCode;
  const std::string bytes = updated().to_bytes();
  const auto refusal = [](const std::string& text, StatusCode code) {
    const auto found = from_bytes(text);
    EXPECT_EQ(found.status().code(), code);
    return message_of(found.status());
  };
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    refusal(bytes.substr(0, size), StatusCode::kDataLoss);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 16);
    EXPECT_FALSE(from_bytes(changed).ok()) << i;
  }
  EXPECT_THAT(refusal(bytes + "x", StatusCode::kDataLoss),
              HasSubstr("too long"));
  std::string newer = bytes;
  newer[8] = 5;
  EXPECT_THAT(refusal(newer, StatusCode::kFailedPrecondition),
              AllOf(HasSubstr("version 5, expected 1 to 4"),
                    HasSubstr("newer version of Tally")));
  EXPECT_THAT(refusal(updated().serialize(), StatusCode::kFailedPrecondition),
              HasSubstr("does not say what made it"));
  EXPECT_THAT(refusal(forged(bytes, "BinaryAccuracy", "BinaryAxxuracy"),
                      StatusCode::kFailedPrecondition),
              HasSubstr("the state is one of BinaryAxxuracy(threshold=0.5"));
  MulticlassAccuracy many(10);
  many.update(at::tensor({1, 2}), at::tensor({1, 1}));
  EXPECT_THAT(refusal(forged(many.to_bytes(), "num_classes=10",
                             "num_classes=9999999999999"),
                      StatusCode::kDataLoss),
              StartsWith("the checkpoint is"));
}

TEST(AnyMetricTest, SizesThatBytesDoNotBearOutAreRefused) {
  MulticlassAccuracy many(1'000'000'000);
  const auto found = from_bytes(many.to_bytes());
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(found.status()),
              HasSubstr("expected at most 100000 for this amount of data"));
}

TEST(AnyMetricTest, OtherMetricsAreRefusedByTheirPlace) {
  const std::string bytes = updated().to_bytes();
  const auto refusal = [&](const std::string& other) {
    const auto found = merge_bytes({bytes, other});
    EXPECT_FALSE(found.ok());
    return message_of(found.status());
  };
  EXPECT_THAT(
      refusal(
          BinaryAccuracy(BinaryAccuracyOptions().threshold(0.4)).to_bytes()),
      AllOf(StartsWith("state 1: "), HasSubstr("threshold=0.4")));
  // Of the same state, but other values.
  const auto root = merge_bytes(
      {MeanSquaredError().to_bytes(),
       MeanSquaredError(MeanSquaredErrorOptions().squared(false)).to_bytes()});
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(root.status()), HasSubstr("squared=false"));
  EXPECT_THAT(refusal(BinaryRecall().to_bytes()),
              AllOf(HasSubstr("expected a state of BinaryAccuracy("),
                    HasSubstr("got one of BinaryRecall(")));
  EXPECT_THAT(refusal(MetricCollection().to_bytes()),
              AllOf(StartsWith("state 1: "), HasSubstr("MetricCollection()")));
  EXPECT_THAT(refusal("x"), StartsWith("state 1: expected a Tally checkpoint"));
  EXPECT_EQ(merge_bytes({}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

internal::Sources sources_of(const MetricBase& metric) {
  return taken(internal::read_checkpoint_head(metric.to_bytes())).sources;
}

TEST(SourcesTest, AreThoseOfAllThatWasMerged) {
  BinaryAccuracy empty;
  EXPECT_TRUE(sources_of(empty).ids().empty());
  const auto a = updated(), b = updated();
  const auto of_a = sources_of(a).ids(), of_b = sources_of(b).ids();
  ASSERT_EQ(of_a.size(), 1u);
  ASSERT_EQ(of_b.size(), 1u);
  EXPECT_FALSE(of_a == of_b);
  EXPECT_EQ(sources_of(a).ids(), of_a);
  BinaryAccuracy all;
  all.merge_state(b);
  all.merge_state(a);
  EXPECT_EQ(sources_of(all).ids().size(), 2u);
  all.merge_state(a);
  EXPECT_EQ(sources_of(all).ids().size(), 2u);
  AnyMetric read = taken(from_bytes(all.to_bytes()));
  EXPECT_EQ(sources_of(base_of(read)).ids(), sources_of(all).ids());
  all.update(at::tensor({0.9}), at::tensor({1}));
  EXPECT_EQ(sources_of(all).ids().size(), 3u);
  all.reset();
  EXPECT_TRUE(sources_of(all).ids().empty());
}

TEST(SourcesTest, AreDrawnAnewByChildren) {
  const auto draw = [] {
    internal::Sources sources;
    sources.note_update();
    return sources.ids().front();
  };
  const internal::SourceId before = draw();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const internal::SourceId own = draw();
    ::_exit(::write(ends[1], &own, sizeof(own)) == sizeof(own) ? 0 : 1);
  }
  internal::SourceId of_child;
  ASSERT_EQ(::read(ends[0], &of_child, sizeof(of_child)),
            static_cast<ssize_t>(sizeof(of_child)));
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const internal::SourceId after = draw();
  EXPECT_EQ(after.high, before.high);
  EXPECT_FALSE(after == before);
  EXPECT_NE(of_child.high, before.high);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(SourcesTest, CopiesGoOnAsTheirOwn) {
  auto a = updated();
  const auto copy = a.clone();
  EXPECT_EQ(sources_of(*copy).ids(), sources_of(a).ids());
  copy->update(at::tensor({0.9}), at::tensor({1}));
  a.update(at::tensor({0.9}), at::tensor({1}));
  EXPECT_EQ(sources_of(*copy).ids().size(), 2u);
  EXPECT_EQ(sources_of(a).ids().size(), 1u);
}

TEST(SourcesTest, FilesSayWhichPartTheyAre) {
  const std::string path = std::string(::testing::TempDir()) + "/part.tally";
  const auto a = updated();
  ASSERT_TRUE(a.save(path, {2, 5}).ok());
  BinaryAccuracy read;
  ASSERT_TRUE(read.load(path).ok());
  const internal::Sources sources = sources_of(read);
  EXPECT_EQ(sources.part_count(), 5);
  EXPECT_EQ(sources.parts(), std::vector<std::int64_t>{2});
  EXPECT_EQ(sources_of(a).part_count(), 0);
  EXPECT_THAT(refusal_of([&] {
                (void)a.save(path, {5, 5});
              }),
              HasSubstr("expected part i of n with 0 <= i < n, got part 5"));
}

}  // namespace
}  // namespace tally
