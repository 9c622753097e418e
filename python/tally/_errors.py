"""Errors that Python has no class for."""

import enum

import torch

from tally._library import functions
from tally._words import in_python, reworded

#: What LibTorch makes of a SyncError.
DistError = torch._C._DistError


class SyncErrorCode(enum.Enum):
    """Why a synchronization failed; docs/errors.md says what to do."""

    MISMATCH = "kMismatch"
    PEER_FAILED = "kPeerFailed"
    PEER_LOST = "kPeerLost"
    TIMEOUT = "kTimeout"
    GROUP_BROKEN = "kGroupBroken"
    TRANSPORT = "kTransport"
    INVALID_USE = "kInvalidUse"


class SyncError(DistError):
    """A synchronization between ranks that failed, a RuntimeError.

    One in ``backward()`` is a ``torch.distributed.DistError`` with the same text.
    """

    def __init__(
        self, text, code=None, message="", metric="", state="", rank=-1, peers=(),
        sequence=-1, phase="",
    ):
        super().__init__(text)
        #: A SyncErrorCode.
        self.code = SyncErrorCode(code) if isinstance(code, str) else code
        #: The text without code and details.
        self.message = message
        #: The metric or group of metrics, and the field of its state.
        self.metric, self.state = metric, state
        #: This process.
        self.rank = rank
        #: The ranks that differ, failed or were lost.
        self.peers = tuple(peers)
        #: The number of the exchange, and the part of it.
        self.sequence, self.phase = sequence, phase

    def __reduce__(self):
        return SyncError, (
            str(self), self.code, self.message, self.metric, self.state, self.rank,
            self.peers, self.sequence, self.phase,
        )


def sync_error(error):
    """The SyncError that became `error`; else that itself."""
    code, *details = functions.take_sync_error()
    if not code:
        return reworded(error)
    message, *others = details
    text = in_python(str(error).split("\n", 1)[0])
    return SyncError(text, code, in_python(message), *others)


# Of absl::StatusCode.
_STATUS_ERRORS = {
    3: ValueError,  # invalid argument
    5: FileNotFoundError,
    7: PermissionError,
    9: ValueError,  # failed precondition
    15: ValueError,  # data loss
}


def check_status(status):
    """Raises what a code and message of the library stand for."""
    code, message = status
    if code:
        raise _STATUS_ERRORS.get(code, OSError)(in_python(message))
