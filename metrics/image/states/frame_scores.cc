#include "tally/metrics/image/states/frame_scores.h"

#include <c10/util/Exception.h>

#include <vector>

#include "tally/metrics/checks.h"

namespace tally::internal::image {
namespace {

std::vector<at::Tensor> frames_of(Tensors videos) {
  std::vector<at::Tensor> frames;
  for (const at::Tensor& video : videos) frames.push_back(video.flatten(0, 1));
  return frames;
}

}  // namespace

void FrameMeasure::check(Tensors videos) const {
  const char* const inputs[] = {"preds", "target"};
  for (std::size_t i = 0; i < 2; ++i) {
    check_real(inputs[i], videos[i]);
    TORCH_CHECK_VALUE(
        videos[i].dim() == 5 && videos[i].size(1) > 0, "expected ", inputs[i],
        " of shape [N, T, C, H, W], T at least 1, got ", videos[i].sizes());
  }
  check_same_shape("preds", videos[0], "target", videos[1]);
  of_frames_.check(frames_of(videos));
}

at::Tensor FrameMeasure::scores(Tensors videos) const {
  return of_frames_.scores(frames_of(videos))
      .reshape({videos[0].size(0), videos[0].size(1)})
      .mean(1);
}

}  // namespace tally::internal::image
