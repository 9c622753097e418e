#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tally/cli/evaluate.h"
#include "tally/sync/errors.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/mutator.h"

namespace tally::cli {
namespace {

using tally::testkit::Mutator;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSpare = 16 << 20;
// In KB, of the whole process.
#if defined(__SANITIZE_ADDRESS__)
constexpr long kMostMemory = 2 << 20;
#else
constexpr long kMostMemory = 512 << 10;
#endif

/// How the evaluation ended: "" for well.
std::string ending(const Arguments& arguments) {
  try {
    Progress progress(nullptr);
    evaluate(arguments, sync::single_process_communicator(), progress, kSpare);
  } catch (const c10::ValueError& error) {
    return sync::describe(error);
  }
  return "";
}

/// Ends each case well or with one line that says what is wrong, and has run
/// out of no memory.
class MutationsTest : public ::testing::Test {
 protected:
  void check(const std::string& input) {
    const std::string what = ending(arguments_);
    ASSERT_THAT(what,
                Not(AnyOf(HasSubstr("bad_alloc"), HasSubstr("can't allocate"),
                          HasSubstr("INTERNAL ASSERT"))))
        << input;
    well_ += what.empty();
  }
  void TearDown() override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    EXPECT_LT(usage.ru_maxrss, kMostMemory);
    // Else nothing is tested but the first check.
    EXPECT_GT(well_, 0);
  }

  Folder folder_;
  Arguments arguments_;
  int well_ = 0;
};

TEST_F(MutationsTest, OfNpyFiles) {
  const std::string files[] = {read_file(data_file("preds.npy")),
                               read_file(data_file("f8.npy")),
                               read_file(data_file("u8_swapped_fortran.npy")),
                               read_file(data_file("version_2.npy"))};
  Mutator mutate(1);
  arguments_.metrics = "CatMetric; MaxMetric";
  for (int i = 0; i < 1000; ++i) {
    std::string file = mutate(files[i % 4]);
    // Most that is interesting is in the header.
    const std::size_t header = std::min<std::size_t>(128, file.size());
    if (i % 2 == 0) file = mutate(file.substr(0, header)) + file.substr(header);
    arguments_.inputs = {folder_.write("x.npy", file)};
    check(file);
  }
}

TEST_F(MutationsTest, OfPredictions) {
  const std::string preds = read_file(data_file("preds.npy"));
  const std::string target = read_file(data_file("target.npy"));
  Mutator mutate(2);
  arguments_.metrics =
      "MulticlassAccuracy(num_classes=3); MulticlassLogLoss(num_classes=3); "
      "MulticlassAUROC(num_classes=3); b=MulticlassAUROC(num_classes=3, "
      "thresholds=5); MulticlassConfusionMatrix(num_classes=3)";
  for (int i = 0; i < 500; ++i) {
    arguments_.inputs = {
        folder_.write("p.npy", i % 2 == 0 ? mutate(preds) : preds),
        folder_.write("t.npy", i % 2 == 1 ? mutate(target) : target)};
    check(std::to_string(i));
  }
}

TEST_F(MutationsTest, OfCsvFiles) {
  const std::string csv = read_file(data_file("predictions.csv"));
  Mutator mutate(3);
  arguments_.metrics = "MulticlassLogLoss(num_classes=3)";
  const char* columns[] = {"p0:p2,target,weight", "p0:p2,target", "",
                           "@2:@4,@5"};
  for (int i = 0; i < 600; ++i) {
    const std::string text = mutate(csv);
    arguments_.csv = {folder_.write("x.csv", text)};
    arguments_.columns = i % 8 < 4 ? columns[0] : mutate(columns[i % 4]);
    check(text + "\n" + arguments_.columns);
  }
}

TEST_F(MutationsTest, OfConfigs) {
  const std::string config =
      "{\"prefix\": \"val_\", \"nan_policy\": \"ignore\", \"metrics\": {"
      "\"a\": \"MulticlassAccuracy(num_classes=3, top_k=2)\", \"b\": "
      "{\"metric\": \"MulticlassAUROC\", \"options\": {\"num_classes\": 3, "
      "\"thresholds\": [0.1, 0.5]}, \"validate_args\": false}, \"c\": "
      "\"MinMaxMetric(metric=MulticlassRecall(num_classes=3))\"}}";
  Mutator mutate(4);
  arguments_.inputs = {data_file("preds.npy"), data_file("target.npy")};
  for (int i = 0; i < 400; ++i) {
    const std::string text = mutate(config);
    arguments_.config = folder_.write("x.json", text);
    check(text);
  }
}

TEST_F(MutationsTest, OfMetrics) {
  std::vector<std::string> texts;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const std::string text = entry.example();
    texts.push_back(text);
    texts.push_back(builtin_registry().make(text)->repr());
  }
  Mutator mutate(5);
  // Few of them take two of these files.
  for (int i = 0; i < 10'000; ++i) {
    arguments_.metrics = mutate(texts[mutate.below(texts.size())]);
    arguments_.inputs = {data_file(i % 3 == 0 ? "weight.npy" : "preds.npy"),
                         data_file(i % 3 == 1 ? "target.npy" : "weight.npy")};
    check(arguments_.metrics);
  }
}

}  // namespace
}  // namespace tally::cli
