#include "tally/metrics/detection/inputs/run_length_mask.h"

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "tally/metrics/detection/inputs/polygon_runs.h"

namespace tally {
namespace {

using Edges = std::vector<std::uint32_t>;

void add_run(Edges& edges, std::uint32_t begin, std::uint32_t end) {
  if (begin == end) return;
  if (!edges.empty() && edges.back() >= begin) {
    edges.back() = std::max(edges.back(), end);
    return;
  }
  edges.push_back(begin);
  edges.push_back(end);
}

// Pixels of either.
Edges united(const Edges& a, const Edges& b) {
  Edges all;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool is_first = j == b.size() || (i < a.size() && a[i] <= b[j]);
    const Edges& from = is_first ? a : b;
    std::size_t& at = is_first ? i : j;
    add_run(all, from[at], from[at + 1]);
    at += 2;
  }
  return all;
}

// Numbers of 5 bits a character, the lowest first.
class CountReader {
 public:
  explicit CountReader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::int64_t next() {
    std::int64_t value = 0;
    int shift = 0;
    for (bool more = true; more; shift += 5) {
      TORCH_CHECK_VALUE(at_ < text_.size() && shift < 60,
                        "expected compressed runs, got ",
                        at_ < text_.size() ? "a number that is too long"
                                           : "a text that ends early");
      const int bits = text_[at_] - '0';
      TORCH_CHECK_VALUE(bits >= 0 && bits < 64,
                        "expected compressed runs of characters '0' to 'o', "
                        "got another at ",
                        at_);
      ++at_;
      value |= static_cast<std::int64_t>(bits & 0x1f) << shift;
      more = (bits & 0x20) != 0;
      if (!more && (bits & 0x10) != 0) {
        value -= std::int64_t{1} << (shift + 5);
      }
    }
    return value;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

void add_count(std::string& text, std::int64_t value) {
  for (bool more = true; more;) {
    int bits = static_cast<int>(value & 0x1f);
    value >>= 5;
    more = (bits & 0x10) != 0 ? value != -1 : value != 0;
    if (more) bits |= 0x20;
    text += static_cast<char>('0' + bits);
  }
}

}  // namespace

RunLengthMask::RunLengthMask(std::int64_t height, std::int64_t width)
    : height_(height), width_(width) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  TORCH_CHECK_VALUE(height >= 1 && width >= 1 && height <= kMost / width,
                    "expected a mask of 1 to 2^32 - 1 pixels, got height ",
                    height, " and width ", width);
}

void RunLengthMask::set_edges(std::vector<std::uint32_t> edges) {
  edges_ = std::move(edges);
  area_ = 0;
  if (edges_.empty()) return;
  const auto height = static_cast<std::uint32_t>(height_);
  left_ = edges_.front() / height;
  right_ = (edges_.back() - 1) / height + 1;
  top_ = height;
  bottom_ = 0;
  for (std::size_t i = 0; i < edges_.size(); i += 2) {
    const std::uint32_t first = edges_[i], last = edges_[i + 1] - 1;
    area_ += last - first + 1;
    const bool is_one_column = first / height == last / height;
    top_ = std::min(top_, is_one_column ? first % height : 0);
    bottom_ = std::max(bottom_, is_one_column ? last % height + 1 : height);
  }
}

RunLengthMask RunLengthMask::from_counts(std::int64_t height,
                                         std::int64_t width,
                                         c10::ArrayRef<std::int64_t> counts) {
  RunLengthMask mask(height, width);
  const std::int64_t pixels = height * width;
  Edges edges;
  std::int64_t at = 0;
  bool belongs = false;
  for (const std::int64_t count : counts) {
    TORCH_CHECK_VALUE(count >= 0 && count <= pixels - at,
                      "expected runs that add up to the ", pixels,
                      " pixels of a mask, got a run of ", count, " after ", at);
    if (belongs) {
      add_run(edges, static_cast<std::uint32_t>(at),
              static_cast<std::uint32_t>(at + count));
    }
    at += count;
    belongs = !belongs;
  }
  TORCH_CHECK_VALUE(at == pixels, "expected runs that add up to the ", pixels,
                    " pixels of a mask, got ", at);
  mask.set_edges(std::move(edges));
  return mask;
}

RunLengthMask RunLengthMask::from_string(std::int64_t height,
                                         std::int64_t width,
                                         std::string_view text) {
  std::vector<std::int64_t> counts;
  for (CountReader reader(text); !reader.at_end();) {
    const std::int64_t number = reader.next();
    // From the fourth on, the difference from the one but last.
    const std::size_t i = counts.size();
    counts.push_back(i > 2 ? number + counts[i - 2] : number);
  }
  return from_counts(height, width, counts);
}

RunLengthMask RunLengthMask::from_polygons(std::int64_t height,
                                           std::int64_t width,
                                           c10::ArrayRef<Polygon> polygons) {
  RunLengthMask mask(height, width);
  Edges all;
  for (const Polygon& polygon : polygons) {
    all =
        united(all, internal::detection::polygon_runs(polygon, height, width));
  }
  mask.set_edges(std::move(all));
  return mask;
}

RunLengthMask RunLengthMask::from_tensor(const at::Tensor& pixels) {
  TORCH_CHECK_TYPE(
      at::isIntegralType(pixels.scalar_type(), /*includeBool=*/true),
      "expected a mask of bool or an integer dtype, got ",
      pixels.scalar_type());
  TORCH_CHECK_VALUE(pixels.dim() == 2, "expected a mask [height, width], got ",
                    pixels.sizes());
  RunLengthMask mask(pixels.size(0), pixels.size(1));
  const at::Tensor columns =
      pixels.detach().to(at::kCPU).ne(0).t().contiguous();
  const bool* pixel = columns.const_data_ptr<bool>();
  const bool* const end = pixel + columns.numel();
  Edges edges;
  for (const bool* at = pixel; at != end;) {
    const bool* first = std::find(at, end, true);
    at = std::find(first, end, false);
    add_run(edges, static_cast<std::uint32_t>(first - pixel),
            static_cast<std::uint32_t>(at - pixel));
  }
  mask.set_edges(std::move(edges));
  return mask;
}

std::vector<std::int64_t> RunLengthMask::counts() const {
  std::vector<std::int64_t> counts;
  std::int64_t at = 0;
  for (const std::uint32_t edge : edges_) {
    counts.push_back(edge - at);
    at = edge;
  }
  if (at < height_ * width_) counts.push_back(height_ * width_ - at);
  return counts;
}

std::string RunLengthMask::to_string() const {
  const std::vector<std::int64_t> runs = counts();
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    add_count(text, i > 2 ? runs[i] - runs[i - 2] : runs[i]);
  }
  return text;
}

