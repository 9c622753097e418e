#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <c10/util/accumulate.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tally/cli/evaluate.h"
#include "tally/metrics/registry/registry.h"
#include "tally/tests/cli/files.h"

namespace tally::cli {
namespace {

// The contents of a .npy file of uint8.
std::string npy_of(const at::Tensor& images) {
  std::string shape;
  for (const std::int64_t size : images.sizes()) {
    shape += std::to_string(size) + ", ";
  }
  std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  header += '\n';
  const auto* const bytes =
      reinterpret_cast<const char*>(images.const_data_ptr<std::uint8_t>());
  return std::string("\x93NUMPY\x01\x00", 8) +
         std::string{static_cast<char>(header.size()), 0} + header +
         std::string(bytes, images.numel());
}

TEST(ImageInputsTest, ImagesInNpyFilesAreEvaluated) {
  const at::Tensor preds = at::arange(3 * 2 * 12 * 13)
                               .mul(37)
                               .remainder(251)
                               .to(at::kByte)
                               .reshape({3, 2, 12, 13});
  const at::Tensor target = preds.bitwise_xor(5);
  const Folder folder;
  Arguments arguments;
  arguments.inputs = {folder.write("preds.npy", npy_of(preds)),
                      folder.write("target.npy", npy_of(target))};
  arguments.batch_size = 2;
  for (const char* const name :
       {"PeakSignalNoiseRatio(data_range=255)",
        "StructuralSimilarityIndexMeasure(data_range=255)"}) {
    arguments.metrics = std::string("value=") + name;
    Progress progress(nullptr);
    const Report report =
        evaluate(arguments, sync::single_process_communicator(), progress);
    EXPECT_EQ(report.rows, 3);
    const std::unique_ptr<Metric> metric = make_metric(name);
    metric->update({{"preds", preds}, {"target", target}});
    EXPECT_DOUBLE_EQ(report.results["value"].item<double>(),
                     metric->compute_results()[""].item<double>());
  }
}

TEST(ImageInputsTest, SegmentsInNpyFilesAreEvaluated) {
  const auto pixels = [](std::int64_t step, at::IntArrayRef sizes) {
    const std::int64_t count = c10::multiply_integers(sizes);
    return at::arange(count)
        .mul(step)
        .remainder(7)
        .floor_divide(4)
        .to(at::kByte)
        .reshape(sizes);
  };
  const at::Tensor preds = pixels(3, {3, 6, 7, 2});
  const at::Tensor target = pixels(1, {3, 6, 7, 2});
  const at::Tensor crowd = pixels(5, {3, 6, 7});
  const Folder folder;
  Arguments arguments;
  arguments.inputs = {folder.write("preds.npy", npy_of(preds)),
                      folder.write("target.npy", npy_of(target)),
                      folder.write("crowd.npy", npy_of(crowd))};
  arguments.batch_size = 2;
  const char* const name =
      "PanopticQuality(things=[0], stuffs=[1], return_per_class=true)";
  arguments.metrics = std::string("value=") + name;
  Progress progress(nullptr);
  const Report report =
      evaluate(arguments, sync::single_process_communicator(), progress);
  const std::unique_ptr<Metric> metric = make_metric(name);
  metric->update({{"preds", preds}, {"target", target}, {"crowd", crowd}});
  EXPECT_TRUE(at::allclose(report.results["value.pq"],
                           metric->compute_results()["pq"], 1e-12, 0,
                           /*equal_nan=*/true));
}

}  // namespace
}  // namespace tally::cli
