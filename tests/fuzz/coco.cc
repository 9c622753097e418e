#include <c10/util/Exception.h>

#include <algorithm>
#include <string>

#include "tally/files/coco_files.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {

/// A line that is the annotations, and behind it the results.
void read_coco(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const MemoryFile annotations(bytes.substr(0, line));
  const MemoryFile results(bytes.substr(std::min(line + 1, bytes.size())));
  try {
    const files::CocoFiles files(
        annotations.path(), results.path(),
        {ObjectShape::kBbox, ObjectShape::kSegm, ObjectShape::kKeypoints});
    const std::int64_t images = files.image_ids().numel();
    std::int64_t objects = 0;
    for (std::int64_t i = 0; i < images; ++i) {
      objects += files.preds(i, i + 1).counts.sum().item<std::int64_t>() +
                 files.target(i, i + 1).counts.sum().item<std::int64_t>();
    }
    require(objects == files.objects(), "every object is in one image");
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
