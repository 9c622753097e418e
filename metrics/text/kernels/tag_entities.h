#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/options/tag_rules.h"
#include "tally/metrics/text_list.h"

namespace tally::internal::text {

/// The entities of a sentence by its tags, as seqeval 1.2.2 reads them.
class TagEntities {
 public:
  struct Entity {
    std::size_t begin, end;
    std::uint32_t type;

    friend bool operator==(const Entity& a, const Entity& b) {
      return a.begin == b.begin && a.end == b.end && a.type == b.type;
    }
  };
  explicit TagEntities(const TagRules& rules) : rules_(rules) {}

  /// Replaces `entities` by those of a sentence, in the order of their ends;
  /// types are numbered by `types`. Throws c10::ValueError, naming the input,
  /// the sample and the tag, for an empty tag, for one that is not UTF-8, and
  /// in strict mode for a prefix that the scheme does not have.
  void read(const TextList& tags, const char* input, std::size_t sample,
            TokenIds& types, std::vector<Entity>& entities);

 private:
  struct Tag {
    char prefix;  // 0: beyond ASCII
    std::uint32_t type;
  };
  void read_leniently(std::vector<Entity>& entities) const;
  void read_strictly(std::vector<Entity>& entities) const;

  TagRules rules_;
  std::vector<Tag> tags_;  // and an O at the end
};

}  // namespace tally::internal::text
