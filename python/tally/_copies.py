"""Copies of what holds an object of the library."""

import torch

from tally._errors import check_status
from tally._stateful import Stateful


class Copyable(Stateful):
    """Is copied by the held object's ``clone()``, and pickled by its ``to_bytes()``.

    ``_parts()`` are the arguments of ``_rebuild()``, which makes the held object anew.
    """

    #: Where to() has moved the state.
    _device = None

    def clone(self):
        """A copy with the same options and rows."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._held = self._held.clone()
        return copy

    def to(self, device):
        """Moves the state; later inputs have to be on the same device."""
        self._device = torch.device(device)
        self._held.to(self._device)
        return self

    def __repr__(self):
        return self._held.repr()

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        copy = self.clone()
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        return _restore, (type(self), self._parts(), self._held.to_bytes(), self._device)


def _restore(cls, parts, state, device):
    restored = cls.__new__(cls)
    restored._rebuild(*parts)
    check_status(restored._held.deserialize(state))
    return restored.to(device) if device is not None else restored
