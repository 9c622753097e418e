#include "tally/python/csrc/distinct_texts.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tally/metrics/text/kernels/token_ids.h"

namespace tally::python {
namespace {

template <class TextOf>
DistinctTexts distinct(std::int64_t rows, const TextOf& text_of) {
  at::Tensor codes = at::empty({rows}, at::kLong);
  auto* const code = codes.mutable_data_ptr<std::int64_t>();
  internal::text::TokenIds texts;
  std::vector<std::int64_t> firsts;
  for (std::int64_t row = 0; row < rows; ++row) {
    code[row] = texts.id(text_of(row));
    if (texts.size() > firsts.size()) firsts.push_back(row);
  }
  return {codes, at::tensor(firsts, at::kLong)};
}

at::Tensor checked_bytes(const at::Tensor& bytes, std::int64_t dim) {
  TORCH_CHECK_VALUE(
      bytes.scalar_type() == at::kByte && bytes.dim() == dim && bytes.is_cpu(),
      "expected bytes of ", dim, " dimensions, got ", bytes.toString(),
      bytes.sizes());
  return bytes.contiguous();
}

}  // namespace

DistinctTexts distinct_rows(const at::Tensor& bytes) {
  const at::Tensor all = checked_bytes(bytes, 2);
  const auto* const data =
      reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>());
  const std::int64_t width = all.size(1);
  return distinct(all.size(0), [&](std::int64_t row) {
    return std::string_view(data + row * width,
                            static_cast<std::size_t>(width));
  });
}

DistinctTexts distinct_texts(const at::Tensor& bytes, const at::Tensor& ends) {
  const at::Tensor all = checked_bytes(bytes, 1);
  const at::Tensor places = ends.to(at::kLong).contiguous();
  TORCH_CHECK_VALUE(places.dim() == 1 && places.numel() > 0,
                    "expected an end more than texts, got ", places.sizes());
  const auto* const end = places.const_data_ptr<std::int64_t>();
  const auto* const data =
      reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>());
  return distinct(places.numel() - 1, [&](std::int64_t row) {
    TORCH_CHECK_VALUE(end[row] >= 0 && end[row] <= end[row + 1] &&
                          end[row + 1] <= all.numel(),
                      "expected ends that rise to ", all.numel(), ", got ",
                      end[row], " and ", end[row + 1]);
    return std::string_view(data + end[row],
                            static_cast<std::size_t>(end[row + 1] - end[row]));
  });
}

DistinctTexts distinct_views(const at::Tensor& views,
                             const std::vector<at::Tensor>& buffers) {
  // The length, and up to 12 bytes; or 4 of them, the buffer and the place.
  constexpr std::int64_t kWidth = 16;
  constexpr std::int32_t kInline = 12;
  const at::Tensor all = checked_bytes(views, 2);
  TORCH_CHECK_VALUE(all.size(1) == kWidth, "expected views of ", kWidth,
                    " bytes, got ", all.size(1));
  std::vector<std::string_view> bytes;
  for (const at::Tensor& buffer : buffers) {
    const at::Tensor own = checked_bytes(buffer, 1);
    TORCH_CHECK_VALUE(own.is_same(buffer), "expected contiguous buffers");
    bytes.emplace_back(
        reinterpret_cast<const char*>(own.const_data_ptr<std::uint8_t>()),
        static_cast<std::size_t>(own.numel()));
  }
  const auto* const data = all.const_data_ptr<std::uint8_t>();
  return distinct(all.size(0), [&](std::int64_t row) {
    const std::uint8_t* const view = data + row * kWidth;
    std::int32_t fields[4];
    std::memcpy(fields, view, sizeof(fields));
    const auto [length, prefix, buffer, place] = fields;
    (void)prefix;
    if (length >= 0 && length <= kInline) {
      return std::string_view(reinterpret_cast<const char*>(view + 4),
                              static_cast<std::size_t>(length));
    }
    TORCH_CHECK_VALUE(length >= 0 && buffer >= 0 && place >= 0 &&
                          static_cast<std::size_t>(buffer) < bytes.size() &&
                          static_cast<std::size_t>(place) +
                                  static_cast<std::size_t>(length) <=
                              bytes[static_cast<std::size_t>(buffer)].size(),
                      "expected views into ", bytes.size(), " buffers, got ",
                      length, " bytes at ", place, " of buffer ", buffer);
    return bytes[static_cast<std::size_t>(buffer)].substr(
        static_cast<std::size_t>(place), static_cast<std::size_t>(length));
  });
}

}  // namespace tally::python
