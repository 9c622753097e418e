#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "tally/sync/communicator.h"
#include "tally/sync/gradient_flow.h"

namespace tally::python {

using Group = std::optional<c10::intrusive_ptr<c10d::ProcessGroup>>;

/// The communicator over a process group of torch.distributed, with the group's
/// own timeout: one for each group for as long as that lives, as its ranks
/// count their exchanges. Null for none.
std::shared_ptr<sync::Communicator> communicator_of(const Group& group);

/// Makes the group that of what is given none; a single process without.
void set_default_group(const Group& group);
/// Lets go of all groups.
void forget_groups();

/// Of "local" and the like. Throws c10::ValueError for another text.
sync::GradientFlow gradient_flow_of(const std::string& text);
/// Of seconds.
sync::Timeout timeout_of(const std::optional<double>& seconds);

}  // namespace tally::python
