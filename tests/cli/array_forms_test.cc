#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/cli/source.h"
#include "tally/files/npy.h"
#include "tally/metrics/registry/registry.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

at::Tensor whole(const files::NpyFile& file) {
  return file.read(0, file.rows());
}

TEST(NpzTest, HoldsArraysByName) {
  const files::NpzFile plain(data_file("arrays.npz"));
  EXPECT_THAT(plain.names(), ElementsAre("preds", "target", "weight"));
  const files::NpzFile packed(data_file("arrays_compressed.npz"));
  EXPECT_THAT(packed.names(), ElementsAre("p", "y"));
  const at::Tensor preds = whole(files::NpyFile(data_file("preds.npy")));
  EXPECT_TRUE(whole(plain.open(0)).equal(preds));
  EXPECT_TRUE(whole(packed.open(0)).equal(preds));
  EXPECT_TRUE(whole(plain.open(2))
                  .equal(whole(files::NpyFile(data_file("weight.npy")))));
  EXPECT_THAT(packed.open(1).path(), EndsWith("arrays_compressed.npz: y"));
}

TEST(NpzTest, RefusesDamagedFiles) {
  const Folder folder;
  const auto error = [&](const std::string& bytes) {
    const std::string path = folder.write("x.npz", bytes);
    return refusal_of([&] {
      const files::NpzFile file(path);
      for (std::size_t i = 0; i < file.names().size(); ++i) {
        whole(file.open(i));
      }
    });
  };
  EXPECT_THAT(error(""), HasSubstr("expected a .npz file"));
  EXPECT_THAT(error("no archive"), HasSubstr("expected a .npz file"));
  EXPECT_THAT(error(std::string("PK\x05\x06", 4) + std::string(18, '\0')),
              EndsWith("x.npz: expected arrays, got none"));
  const std::string packed = read_file(data_file("arrays_compressed.npz"));
  // In the data of the first array; the sum tells.
  std::string damaged = packed;
  damaged[100] ^= 0x55;
  EXPECT_THAT(error(damaged), HasSubstr("damaged"));
  const std::size_t entry = packed.find("PK\x01\x02");
  for (const std::size_t place : {entry, entry + 28, entry + 42}) {
    damaged = packed;
    damaged[place] ^= 0x40;
    damaged[place + 1] ^= 0x40;
    EXPECT_THAT(error(damaged), HasSubstr("x.npz")) << place - entry;
  }
  std::string other = packed;
  other[entry + 10] = 12;  // bzip2
  EXPECT_THAT(error(other), HasSubstr("got one compressed otherwise"));
}

TEST(NpyFormTest, SeveralFilesAreOne) {
  const Folder folder;
  const auto open = [&](const std::string& name, const std::string& bytes) {
    return files::NpyFile(folder.write(name, bytes));
  };
  std::vector<files::NpyFile> parts;
  parts.push_back(open("1.npy", npy<double>("<f8", {1, 2})));
  parts.push_back(open("2.npy", npy<double>("<f8", {})));
  parts.push_back(open("3.npy", npy<double>("<f8", {3})));
  const files::NpyFiles all(std::move(parts));
  EXPECT_EQ(all.rows(), 3);
  EXPECT_TRUE(all.read(0, 3).equal(at::tensor({1.0, 2.0, 3.0}, at::kDouble)));
  EXPECT_TRUE(all.read(1, 3).equal(at::tensor({2.0, 3.0}, at::kDouble)));
  EXPECT_EQ(all.read(2, 2).size(0), 0);
  EXPECT_THAT(all.place(2), EndsWith("3.npy, row 0"));
  EXPECT_THAT(refusal_of([&] {
                std::vector<files::NpyFile> mixed;
                mixed.push_back(open("1.npy", npy<double>("<f8", {1})));
                mixed.push_back(open("2.npy", npy<std::int64_t>("<i8", {1})));
                const files::NpyFiles refused(std::move(mixed));
              }),
              HasSubstr("2.npy: expected rows of float64 [] as in "));
}

std::unique_ptr<Source> open(const Words& inputs, const std::string& metric,
                             const std::string& columns = "") {
  Arguments arguments;
  arguments.inputs = inputs;
  arguments.columns = columns;
  return open_source(arguments,
                     {{metric, builtin_registry().inputs(metric), metric}});
}

TEST(ArraySourceTest, TakesIntegersForScores) {
  const Folder folder;
  const std::string path =
      folder.write("x.npy", npy<std::int64_t>("<i8", {3, 1}));
  const auto source = open({path, path, path}, "RetrievalMAP");
  const auto dtype = [&](std::size_t input) {
    return source->read(0, 2)[input].ref().as<at::Tensor>()->scalar_type();
  };
  EXPECT_EQ(dtype(0), at::kDouble);
  EXPECT_EQ(dtype(2), at::kLong);
}

TEST(ArraySourceTest, ArchivesHoldAllInputs) {
  const std::string plain = data_file("arrays.npz");
  const std::string packed = data_file("arrays_compressed.npz");
  const char* kMetric = "MulticlassAccuracy(num_classes=3)";
  auto source = open({plain}, kMetric);
  EXPECT_THAT(source->names(), ElementsAre("preds", "target", "weight"));
  EXPECT_EQ(source->remarks(),
            "preds is array 'preds', target is array 'target', weight is array "
            "'weight'\n");
  EXPECT_EQ(source->rows(), 19);
  EXPECT_EQ(source->read(3, 5)[0].ref().as<at::Tensor>()->sizes(),
            at::IntArrayRef({2, 3}));
  source = open({packed}, kMetric, "p,y");
  EXPECT_EQ(source->value_place(2, 1), packed + ": y, row 2");
  EXPECT_EQ(source->remarks(), "preds is array 'p', target is array 'y'\n");
  source = open({packed}, kMetric, "target=y,preds=p");
  EXPECT_THAT(source->names(), ElementsAre("target", "preds"));
  EXPECT_EQ(source->remarks(), "");
  EXPECT_EQ(source->file_names(), packed);
  EXPECT_THAT(refusal_of([&] { open({packed}, kMetric, "p,x"); }),
              EndsWith("arrays_compressed.npz: no array 'x'"));
  EXPECT_THAT(
      refusal_of([&] { open({packed}, kMetric, "preds=p,y"); }),
      HasSubstr("--columns: expected names for all inputs or for none"));
  EXPECT_THAT(refusal_of([&] { open({packed}, kMetric); }),
              HasSubstr("no column found for preds"));
}

}  // namespace
}  // namespace tally::cli
