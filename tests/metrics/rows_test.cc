// What everything that accumulates has in common: files, copies, ranks,
// threads.

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/row_cases.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using namespace row_cases;  // NOLINT(build/namespaces)
using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::message_of;
using testkit::refusal_of;
using testkit::run_thread_ranks;

template <class Case>
class RowsTest : public ::testing::Test {
 public:
  using Object = typename Case::Object;

  RowsTest()
      : folder_(
            std::filesystem::path(::testing::TempDir()) /
            (std::string("rows_") +
             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~RowsTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "file"; }

  static Object empty() { return Case::make(accuracy()); }
  static Object updated(int first = 0, int last = kBatches, int step = 1) {
    Object object = empty();
    for (int i = first; i < last; i += step) Case::update(object, Batch(i));
    return object;
  }
  /// With the batches of all ranks.
  static std::string value_of_all() {
    Object object = updated();
    object.set_metric_options(MetricOptions().sync_on_compute(false));
    return Case::value(object);
  }

 private:
  std::filesystem::path folder_;
};

using Cases =
    ::testing::Types<Sliced, Named, Compared, OfInterval, OfModels, Tracked>;
TYPED_TEST_SUITE(RowsTest, Cases);

TYPED_TEST(RowsTest, IsSavedAndLoaded) {
  auto object = this->updated(0, 3);
  const std::string bytes = object.serialize();
  auto loaded = this->empty();
  ASSERT_TRUE(loaded.deserialize(bytes).ok());
  EXPECT_EQ(loaded.serialize(), bytes);
  EXPECT_EQ(loaded.update_count(), object.update_count());
  TypeParam::update(loaded, Batch(3));
  TypeParam::update(object, Batch(3));
  EXPECT_EQ(loaded.serialize(), object.serialize());
  EXPECT_EQ(TypeParam::value(loaded), this->value_of_all());

  ASSERT_TRUE(object.save(this->path()).ok());
  auto read = this->updated(1, 2);
  ASSERT_TRUE(read.load(this->path()).ok());
  EXPECT_EQ(TypeParam::value(read), this->value_of_all());
  EXPECT_EQ(read.load(this->path() + ".not").code(),
            absl::StatusCode::kNotFound);
}

TYPED_TEST(RowsTest, DamagedBytesChangeNothing) {
  const std::string bytes = this->updated().serialize();
  auto object = this->updated(0, 1);
  const std::string before = object.serialize();
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    EXPECT_FALSE(object.deserialize(damaged).ok()) << i;
    EXPECT_FALSE(object.deserialize(bytes.substr(0, i)).ok()) << i;
  }
  EXPECT_EQ(object.serialize(), before);
}

TYPED_TEST(RowsTest, OtherOptionsAreRefusedByName) {
  auto other = TypeParam::make(accuracy(4));
  TypeParam::update(other, Batch(0));
  auto object = this->updated(0, 1);
  const std::string before = object.serialize();
  EXPECT_THAT(message_of(object.deserialize(other.serialize())),
              AllOf(HasSubstr("num_classes=4"), HasSubstr("num_classes=3")));
  EXPECT_THAT(refusal_of([&] { object.merge_state(other); }),
              AllOf(HasSubstr("num_classes=3"), HasSubstr("num_classes=4")));
  EXPECT_THAT(refusal_of([&] { object.merge_state(object); }),
              HasSubstr("got itself"));
  EXPECT_EQ(object.serialize(), before);
}

TYPED_TEST(RowsTest, CloneIsSeparate) {
  auto object = this->updated(0, 3);
  auto copy = object.clone();
  EXPECT_EQ(copy.serialize(), object.serialize());
  TypeParam::update(copy, Batch(3));
  EXPECT_EQ(TypeParam::value(copy), this->value_of_all());
  EXPECT_NE(copy.serialize(), object.serialize());
  EXPECT_EQ(object.update_count(), 3);
  copy.reset();
  EXPECT_EQ(object.update_count(), 3);
  EXPECT_EQ(copy.status(), MetricStatus::kEmpty);
  EXPECT_EQ(copy.repr(), object.repr());
}

TYPED_TEST(RowsTest, StatesAreMerged) {
  auto object = this->updated(0, 1);
  object.merge_state(this->updated(1, kBatches));
  EXPECT_EQ(object.update_count(), kBatches);
  EXPECT_EQ(TypeParam::value(object), this->value_of_all());
  auto merged = this->empty();
  merged.merge_state(object.clone());
  EXPECT_EQ(TypeParam::value(merged), this->value_of_all());
}

TYPED_TEST(RowsTest, AnUpdateThatThrowsLeavesNothingBehind) {
  auto object = this->updated(1, 2);
  const std::string before = object.serialize();
  Batch bad(0);
  bad.target = bad.target.clone();
  bad.target[kRows - 1] = 7;
  EXPECT_THROW(TypeParam::update(object, bad), c10::Error);
  bad.target = bad.target.narrow(0, 0, 3);
  EXPECT_THROW(TypeParam::update(object, bad), c10::Error);
  EXPECT_EQ(object.serialize(), before);
  EXPECT_EQ(object.update_count(), 1);
}

