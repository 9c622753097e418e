#define XXH_INLINE_ALL
#include <c10/util/Exception.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/hash.h"
#include "tally/metrics/text/kernels/ngram_counts.h"
#include "tally/metrics/text/kernels/text_notes.h"
#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/kernels/token_pairs.h"
#include "tally/metrics/text/kernels/unicode.h"
#include "tally/metrics/text/kernels/words.h"

namespace tally::internal::text {
namespace {

// Code points below are numbers of their own.
constexpr std::uint32_t kOwnNumbers = 256;

// Letters of scripts that put no spaces between words.
bool is_unspaced(char32_t c) {
  static constexpr struct {
    char32_t first, last;
  } kRanges[] = {
      {0x0E01, 0x0EDF},    // Thai, Lao
      {0x1000, 0x109F},    // Burmese
      {0x1780, 0x17B3},    // Khmer
      {0x3041, 0x30FF},    // Hiragana, Katakana
      {0x3400, 0x4DBF},    // ideographs
      {0x4E00, 0x9FFF},    // ideographs
      {0xF900, 0xFAFF},    // ideographs
      {0x20000, 0x3FFFF},  // ideographs
  };
  return c >= kRanges[0].first &&
         std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) {
                       return c >= range.first && c <= range.last;
                     });
}

}  // namespace

bool has_letters(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CharClass found = char_class(next_code_point(text, at));
    if (found == CharClass::kLetter || found == CharClass::kNumber) return true;
  }
  return false;
}

bool is_unsplit(std::string_view text, std::size_t tokens) {
  if (tokens != 1) return false;
  std::size_t letters = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_unspaced(next_code_point(text, at)) && ++letters == 2) return true;
  }
  return false;
}

namespace {

// Past the white space at `at`; counts its characters.
std::size_t skip_spaces(std::string_view text, std::size_t at,
                        std::size_t& count) {
  for (count = 0; at < text.size(); ++count) {
    std::size_t next = at;
    if (!is_space(next_code_point(text, next))) break;
    at = next;
  }
  return at;
}

// The first byte at which white space may stand: one that is below '!' or not
// ASCII.
std::size_t skip_graphic(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] > ' ') ++at;
  return at;
}

}  // namespace

void split_words(std::string_view text, WordSplit split, const TextPlace& place,
                 std::vector<std::string_view>& words) {
  check_utf8(text, place);
  words.clear();
  std::size_t spaces;
  std::size_t begin = skip_spaces(text, 0, spaces);
  std::size_t at = begin;
  while (begin < text.size()) {
    at = skip_graphic(text, at);
    const std::size_t end = at;
    if (end + 1 < text.size() && text[end] == ' ' && text[end + 1] > ' ') {
      words.push_back(text.substr(begin, end - begin));
      begin = at = end + 1;
      continue;
    }
    at = skip_spaces(text, at, spaces);
    if (spaces == 0 && at < text.size()) {
      next_code_point(text, at);
      continue;
    }
    const bool is_part = split == WordSplit::kSpace && spaces == 1 &&
                         at < text.size() && text[end] != ' ';
    if (is_part) continue;
    words.push_back(text.substr(begin, end - begin));
    begin = at;
  }
}

std::uint32_t TokenIds::id(std::string_view token) {
  if (2 * (tokens_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = XXH3_64bits(token.data(), token.size());
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].generation == generation_; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && tokens_[slots_[at].id] == token) {
      return slots_[at].id;
    }
  }
  const auto id = static_cast<std::uint32_t>(tokens_.size());
  tokens_.push_back(token);
  slots_[at] = {generation_, id, hash};
  return id;
}

void TokenIds::clear() {
  tokens_.clear();
  if (++generation_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot());
    generation_ = 1;
  }
}

void TokenIds::grow() {
  std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.generation != generation_) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].generation == generation_) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

namespace {

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
  if (++sample_ == 0) {
    places_.clear();
    sample_ = 1;
  }
  distinct_ = 0;
  others_.clear();
  numbers_of_others_.clear();
  read(preds_, sample, pair.preds);
  read(target_, sample, pair.target);
  pair.distinct = distinct_;
}

