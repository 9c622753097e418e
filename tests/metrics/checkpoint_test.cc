#include "tally/metrics/checkpoint/checkpoint.h"

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "tally/metrics/collection.h"
#include "tally/sync/fingerprint.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::message_of;

constexpr std::size_t kEnvelope = 32;

// A metric with every kind of field.
struct EveryField {
  static constexpr const char* kName = "EveryField";
  struct State {
    std::int64_t count = 0;
    Number sum;
    at::Tensor totals;
    Rows rows;
    void fields(Fields& f) {
      f("count", count)("sum", sum)("totals", totals)("rows", rows);
    }
  };
  State observe(const at::Tensor& values) const {
    return {values.size(0), Number(values.sum()), values.sum(0), Rows(values)};
  }
};
class EveryFieldMetric final
    : public MetricOf<EveryFieldMetric, EveryField, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "EveryFieldMetric";
  at::Tensor evaluate(const State& s) const { return s.sum / Number(s.count); }
};

at::Tensor values() { return at::arange(12, at::kDouble).reshape({4, 3}); }

EveryFieldMetric updated() {
  EveryFieldMetric metric;
  metric.update(values());
  metric.update(values().mul(2));
  return metric;
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest()
      : folder_(
            std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::size_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(CheckpointTest, RestoresEveryField) {
  EveryFieldMetric metric = updated();
  EveryFieldMetric loaded;
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  EXPECT_TRUE(testkit::same_bits(loaded.state(), metric.state()));
  EXPECT_EQ(loaded.update_count(), 2);
  EXPECT_EQ(loaded.status(), MetricStatus::kUpdated);
  loaded.update(values());
  metric.update(values());
  EXPECT_EQ(loaded.serialize(), metric.serialize());
}

TEST_F(CheckpointTest, AnEmptyMetricIsOneToo) {
  EveryFieldMetric metric = updated();
  ASSERT_TRUE(metric.deserialize(EveryFieldMetric().serialize()).ok());
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  EXPECT_EQ(metric.serialize(), EveryFieldMetric().serialize());
}

TEST_F(CheckpointTest, LoadingReplacesAndEndsASync) {
  EveryFieldMetric metric = updated();
  const std::string bytes = metric.serialize();
  metric.update(values());
  metric.sync();
  ASSERT_TRUE(metric.deserialize(bytes).ok());
  EXPECT_FALSE(metric.is_synced());
  EXPECT_EQ(metric.serialize(), bytes);
}

TEST_F(CheckpointTest, AFileKeepsTheBytes) {
  const EveryFieldMetric metric = updated();
  ASSERT_TRUE(metric.save(path("metric")).ok());
  EveryFieldMetric loaded;
  ASSERT_TRUE(loaded.load(path("metric")).ok());
  EXPECT_EQ(loaded.serialize(), metric.serialize());
  // Over an older file, and with no other file left behind.
  ASSERT_TRUE(EveryFieldMetric().save(path("metric")).ok());
  ASSERT_TRUE(loaded.load(path("metric")).ok());
  EXPECT_EQ(loaded.status(), MetricStatus::kEmpty);
  EXPECT_EQ(files(), 1);
  struct stat info {};
  ASSERT_EQ(::stat(path("metric").c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
}

TEST_F(CheckpointTest, FileErrorsSayWhichFile) {
  EveryFieldMetric metric = updated();
  const std::string before = metric.serialize();
  absl::Status status = metric.load(path("missing"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(message_of(status),
            path("missing") + ": cannot be read: No such file or directory");
  status = metric.save(path("missing/metric"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(status), HasSubstr("missing/metric: cannot be"));
  // A folder is in the way.
  std::filesystem::create_directories(path("folder/inner"));
  EXPECT_FALSE(metric.save(path("folder")).ok());
  EXPECT_FALSE(metric.load(path("folder")).ok());
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(metric.serialize(), before);
}

TEST_F(CheckpointTest, OtherMetricsAndOptionsAreRefused) {
  EveryFieldMetric metric = updated();
  const std::string before = metric.serialize();
  testkit::SampleCat cat;
  cat.update(values());
  absl::Status status = metric.deserialize(cat.serialize());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(status),
              HasSubstr("the checkpoint holds 'SampleCat' with the state "
                        "SampleRows, expected 'EveryFieldMetric' with the "
                        "state EveryField"));

  EveryFieldMetric strict(NoOptions(),
                          MetricOptions().nan_policy(NanPolicy::kError));
  status = metric.deserialize(strict.serialize());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(message_of(status),
            "the checkpoint of 'EveryFieldMetric' is of the options "
            "nan_policy=error; "
            "expected nan_policy=propagate");
  EXPECT_EQ(metric.serialize(), before);
}

MetricCollection collection(const std::vector<std::string>& names) {
  MetricCollection metrics;
  for (const std::string& name : names) {
    if (name == "cat") {
      metrics.add(name, testkit::SampleCat());
    } else if (name == "every") {
      metrics.add(name, EveryFieldMetric());
    } else {
      metrics.add(name, testkit::SampleTensorSum());
    }
  }
  return metrics;
}

TEST_F(CheckpointTest, CollectionsSayWhichStatesDiffer) {
  MetricCollection metrics = collection({"cat", "sum"});
  const std::string bytes = metrics.serialize();
  EXPECT_EQ(message_of(collection({"cat"}).deserialize(bytes)),
            "the checkpoint holds the states of 'cat', 'sum'; expected those "
            "of 'cat'");
  EXPECT_EQ(message_of(collection({"cat", "other"}).deserialize(bytes)),
            "the checkpoint holds the state of 'sum', expected that of "
            "'other'");
  EXPECT_EQ(message_of(collection({"cat", "sum", "same"}).deserialize(bytes)),
            "the checkpoint holds the state of 'sum', expected that of "
            "'sum+same'");
}

TEST_F(CheckpointTest, APartOfACollectionCanBeLoaded) {
  MetricCollection old = collection({"every", "cat", "sum"});
  // States of all layouts: those of "cat" are passed over.
  old.update(at::arange(30'000, at::kDouble).reshape({10'000, 3}));
  old.update(at::arange(30'000, at::kDouble).reshape({10'000, 3}));
  ASSERT_TRUE(old.save(path("old")).ok());
  MetricCollection now = collection({"sum", "second"});
  now.add("every", EveryFieldMetric());
  now.add("strict", EveryFieldMetric(NoOptions(), MetricOptions().nan_policy(
                                                      NanPolicy::kError)));
  now.update(values());
  const auto report = now.load_parts(path("old"));
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->missing, ElementsAre("strict"));
  EXPECT_THAT(report->unexpected, ElementsAre("cat"));
  for (const char* name : {"sum", "every"}) {
    EXPECT_EQ(now.extract(name)->serialize(), old.extract(name)->serialize());
  }
  EXPECT_EQ(now.extract("strict")->status(), MetricStatus::kEmpty);

  const std::string before = now.serialize();
  std::string bytes = old.serialize();
  bytes.back() ^= 1;
  EXPECT_EQ(now.deserialize_parts(bytes).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(now.load_parts(path("missing")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(now.serialize(), before);
}

TEST_F(CheckpointTest, EachPartOfTheEnvelopeIsChecked) {
  const std::string bytes = updated().serialize();
  EveryFieldMetric metric;
  const auto refused = [&](const std::string& changed) {
    const absl::Status status = metric.deserialize(changed);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
    return message_of(status);
  };
  const auto flipped = [&](std::size_t at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    return changed;
  };
  EXPECT_EQ(refused(""), "expected a Tally checkpoint, got 0 bytes");
  EXPECT_EQ(refused(std::string(100, 'x')),
            "expected a Tally checkpoint, got a file without its magic number");
  EXPECT_EQ(refused(flipped(0)),
            "expected a Tally checkpoint, got a file without its magic number");
  EXPECT_EQ(refused(flipped(8)),
            "the checkpoint has version 0, expected 1 to 4");
  EXPECT_THAT(refused(flipped(16)), HasSubstr("the checkpoint is too long"));
  EXPECT_THAT(refused(flipped(24)), HasSubstr("checksum does not match"));
  EXPECT_THAT(refused(flipped(40)), HasSubstr("checksum does not match"));
  EXPECT_THAT(refused(bytes + "x"), HasSubstr("the checkpoint is too long"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    refused(bytes.substr(0, size));
  }
}

std::string mutate(std::string bytes, std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return bytes.substr(0, random() % bytes.size());
    case 1:
      bytes.insert(random() % bytes.size(), 1 + random() % 9,
                   static_cast<char>(random()));
      return bytes;
    default:
      for (unsigned count = 1 + random() % 8; count > 0; --count) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      return bytes;
  }
}

TEST_F(CheckpointTest, MutatedBytesNeverLoad) {
  EveryFieldMetric metric = updated();
  const std::string bytes = metric.serialize();
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    const std::string mutated = mutate(bytes, random);
    ASSERT_EQ(metric.deserialize(mutated).ok(), mutated == bytes) << i;
    ASSERT_EQ(metric.serialize(), bytes) << i;
  }
}

// As if the damage had happened before the checksum was made: what is read may
// be anything, but reading it stays within bounds and all or nothing.
TEST_F(CheckpointTest, MutatedBytesWithAMatchingChecksumDoNoHarm) {
  const std::string bytes = updated().serialize();
  std::mt19937 random(4);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string body = mutate(bytes.substr(kEnvelope), random);
    std::string mutated = bytes.substr(0, kEnvelope) + body;
    const auto length = static_cast<std::int64_t>(body.size());
    const std::uint64_t checksum = sync::fingerprint(body);
    std::memcpy(mutated.data() + 16, &length, sizeof(length));
    std::memcpy(mutated.data() + 24, &checksum, sizeof(checksum));
    EveryFieldMetric metric;
    if (metric.deserialize(mutated).ok()) {
      metric.state();
    } else {
      ++refused;
      ASSERT_EQ(metric.status(), MetricStatus::kEmpty) << i;
      ASSERT_EQ(metric.serialize(), EveryFieldMetric().serialize()) << i;
    }
  }
  EXPECT_GT(refused, 1000);
}

using internal::CheckpointRows;

absl::Status any(const internal::CheckpointOrigin&) { return absl::OkStatus(); }

absl::Status read(const std::string& bytes, CheckpointRows& rows) {
  return internal::read_checkpoint(bytes, rows, any);
}

/// A row of a column for each label.
CheckpointRows rows_of(
    const std::vector<std::pair<std::string, std::int64_t>>& counts) {
  CheckpointRows rows;
  for (const auto& [label, count] : counts) {
    EveryField::State state;
    state.count = count;
    rows.columns.push_back({label, "key", AnyState::of(EveryField::State())});
    rows.cells.push_back({AnyState::of(state), count});
  }
  return rows;
}

TEST_F(CheckpointTest, NumbersOfUpdatesThatCannotBeAreRefused) {
  for (const std::int64_t updates :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    const std::string bytes =
        internal::write_checkpoint(rows_of({{"metric", updates}}));
    CheckpointRows rows = rows_of({{"metric", 7}});
    const absl::Status status = read(bytes, rows);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(message_of(status), HasSubstr("expected a number of updates"));
    EXPECT_EQ(rows.cells[0].count, 7);
  }
}

TEST_F(CheckpointTest, RowsStayAsTheyWereUnlessAllFit) {
  const std::string one = internal::write_checkpoint(rows_of({{"label", 1}}));
  const std::string two =
      internal::write_checkpoint(rows_of({{"label", 1}, {"label", 2}}));
  CheckpointRows rows = rows_of({{"label", 7}, {"label", 8}});
  EXPECT_EQ(message_of(read(one, rows)),
            "the checkpoint holds the states of 'label'; expected those of "
            "'label', 'label'");
  EXPECT_EQ(rows.cells[0].count, 7);
  ASSERT_TRUE(read(two, rows).ok());
  EXPECT_EQ(rows.cells[1].state.get<EveryField::State>().count, 2);
  EXPECT_EQ(rows.cells[1].count, 2);
}

TEST_F(CheckpointTest, StatesOfOneKeyAreToldApartByTheirLabels) {
  const std::string bytes =
      internal::write_checkpoint(rows_of({{"a", 1}, {"b", 2}, {"c", 3}}));
  CheckpointRows rows = rows_of({{"new", 0}, {"c", 0}, {"a", 0}});
  internal::CheckpointGaps gaps;
  ASSERT_TRUE(internal::read_checkpoint(bytes, rows, any, &gaps).ok());
  EXPECT_EQ(rows.cells[0].count, 2);
  EXPECT_EQ(rows.cells[1].count, 3);
  EXPECT_EQ(rows.cells[2].count, 1);
  EXPECT_TRUE(gaps.unread.empty());
  EXPECT_TRUE(gaps.unfilled.empty());
}

}  // namespace
}  // namespace tally
