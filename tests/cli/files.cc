#include "tally/tests/cli/files.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tally::cli {

std::string data_file(const std::string& name) {
  const char* sources = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (sources == nullptr || workspace == nullptr) {
    return "tests/cli/data/" + name;
  }
  return std::string(sources) + "/" + workspace + "/tests/cli/data/" + name;
}

Folder::Folder() {
  std::string path = std::filesystem::temp_directory_path() / "tally-XXXXXX";
  if (const char* folder = std::getenv("TEST_TMPDIR")) {
    path = std::string(folder) + "/tally-XXXXXX";
  }
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("cannot create " + path);
  }
  path_ = path;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::write(const std::string& name,
                          const std::string& text) const {
  const std::string file = path(name);
  std::filesystem::create_directories(
      std::filesystem::path(file).parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::size_t Folder::size() const {
  const std::filesystem::directory_iterator files(path_);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

namespace {

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift & 0xFF);
  }
  return bytes;
}

std::string chunk(const std::string& kind, const std::string& data) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : kind + data) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
    }
  }
  return big_endian(static_cast<std::uint32_t>(data.size())) + kind + data +
         big_endian(~sum);
}

/// As zlib stores what it does not compress.
std::string stored(const std::string& data) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char byte : data) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  const auto size = static_cast<std::uint16_t>(data.size());
  std::string all("\x78\x01\x01", 3);
  for (const int number : {int{size}, ~int{size}}) {
    all += static_cast<char>(number & 0xFF);
    all += static_cast<char>(number >> 8 & 0xFF);
  }
  return all + data + big_endian(high << 16 | low);
}

}  // namespace

std::string png(std::uint32_t width, std::uint32_t height,
                const std::string& pixels, char color, char filter) {
  std::string rows;
  for (std::uint32_t y = 0; y < height; ++y) {
    const std::size_t size = pixels.size() / height;
    rows += filter + pixels.substr(y * size, size);
  }
  return "\x89PNG\r\n\x1A\n" +
         chunk("IHDR", big_endian(width) + big_endian(height) +
                           std::string{8, color, 0, 0, 0}) +
         chunk("IDAT", stored(rows)) + chunk("IEND", "");
}

std::string png_of_ids(const std::vector<std::vector<std::uint32_t>>& rows) {
  std::string pixels;
  for (const auto& row : rows) {
    for (const std::uint32_t id : row) {
      for (int shift = 0; shift < 24; shift += 8) {
        pixels += static_cast<char>(id >> shift & 0xFF);
      }
    }
  }
  return png(static_cast<std::uint32_t>(rows.front().size()),
             static_cast<std::uint32_t>(rows.size()), pixels);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_segments(const Folder& folder) {
  folder.write("gt/10.png", png_of_ids({{1, 1, 2, 2}, {1, 1, 2, 0}}));
  folder.write("gt/11.png", png_of_ids({{70000, 70000, 300}}));
  folder.write("dt/10.png", png_of_ids({{7, 7, 8, 8}, {7, 8, 8, 8}}));
  folder.write("dt/11.png", png_of_ids({{9, 9, 0}}));
}

}  // namespace tally::cli
