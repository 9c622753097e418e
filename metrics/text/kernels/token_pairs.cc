#include "tally/metrics/text/kernels/token_pairs.h"

#include <c10/util/Exception.h>

#include "tally/metrics/checks.h"

namespace tally::internal::text {
namespace {

// Code points below are numbers of their own.
constexpr std::uint32_t kOwnNumbers = 256;

at::Tensor plain_ids(const char* input, const at::Tensor& ids) {
  check_integral(input, ids);
  TORCH_CHECK_VALUE(ids.dim() == 2, "expected ", input,
                    " of shape [N, L], got ", ids.sizes());
  return ids.to(at::kCPU, at::kLong).contiguous();
}

}  // namespace

void WordPairs::read(std::size_t sample, TokenPair& pair) {
  ids_.clear();
  read("preds", preds_, sample, pair.preds);
  read("target", target_, sample, pair.target);
  pair.distinct = ids_.size();
}

void WordPairs::read(const char* input, const TextList& texts,
                     std::size_t sample, std::vector<std::uint32_t>& ids) {
  split_words(texts[sample], split_, {input, sample}, words_);
  ids.clear();
  for (const std::string_view word : words_) ids.push_back(ids_.id(word));
}

void CharPairs::read(std::size_t sample, TokenPair& pair) {
  ids_.clear();
  read(preds_text_, {"preds", sample}, preds_[sample], pair.preds);
  read(target_text_, {"target", sample}, target_[sample], pair.target);
  pair.distinct = kOwnNumbers + ids_.size();
}

void CharPairs::read(std::u32string& text, const TextPlace& place,
                     std::string_view from, std::vector<std::uint32_t>& ids) {
  text.clear();
  decode_utf8(from, place, text);
  const std::u32string_view chars =
      ends_ == TextEnds::kStripped ? strip(text) : std::u32string_view(text);
  ids.clear();
  ids.reserve(chars.size());
  for (const char32_t& c : chars) {
    ids.push_back(c < kOwnNumbers ? c : kOwnNumbers + ids_.id({&c, 1}));
  }
}

IdPairs::IdPairs(const at::Tensor& preds, const at::Tensor& target,
                 std::optional<std::int64_t> ignore_index)
    : preds_(plain_ids("preds", preds)),
      target_(plain_ids("target", target)),
      ignore_index_(ignore_index) {
  TORCH_CHECK_VALUE(preds.size(0) == target.size(0),
                    "expected preds [N, L] and target [N, M], got ",
                    preds.sizes(), " and ", target.sizes());
}

void IdPairs::read(std::size_t sample, TokenPair& pair) {
  ids_.clear();
  read(preds_, sample, pair.preds);
  read(target_, sample, pair.target);
  pair.distinct = ids_.size();
}

void IdPairs::read(const at::Tensor& rows, std::size_t sample,
                   std::vector<std::uint32_t>& ids) {
  ids.clear();
  const std::int64_t length = rows.size(1);
  const std::int64_t* const row = rows.const_data_ptr<std::int64_t>() +
                                  static_cast<std::int64_t>(sample) * length;
  for (std::int64_t i = 0; i < length; ++i) {
    if (ignore_index_ && row[i] == *ignore_index_) continue;
    ids.push_back(ids_.id(std::string_view(
        reinterpret_cast<const char*>(row + i), sizeof(std::int64_t))));
  }
}

}  // namespace tally::internal::text
