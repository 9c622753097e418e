#pragma once

#include <string>
#include <vector>

#include "tally/metrics/results.h"
#include "tally/sinks/pictures.h"
#include "tally/sinks/protobuf.h"

namespace tally::internal {

/// The values of a step, in TensorBoard's summary format: see TensorBoardSink.
class EventSummary {
 public:
  /// `labels`: class names, for vectors of that size. Throws c10::TypeError for
  /// complex results.
  EventSummary(const Results& results, const std::vector<std::string>& labels);

  const Message& message() const { return message_; }
  /// Results whose parts `low` and `high` are bounds, by their tags.
  const std::vector<std::string>& bounded() const { return bounded_; }

 private:
  void add(const Results& results, const std::string& name);
  void add_scalar(const std::string& tag, double number);
  void add_curves(const std::string& stem, const Results& results);
  // Of the elements of a vector, or of several curves.
  std::vector<std::string> element_tags(const Results& results,
                                        const std::string& name,
                                        const std::string& stem) const;

  const std::vector<std::string>& labels_;
  Message message_;
  std::vector<std::string> bounded_;
};

/// Summaries of one value each, with this tag.
Message image_summary(const std::string& tag, const Picture& picture);
Message text_summary(const std::string& tag, const std::string& text);
/// Of the finite numbers; empty if there are none.
Message histogram_summary(const std::string& tag, const at::Tensor& values);

/// A summary with a chart for each of these tags, with the band between the
/// tags of its bounds.
Message margin_charts(const std::vector<std::string>& tags);

/// The tag of a bound: "f1/0" and "low" are "f1.low/0".
std::string bound_tag(const std::string& tag, const std::string& bound);

}  // namespace tally::internal