at::Tensor RunLengthMask::to_tensor() const {
  at::Tensor columns = at::zeros({width_, height_}, at::kBool);
  bool* pixel = columns.mutable_data_ptr<bool>();
  for (std::size_t i = 0; i < edges_.size(); i += 2) {
    std::fill(pixel + edges_[i], pixel + edges_[i + 1], true);
  }
  return columns.t().contiguous();
}

std::int64_t RunLengthMask::intersection(const RunLengthMask& other) const {
  TORCH_CHECK_VALUE(height_ == other.height_ && width_ == other.width_,
                    "expected masks of one size, got ", height_, " x ", width_,
                    " and ", other.height_, " x ", other.width_);
  if (left_ >= other.right_ || other.left_ >= right_ || top_ >= other.bottom_ ||
      other.top_ >= bottom_) {
    return 0;
  }
  const Edges& a = edges_;
  const Edges& b = other.edges_;
  // What ends before the other one begins cannot meet it.
  const auto first_after = [](const Edges& edges, std::uint32_t begin) {
    const auto found = std::upper_bound(edges.begin(), edges.end(), begin);
    return static_cast<std::size_t>(found - edges.begin()) / 2 * 2;
  };
  std::size_t i = first_after(a, b.front());
  std::size_t j = first_after(b, a.front());
  std::int64_t both = 0;
  while (i < a.size() && j < b.size()) {
    const std::uint32_t begin = std::max(a[i], b[j]);
    const std::uint32_t end = std::min(a[i + 1], b[j + 1]);
    if (begin < end) both += end - begin;
    const bool a_ends = a[i + 1] <= b[j + 1];
    i += a_ends ? 2 : 0;
    j += a_ends ? 0 : 2;
  }
  return both;
}

}  // namespace tally
