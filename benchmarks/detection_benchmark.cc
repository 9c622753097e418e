// What the evaluation of detected objects costs: see README.md.
//
//   detection_benchmark ANNOTATIONS RESULTS bbox|segm
//
// reads COCO's files, and prints "MILLISECONDS OF UPDATE, OF COMPUTE, MAP".

#include <tally/metrics/detection/detection.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>

#include "tally/files/coco_files.h"

namespace {

double cpu_milliseconds() {
  return 1000 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s ANNOTATIONS RESULTS bbox|segm\n", argv[0]);
    return 2;
  }
  const tally::ObjectShape shape = std::string(argv[3]) == "segm"
                                       ? tally::ObjectShape::kSegm
                                       : tally::ObjectShape::kBbox;
  const tally::files::CocoFiles files(argv[1], argv[2], {shape});
  const std::int64_t images = files.image_ids().numel();
  const auto preds = files.preds(0, images);
  const auto target = files.target(0, images);
  const tally::MeanAveragePrecision metric(
      tally::MeanAveragePrecisionOptions().iou_type(shape));
  constexpr int kRounds = 5;
  double update = 0, compute = 0, value = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_milliseconds();
    const auto state = metric.observe(preds, target, files.image_ids());
    const double between = cpu_milliseconds();
    value = metric.evaluate(state)["map"].item<double>();
    const double end = cpu_milliseconds();
    const bool is_first = round == 0;
    update = is_first ? between - start : std::min(update, between - start);
    compute = is_first ? end - between : std::min(compute, end - between);
  }
  std::printf("%.3f %.3f %.17g\n", update, compute, value);
  return 0;
}
