"""Copies of what holds an object of the library."""

from tally._errors import check_status


class Copyable:
    """Copies and pickles by the held object's ``serialize()``.

    ``_parts()`` are the arguments of ``_rebuild()``, which makes the held object anew.
    """

    def clone(self):
        """One of its own with the same options and rows."""
        return _restore(type(self), self._parts(), self._held.serialize())

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        copy = self.clone()
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        return _restore, (type(self), self._parts(), self._held.serialize())


def _restore(cls, parts, state):
    restored = cls.__new__(cls)
    restored._rebuild(*parts)
    check_status(restored._held.deserialize(state))
    return restored
