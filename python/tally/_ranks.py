"""Process groups of torch.distributed, and what is done over them."""

import atexit
import weakref

import torch
import torch.distributed

from tally._errors import DistError, sync_error
from tally._kinds import checked, list_of
from tally._library import functions
from tally._words import REFUSED, reworded

if torch.distributed.is_available():
    from torch.distributed.distributed_c10d import GroupMember
else:

    class GroupMember:
        WORLD = None


_followed = None


def follow():
    """Makes torch.distributed's group the one of metrics that are given none.

    Before each call in which ranks meet: the group may begin and end at any time.
    """
    global _followed
    group = GroupMember.WORLD
    if _followed is None:
        if group is None:
            return
    elif group is not None and _followed() is group:
        return
    functions.set_default_group(None if group is None else group.boxed())
    _followed = None if group is None else weakref.ref(group)


atexit.register(functions.forget_groups)


def over_ranks(call, *arguments):
    """A call in which ranks meet; what LibTorch raises for one that fails, as a SyncError."""
    follow()
    try:
        return call(*arguments)
    except DistError as error:
        raise sync_error(error) from None
    except REFUSED as error:
        raise reworded(error)


def boxed(group):
    """A group as the library takes it."""
    if group is None:
        return None
    if not hasattr(group, "boxed"):
        raise ValueError(
            "process_group: expected a group of torch.distributed that this process "
            f"is a member of, got {group!r}"
        )
    return group.boxed()


@checked
def gather_all_tensors(
    tensor: torch.Tensor, gradient_flow="local", process_group=None, timeout: float | None = None
):
    """Every rank's tensor, of any shape, in rank order.

    ``gradient_flow`` says what gradients do on their way back: "detached", "local",
    "replicated" or "all_ranks" (docs/gradients.md). ``timeout`` is in seconds.
    """
    return over_ranks(
        functions.gather_all_tensors, tensor, gradient_flow, boxed(process_group), timeout
    )


@checked
def average_gradients(parameters, process_group=None, timeout: float | None = None):
    """Replaces each parameter's gradient by its mean over the ranks.

    Between ``backward()`` and the optimizer's ``step()``, in place of
    DistributedDataParallel.
    """
    what = "average_gradients: argument 'parameters'"
    parameters = list_of(what, parameters, "tensors", torch.Tensor)
    over_ranks(functions.average_gradients, parameters, boxed(process_group), timeout)


@checked
def broadcast_parameters(tensors, root=0, process_group=None, timeout: float | None = None):
    """Writes the values that rank ``root`` has into these tensors on every rank."""
    what = "broadcast_parameters: argument 'tensors'"
    tensors = list_of(what, tensors, "tensors", torch.Tensor)
    over_ranks(functions.broadcast_parameters, tensors, root, boxed(process_group), timeout)
