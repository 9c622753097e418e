"""What everything that accumulates has in common: ranks, states, files."""

import ctypes

import torch

from tally._columns import memory
from tally._errors import check_status
from tally._ranks import over_ranks


class Stateful:
    """Syncs, merges and saves the state of the object of the library in ``_held``."""

    @property
    def _object(self):
        """It, as the library takes it."""
        return self._held

    def reset(self):
        """Returns to the state before the first update."""
        self._held.reset()

    # ---- ranks

    def sync(self):
        """Replaces the local state by that of all ranks, until ``unsync()``."""
        over_ranks(self._held.sync)

    def unsync(self):
        """Restores the local state."""
        self._held.unsync()

    @property
    def is_synced(self):
        """Whether the state is that of all ranks, between ``sync()`` and ``unsync()``."""
        return self._held.is_synced()

    def sync_context(self):
        """``with metric.sync_context():`` syncs for as long as the block runs."""
        return _SyncContext(self)

    def merge_state(self, other):
        """Adds the state of `other`, an object of the same class and options."""
        for each in other if isinstance(other, (list, tuple)) else [other]:
            if type(each) is not type(self):
                raise TypeError(
                    f"merge_state expected a {type(self).__name__}, "
                    f"got a {type(each).__name__}"
                )
            self._held.merge_state(each._object)

    # ---- states

    @property
    def update_count(self):
        """The number of updates: of this rank or, while synced, of all ranks."""
        return self._held.update_count()

    @property
    def metric_state(self):
        """A copy of the state: a dict of tensors."""
        return self._held.state()

    def save(self, path, ranks="own", part=None):
        """Writes the state to a file, which ``tally show`` reads and ``tally merge`` adds up.

        ``ranks``: "own", this rank's; "one_file" or "file_per_rank", those of all
        ranks, which all call it (docs/checkpoints.md). ``part``: (i, n), where the file is
        part i, from 0, of n; ``tally merge`` says which are missing.
        """
        index, count = (0, 0) if part is None else part
        self._transfer(self._held.save, path, ranks, int(index), int(count))

    def load(self, path, ranks="own"):
        """Reads the state from a file. If it raises, nothing has changed."""
        self._transfer(self._held.load, path, ranks)

    def _transfer(self, call, path, *arguments):
        check_status(over_ranks(call, str(path), *arguments))

    def to_bytes(self):
        """The state, class and options as bytes, for ``tally.from_bytes``."""
        return _bytes_of(self._held.to_bytes())

    def serialize(self):
        """The state as bytes, with version and checksum, for an object with the same options."""
        return _bytes_of(self._held.serialize())

    def deserialize(self, state):
        """Reads the result of ``serialize`` or ``to_bytes``. If it raises, nothing has changed."""
        self._set_state(state_tensor(state))

    def _set_state(self, tensor):
        check_status(self._held.deserialize(tensor))


def _bytes_of(tensor):
    return ctypes.string_at(tensor.data_ptr(), tensor.numel())


def state_tensor(state):
    """Bytes of a state as a tensor of them, of which nothing is copied where possible."""
    if isinstance(state, torch.Tensor):
        return state.cpu().contiguous()
    try:
        view = memoryview(state)
    except TypeError:
        raise TypeError(f"expected the bytes of a state, got a {type(state).__name__}") from None
    if len(view) == 0:
        return torch.empty(0, dtype=torch.uint8)
    if not isinstance(state, bytes):
        return torch.frombuffer(bytearray(view) if view.readonly else view, dtype=torch.uint8)
    # PyTorch warns of memory that is read-only, to which nothing writes here.
    address = ctypes.cast(ctypes.c_char_p(state), ctypes.c_void_p).value
    return memory(address, len(state), state)


class _SyncContext:
    def __init__(self, metric):
        self._metric = metric

    def __enter__(self):
        self._metric.sync()
        return self._metric

    def __exit__(self, *error):
        if self._metric.is_synced:
            self._metric.unsync()
