#pragma once

namespace tally::sync {

/// The backward convention of a gathered value. The correct choice depends on
/// how the parameters' gradients are combined afterwards; with the wrong one,
/// training runs with gradients that are off by the world size.
/// docs/gradients.md derives each line.
///
///   flow        | backward of rank r's own slot | exact when
///   ------------|-------------------------------|---------------------------
///   kDetached   | none                          | no gradient is wanted
///   kLocal      | its gradient on rank r        | gradients are summed over
///               |                               | ranks, and every rank
///               |                               | computes the same value
///   kReplicated | the same, times world size    | gradients are averaged, and
///               |                               | every rank computes the
///               |                               | same value; no
///               |                               | communication in backward
///   kAllRanks   | the sum of its gradients on   | gradients are averaged,
///               | all ranks (the adjoint of the | whatever each rank computes
///               | gather)                       | from the gathered values
/// Second-order gradients also need the other ranks' graphs: kAllRanks provides
/// them. kReplicated rejects them on several ranks (c10::Error); with kLocal a
/// gathered slot is the tensor itself, and they lack the contributions of other
/// ranks.
enum class GradientFlow { kDetached, kLocal, kReplicated, kAllRanks };

/// The enumerator's name, for example "kLocal".
const char* to_string(GradientFlow flow) noexcept;

}  // namespace tally::sync
