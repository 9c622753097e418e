"""States that collections of TorchMetrics do not share."""

import collections.abc

# The attribute that is the state. Of one name, so that a group in a collection that holds
# several classes is noticed, in wrappers too.
STATE = "tally_state"


class _UnequalNames(collections.abc.KeysView):
    """Names of states that are no other metric's."""

    def __eq__(self, other):
        return self is other


class OwnStates(dict):
    """The state of a metric that is in no group which a collection finds.

    TorchMetrics groups metrics whose states have the same names and values, and gives the
    states of one to the others after every update: here all bytes, of which there are
    ever more in a curve, where an update of each metric costs next to nothing.
    """

    def keys(self):
        return _UnequalNames(self)
