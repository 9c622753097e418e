#include <ostream>
#include <string>

#include "tally/metrics/collection.h"
#include "tally/metrics/core/option_text.h"
#include "tally/state/joined.h"

namespace tally {

std::string MetricCollection::repr() const {
  std::string text = "MetricCollection(\n";
  for (const Member& member : members_) {
    text += "  " + prefix_ + member.name + postfix_ + ": " +
            member.metric->repr() + "\n";
  }
  return text + ")";
}

std::string MetricCollection::members_spec() const {
  if (members_.empty()) return "";
  if (members_.size() == 1 && members_[0].name.empty()) {
    return "metric=" + members_[0].metric->spec();
  }
  return "metrics={" +
         internal::joined(", ", members_,
                          [](const Member& member) {
                            return internal::item_name(member.name) + ": " +
                                   member.metric->spec();
                          }) +
         "}";
}

std::string MetricCollection::spec() const {
  std::string text = std::string(kName) + "(" + members_spec();
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    text += (text.back() == '(' ? "" : ", ") + std::string(name) + "=" +
            internal::quote_text(value);
  };
  add("prefix", prefix_);
  add("postfix", postfix_);
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const MetricCollection& metrics) {
  return out << metrics.repr();
}

}  // namespace tally