TYPED_TEST(RowsTest, StatesAreShownAndMoved) {
  auto object = this->updated();
  const Results state = object.state();
  EXPECT_GT(state.size(), 0);
  object.to(at::kCPU);
  EXPECT_EQ(text_of(object.state()), text_of(state));
  EXPECT_EQ(TypeParam::value(object), this->value_of_all());
}

/// Calls a function while it observes.
struct Calling {
  static constexpr const char* kName = "Calling";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    (void)target;
    if (call) call();
    return {Number(preds.sum())};
  }
  static inline std::function<void()> call;
};
class CallingMetric final
    : public MetricOf<CallingMetric, Calling, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CallingMetric";
  static constexpr std::optional<bool> kHigherIsBetter = true;
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

TYPED_TEST(RowsTest, OneThreadAtATime) {
  auto object = TypeParam::make(CallingMetric());
  int calls = 0;
  Calling::call = [&] {
    ++calls;
    const auto refused = HasSubstr("is used by two threads at once");
    const auto refusal = [](const std::function<void()>& each) {
      return refusal_of<c10::Error>(each);
    };
    EXPECT_THAT(refusal([&] { TypeParam::update(object, Batch(1)); }), refused);
    EXPECT_THAT(refusal([&] { TypeParam::value(object); }), refused);
    EXPECT_THAT(refusal([&] { object.sync(); }), refused);
    EXPECT_THAT(refusal([&] { object.reset(); }), refused);
    EXPECT_THAT(refusal([&] { object.serialize(); }), refused);
    EXPECT_THAT(refusal([&] { object.state(); }), refused);
    EXPECT_THAT(refusal([&] { object.clone(); }), refused);
    EXPECT_THAT(refusal([&] { (void)object.deserialize(""); }), refused);
  };
  TypeParam::update(object, Batch(0));
  Calling::call = nullptr;
  EXPECT_GT(calls, 0);
  EXPECT_EQ(object.update_count(), 1);
}

/// On each rank every `ranks`-th batch; above 4 ranks the last has none.
template <class Test, class Body>
void on_ranks(int ranks, const Body& body) {
  run_thread_ranks(ranks, [&](const std::shared_ptr<sync::Communicator>& self) {
    body(Test::updated(self->rank(), kBatches, self->size()), *self);
  });
}

TYPED_TEST(RowsTest, ValuesAreThoseOfAllRanks) {
  const std::string all = this->value_of_all();
  for (const int ranks : {1, 2, 3, 5}) {
    on_ranks<TestFixture>(ranks, [&](auto object, const auto& self) {
      const std::string own = object.serialize();
      object.sync();
      EXPECT_EQ(object.update_count(), kBatches);
      EXPECT_EQ(TypeParam::value(object), all);
      EXPECT_EQ(object.serialize(), own);
      EXPECT_THAT(
          refusal_of<c10::Error>([&] { TypeParam::update(object, Batch(0)); }),
          HasSubstr("is not possible while synced"));
      object.unsync();
      EXPECT_EQ(object.serialize(), own);
      auto pending = object.sync_async();
      TypeParam::update(object, Batch(self.rank() + 10));
      EXPECT_EQ(text_of(pending.wait()), all);
      auto other = TestFixture::updated(self.rank(), kBatches, self.size());
      MeanMetric mean;
      mean.update(at::full({1}, self.rank(), at::kDouble));
      sync_together(other, mean);
      EXPECT_EQ(TypeParam::value(other), all);
      EXPECT_EQ(mean.compute().template item<double>(), (ranks - 1) / 2.0);
      other.unsync();
      EXPECT_EQ(other.serialize(), own);
      EXPECT_EQ(TypeParam::value(other), all);
    });
  }
}

TYPED_TEST(RowsTest, CheckpointsAreReadOnAnyNumberOfRanks) {
  const std::string all = this->value_of_all();
  for (const auto mode :
       {CheckpointRanks::kOneFile, CheckpointRanks::kFilePerRank}) {
    for (const int ranks : {1, 2, 3}) {
      on_ranks<TestFixture>(ranks, [&](auto object, const auto&) {
        ASSERT_TRUE(object.save(this->path(), mode).ok());
      });
      for (const int others : {1, 2, 3, 5}) {
        on_ranks<TestFixture>(others, [&](auto object, const auto&) {
          const absl::Status status = object.load(this->path(), mode);
          ASSERT_TRUE(status.ok()) << message_of(status);
          EXPECT_EQ(TypeParam::value(object), all) << ranks << " to " << others;
          object.sync();
          EXPECT_EQ(object.update_count(), kBatches);
        });
      }
    }
  }
}

}  // namespace
}  // namespace tally
