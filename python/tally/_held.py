"""The object of the library in a metric or collection."""

import torch

from tally._errors import check_status
from tally._kinds import of_kind
from tally._ranks import boxed
from tally._words import call

#: What every metric and collection can be told besides its own options.
SYNC_OPTIONS = {
    "dist_sync_on_step": False,
    "sync_on_compute": True,
    "compute_with_cache": True,
    "gradient_flow": "local",
    "timeout": None,
}
STATE_OPTIONS = {
    "validate_args": True,
    "nan_policy": "propagate",
    "compute_on_cpu": False,
}
METRIC_OPTIONS = {**SYNC_OPTIONS, **STATE_OPTIONS, "process_group": None}


def _check(owner, options):
    """Raises for an option that is no value of its kind."""
    for name, default in METRIC_OPTIONS.items():
        if default is not None:
            of_kind(f"{owner.__name__}: option '{name}'", options[name], type(default))
    timeout = options["timeout"]
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
        raise TypeError(
            f"{owner.__name__}: option 'timeout': expected None or a number of seconds, got "
            f"{timeout!r}"
        )


# Kept, as looking them up costs more than calling them.
_KEPT = ("update1", "update2", "update3", "forward1", "forward2", "forward3", "compute")

_SCALAR_TYPES = {
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bfloat16: 15,
}


class Held:
    """An object of the library, and what it was made of and told.

    It pickles by itself: some engines take the ``__dict__`` of a module apart, where
    others pickle the module. Calls that it has no name for are the object's.
    """

    __slots__ = ("object", "owner", "recipe", "options", "device", "dtype", *_KEPT)

    def __init__(self, held, owner, recipe, options, device=torch.device("cpu"), dtype=None):
        self.object = held
        #: The class whose ``_make(recipe, options)`` makes the object anew.
        self.owner, self.recipe, self.options = owner, recipe, options
        self.device, self.dtype = device, dtype
        for name in _KEPT:
            setattr(self, name, getattr(held, name))

    @classmethod
    def made(cls, owner, recipe, options):
        """One without rows."""
        if options != METRIC_OPTIONS:
            _check(owner, options)
        held = cls(call(owner._make, recipe, options), owner, recipe, options)
        if options != METRIC_OPTIONS:
            held.set_options()
        return held

    def __getattr__(self, name):
        return getattr(self.object, name)

    def with_object(self, held):
        """The same around another object of the library."""
        return Held(held, self.owner, self.recipe, dict(self.options), self.device, self.dtype)

    def clone(self):
        """A copy with the same options and state."""
        return self.with_object(self.object.clone())

    def set_options(self):
        """Tells the object what ``options`` are now."""
        options = self.options
        call(
            self.object.set_options,
            *(options[name] for name in (*SYNC_OPTIONS, *STATE_OPTIONS)),
            boxed(options["process_group"]),
        )

    def set_dtype(self, dtype):
        """Sets the dtype of floating-point results."""
        index = _SCALAR_TYPES.get(dtype)
        if index is None:
            raise ValueError(f"set_dtype expected a floating-point dtype, got {dtype}")
        self.object.set_dtype(index)
        self.dtype = dtype

    def to(self, device):
        """Moves the state."""
        if device != self.device:
            self.object.to(device)
            self.device = device

    def __reduce__(self):
        if self.options["process_group"] is not None:
            raise TypeError(
                f"cannot pickle a {self.owner.__name__} with a process_group of its own"
            )
        return _restore, (
            self.owner, self.recipe, self.options, self.object.to_bytes(), self.device, self.dtype
        )


def _restore(owner, recipe, options, state, device, dtype):
    held = Held.made(owner, recipe, options)
    check_status(held.deserialize(state))
    if dtype is not None:
        held.set_dtype(dtype)
    held.to(device)
    return held
