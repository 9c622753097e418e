#include "tally/files/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PngTest, ReadsColors) {
  const Folder folder;
  const files::PngFile rgb(folder.write("a.png", png(2, 1, "abcdef")));
  EXPECT_EQ(rgb.width(), 2);
  EXPECT_EQ(rgb.height(), 1);
  EXPECT_THAT(rgb.read(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  const files::PngFile rgba(folder.write("b.png", png(1, 2, "abcxdefy", 6)));
  EXPECT_EQ(rgba.height(), 2);
  EXPECT_THAT(rgba.read(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

// Compressed, in several chunks, with all filters: see data/generate.py.
TEST(PngTest, ReadsAllFilters) {
  for (const char* name : {"rgb.png", "rgba.png"}) {
    SCOPED_TRACE(name);
    const files::PngFile file(data_file(name));
    ASSERT_EQ(file.height(), 10);
    ASSERT_EQ(file.width(), 7);
    const auto pixels = file.read();
    ASSERT_EQ(pixels.size(), 210u);
    for (int i = 0; i < 210; ++i) {
      const int y = i / 21, x = i / 3 % 7, c = i % 3;
      EXPECT_EQ(pixels[i], (37 * y + 11 * x * x + 5 * c * y * x) % 256) << i;
    }
  }
}

TEST(PngTest, OtherFilesAreRefusedByNameAndKind) {
  const Folder folder;
  const std::string good = png(2, 1, "abcdef");
  const auto refused = [&](const std::string& bytes) {
    const std::string path = folder.write("x.png", bytes);
    const std::string message =
        refusal_of([&] { files::PngFile(path).read(); });
    EXPECT_EQ(message.rfind(path + ": expected ", 0), 0u) << message;
    return message.substr(path.size() + 11);
  };
  const auto changed = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return refused(bytes);
  };
  EXPECT_EQ(refused(""), "a PNG file");
  EXPECT_EQ(refused("GIF89a"), "a PNG file");
  EXPECT_EQ(changed(1, 'p'), "a PNG file");
  const std::string kind =
      "a PNG file of 8-bit RGB or RGBA, not interlaced, got ";
  EXPECT_EQ(changed(24, 16), kind + "16-bit RGB");
  EXPECT_EQ(changed(25, 0), kind + "8-bit gray");
  EXPECT_EQ(changed(25, 3), kind + "8-bit indexed");
  EXPECT_EQ(changed(25, 4), kind + "8-bit gray with alpha");
  EXPECT_EQ(changed(25, 7), kind + "8-bit unknown");
  EXPECT_EQ(changed(28, 1), kind + "8-bit RGB, interlaced");
  EXPECT_EQ(changed(19, 0),
            "1 to 1048576 pixels in width and height, got 0 x 1");
  EXPECT_EQ(changed(16, 1),
            "1 to 1048576 pixels in width and height, got 16777218 x 1");
  EXPECT_THAT(changed(19, 3),
              HasSubstr("10 bytes that zlib packed, got data that is damaged"));
  const std::string damaged =
      "a whole PNG file, got one that is damaged or cut off";
  EXPECT_EQ(changed(17, 15), damaged);  // more pixels than there can be
  for (const std::size_t size : {33u, 40u, 60u}) {
    EXPECT_EQ(refused(good.substr(0, size)), damaged);
  }
  // Without end; the filter of the row, whose sum is then another.
  EXPECT_EQ(refused(good.substr(0, good.size() - 12)), damaged);
  EXPECT_THAT(changed(48, 9), HasSubstr("zlib"));
  EXPECT_EQ(refused(png(1, 1, "abc", /*color=*/2, /*filter=*/5)), damaged);
}

}  // namespace
}  // namespace tally::cli
