#include "tally/sync/exchange/contribution.h"

#include <algorithm>
#include <utility>

#include "tally/sync/errors.h"

namespace tally::sync::internal {

bool Contributions::any(std::uint32_t flag) const {
  return std::any_of(flags.begin(), flags.end(), [&](std::uint32_t of_rank) {
    return (of_rank & flag) != 0;
  });
}

void payload_mismatch(const Communicator& communicator,
                      const std::string& label, std::int64_t sequence,
                      const std::string& text, std::vector<int> peers) {
  SyncErrorDetails details;
  details.metric = label;
  details.rank = communicator.rank();
  details.peers = std::move(peers);
  details.sequence = sequence;
  details.phase = "payload";
  throw SyncError(SyncErrorCode::kMismatch, text, std::move(details));
}

void require_gradients(const Communicator& communicator,
                       const std::string& label, const Contributions& all) {
  std::vector<int> with_graph, others;
  for (int r = 0; r < communicator.size(); ++r) {
    const std::uint32_t of_rank = all.flags[r];
    if ((of_rank & flags::kHasGraph) != 0) with_graph.push_back(r);
    if ((of_rank & flags::kRecordsNothing) != 0) others.push_back(r);
  }
  if (with_graph.empty() || others.empty()) return;
  const std::string text =
      c10::str("the backward pass of rank ", with_graph.front(),
               " would wait for ranks that record no gradients: ",
               c10::Join(", ", others));
  payload_mismatch(communicator, label, all.sequence, text, std::move(others));
}

}  // namespace tally::sync::internal