void IdPairs::read(const at::Tensor& rows, std::size_t sample,
                   std::vector<std::uint32_t>& ids) {
  ids.clear();
  const std::int64_t length = rows.size(1);
  const std::int64_t* const row = rows.const_data_ptr<std::int64_t>() +
                                  static_cast<std::int64_t>(sample) * length;
  for (std::int64_t i = 0; i < length; ++i) {
    if (ignore_index_ && row[i] == *ignore_index_) continue;
    ids.push_back(number_of(row[i]));
  }
}

std::uint32_t IdPairs::number_of(const std::int64_t& token) {
  constexpr std::uint64_t kSmall = 1 << 16;
  const auto place = static_cast<std::uint64_t>(token);
  if (place < kSmall) {
    if (place >= places_.size()) {
      places_.resize(static_cast<std::size_t>(place) + 1);
    }
    Place& own = places_[static_cast<std::size_t>(place)];
    if (own.sample != sample_) own = {sample_, distinct_++};
    return own.number;
  }
  const std::uint32_t other = others_.id(std::string_view(
      reinterpret_cast<const char*>(&token), sizeof(std::int64_t)));
  if (other == numbers_of_others_.size()) {
    numbers_of_others_.push_back(distinct_++);
  }
  return numbers_of_others_[other];
}

void NgramCounts::clear() {
  nodes_.resize(1);
  references_ = 0;
  if (++epoch_ == 0) {
    for (Slot& slot : slots_) slot.epoch = 0;
    epoch_ = 1;
  }
}

std::size_t NgramCounts::place(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t hash = key * kGoldenRatio;
  hash ^= hash >> 32;
  std::size_t i = hash & mask;
  while (slots_[i].epoch == epoch_ && slots_[i].key != key) i = (i + 1) & mask;
  return i;
}

void NgramCounts::reserve(std::size_t nodes) {
  if (2 * nodes <= slots_.size()) return;
  std::size_t size = slots_.size();
  while (size < 2 * nodes) size *= 2;
  std::vector<Slot> old(size);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.epoch == epoch_) slots_[place(slot.key)] = slot;
  }
}

void NgramCounts::add_reference(Symbols symbols, std::int64_t orders) {
  ++references_;
  prefixes_.assign(symbols.size(), 0);
  for (std::int64_t n = 1; n <= orders; ++n) {
    const auto end = static_cast<std::size_t>(count(symbols.size(), n));
    if (end == 0) break;
    reserve(nodes_.size() + end);
    const std::uint32_t* const last = symbols.data() + n - 1;
    for (std::size_t i = 0; i < end; ++i) {
      const std::uint64_t key = key_of(prefixes_[i], last[i]);
      Slot& slot = slots_[place(key)];
      if (slot.epoch != epoch_) {
        slot = {key, epoch_, static_cast<std::uint32_t>(nodes_.size())};
        nodes_.emplace_back();
      }
      prefixes_[i] = slot.node;
      Node& node = nodes_[slot.node];
      if (node.reference != references_) {
        node.reference = references_;
        node.current = 0;
      }
      node.most = std::max(node.most, ++node.current);
    }
  }
}

void NgramCounts::match(Symbols symbols, std::int64_t orders,
                        std::int64_t* matches) {
  prefixes_.assign(symbols.size(), 0);
  for (std::int64_t n = 1; n <= orders; ++n) {
    const auto end = static_cast<std::size_t>(count(symbols.size(), n));
    if (end == 0) break;
    const std::uint32_t* const last = symbols.data() + n - 1;
    std::int64_t found = 0;
    for (std::size_t i = 0; i < end; ++i) {
      if (prefixes_[i] == kNone) continue;
      const Slot& slot = slots_[place(key_of(prefixes_[i], last[i]))];
      if (slot.epoch != epoch_) {
        prefixes_[i] = kNone;
        continue;
      }
      prefixes_[i] = slot.node;
      std::uint32_t& left = nodes_[slot.node].most;
      if (left > 0) {
        --left;
        ++found;
      }
    }
    matches[n - 1] += found;
  }
}

}  // namespace tally::internal::text
