#include "tally/files/png.h"

#include <c10/util/Exception.h>

#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {

void read_png(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    const files::PngFile image(file.path());
    const auto pixels = image.read();
    require(static_cast<std::int64_t>(pixels.size()) ==
                3 * image.height() * image.width(),
            "an image has the pixels that its header says");
    require(pixels.size() <= 1200 * bytes.size(),
            "an image has no more pixels than its file may hold");
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
