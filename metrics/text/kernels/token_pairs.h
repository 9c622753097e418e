#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/kernels/words.h"
#include "tally/metrics/text_list.h"

/// Pairs of texts as numbers of tokens. Readers keep memory between pairs: one
/// for each thread.
namespace tally::internal::text {

struct TokenPair {
  std::vector<std::uint32_t> preds;
  std::vector<std::uint32_t> target;
  /// All numbers are below this.
  std::size_t distinct = 0;
};

/// Words. Throws as split_words does.
class WordPairs {
 public:
  WordPairs(const TextList& preds, const TextList& target, WordSplit split)
      : preds_(preds), target_(target), split_(split) {}
  void read(std::size_t sample, TokenPair& pair);

 private:
  void read(const char* input, const TextList& texts, std::size_t sample,
            std::vector<std::uint32_t>& ids);

  TextList preds_;
  TextList target_;
  WordSplit split_;
  TokenIds ids_;
  std::vector<std::string_view> words_;
};

/// Whether white space at both ends of a text counts.
enum class TextEnds { kKept, kStripped };

/// Code points. Throws as decode_utf8 does.
class CharPairs {
 public:
  CharPairs(const TextList& preds, const TextList& target, TextEnds ends)
      : preds_(preds), target_(target), ends_(ends) {}
  void read(std::size_t sample, TokenPair& pair);

 private:
  void read(std::u32string& text, const TextPlace& place, std::string_view from,
            std::vector<std::uint32_t>& ids);

  TextList preds_;
  TextList target_;
  TextEnds ends_;
  TokenIds ids_;
  std::u32string preds_text_;
  std::u32string target_text_;
};

/// Rows of integers [N, L] and [N, M], without those that are ignored.
class IdPairs {
 public:
  /// c10::TypeError unless both are of integers, c10::ValueError for other
  /// shapes.
  IdPairs(const at::Tensor& preds, const at::Tensor& target,
          std::optional<std::int64_t> ignore_index);
  std::size_t size() const { return static_cast<std::size_t>(preds_.size(0)); }
  void read(std::size_t sample, TokenPair& pair);

 private:
  struct Place {
    std::uint32_t sample = 0;  // and 1, modulo 2^32; 0: of none
    std::uint32_t number = 0;
  };

  void read(const at::Tensor& rows, std::size_t sample,
            std::vector<std::uint32_t>& ids);
  std::uint32_t number_of(const std::int64_t& token);

  at::Tensor preds_;  // int64, contiguous, on the CPU
  at::Tensor target_;
  std::optional<std::int64_t> ignore_index_;
  // Small tokens have places of their own, others are looked up.
  std::vector<Place> places_;
  TokenIds others_;
  std::vector<std::uint32_t> numbers_of_others_;
  std::uint32_t sample_ = 0;
  std::uint32_t distinct_ = 0;
};

}  // namespace tally::internal::text
