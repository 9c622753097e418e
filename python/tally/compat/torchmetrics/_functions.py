"""Functions in the places of TorchMetrics': the values of the classes of this package."""

import functools
import inspect
import threading
import types

import torch
import torchmetrics.functional

from tally import functional
from tally._words import REFUSED
from tally.compat.torchmetrics import _conventions, _corrections
from tally.compat.torchmetrics._fitting import known_options, takes, without_self
from tally.compat.torchmetrics._names import here

_PAIRWISE = (
    "pairwise_cosine_similarity",
    "pairwise_euclidean_distance",
    "pairwise_linear_similarity",
    "pairwise_manhattan_distance",
    "pairwise_minkowski_distance",
)

# Functions of another name than their class.
_NAMED = {
    "retrieval_average_precision": "RetrievalMAP",
    "retrieval_reciprocal_rank": "RetrievalMRR",
    "word_information_lost": "WordInfoLost",
    "word_information_preserved": "WordInfoPreserved",
}

# Functions that have a value for each sample or image where a class has the mean, or
# count outputs by the shape of their inputs.
_LEFT_DOMAINS = ("audio", "image", "segmentation", "shape")
_LEFT = {"concordance_corrcoef", "fleiss_kappa", "log_cosh_error"}

# What a class takes beside the parameters of a function, which is of one query.
_QUERY = "indexes"

_CPU = torch.device("cpu")


def _renamed(real, function):
    function.__module__ = here(real)
    return function


def _pairwise(real):
    mine = getattr(functional, real.__name__)

    @functools.wraps(real)
    def function(*args, **kwargs):
        try:
            return mine(*args, **kwargs)
        except (ValueError, TypeError, RuntimeError):
            real(*args, **kwargs)  # in TorchMetrics' words, if it refuses them too
            raise

    return _renamed(real, function)


def _fits(real, cls):
    """Whether a function's parameters are its class' inputs and options."""
    if real.__module__.split(".")[2] in _LEFT_DOMAINS or real.__name__ in _LEFT:
        return False
    inputs = [name for name in without_self(cls._real.update).parameters if name != _QUERY]
    own = without_self(cls._real.__init__).parameters
    options = {*own, *known_options(cls._real)}  # some are among the constructor's keywords
    names = list(inspect.signature(real).parameters)
    needed = {
        name for name, each in own.items()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    }
    return (
        names[: len(inputs)] == inputs
        and set(names[len(inputs):]) <= options
        and needed <= set(names)
        and not {"args", "kwargs"} & set(names)
    )


def _needs_torchmetrics(inputs, is_corrected):
    """Whether gradients are asked for, or values of another kind of number."""
    for each in inputs:
        if not isinstance(each, torch.Tensor):
            continue
        if each.requires_grad and torch.is_grad_enabled():
            return True
        if not is_corrected and each.dtype != torch.float32 and each.is_floating_point():
            return True
    return False


@functools.lru_cache(maxsize=128, typed=True)
def _kept_metric(cls, thread, device, dtype, conventions, **options):
    """Construction costs more than the rest: a metric for each thread and its options."""
    return _new_metric(cls, device, options)


def _new_metric(cls, device, options):
    """One without data; None where Tally's class does not take the options."""
    if not takes(cls._real, (), options):
        return None
    return cls(**options, sync_on_compute=False).to(device)


def _are_constants(options):
    """Whether equal ones stay equal."""
    return all(each is None or isinstance(each, (str, int, float)) for each in options.values())


def _metric(cls, inputs, options, may_keep):
    device = next((each.device for each in inputs if isinstance(each, torch.Tensor)), _CPU)
    if may_keep or _are_constants(options):
        thread, dtype = threading.get_ident(), torch.get_default_dtype()
        return _kept_metric(cls, thread, device, dtype, _conventions.conventions(), **options)
    return _new_metric(cls, device, options)


def _of_class(real, cls):
    """The value of a metric of one update."""
    signature = inspect.signature(real)
    accepted = without_self(cls._real.update).parameters
    count = len(accepted) - (_QUERY in accepted)
    name = cls._real.__name__
    is_corrected = name in _corrections.CORRECTIONS
    defaults = {each.name: each.default for each in [*signature.parameters.values()][count:]}
    has_defaults = inspect.Parameter.empty not in defaults.values()
    are_constants = _are_constants(defaults)

    def split(args, kwargs):
        """Inputs and options."""
        if len(args) == count and has_defaults and kwargs.keys() <= defaults.keys():
            return args, {**defaults, **kwargs} if kwargs else defaults
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = list(bound.arguments.items())
        return [value for _, value in given[:count]], dict(given[count:])

    @functools.wraps(real)
    def function(*args, **kwargs):
        try:
            inputs, options = split(args, kwargs)
            metric = None
            if not _corrections.is_off(name) and not _needs_torchmetrics(inputs, is_corrected):
                may_keep = options is defaults and are_constants
                metric = _metric(cls, inputs, options, may_keep)
            if metric is not None:
                if _QUERY in accepted:
                    inputs = [*inputs, torch.zeros_like(inputs[1], dtype=torch.long)]
                return metric.value_of_function(inputs)
        except (*REFUSED, AttributeError):
            pass
        return real(*args, **kwargs)  # in TorchMetrics' words, if it refuses them too

    return _renamed(real, function)


def _in_scope(real, by_name):
    """A function such as accuracy(task=...), which calls those of this package."""
    scope = {**real.__globals__, **by_name}
    function = types.FunctionType(
        real.__code__, scope, real.__name__, real.__defaults__, real.__closure__
    )
    function.__kwdefaults__ = real.__kwdefaults__
    return _renamed(real, functools.update_wrapper(function, real))


def functions_of(classes):
    """Functions by TorchMetrics' own; `classes` are this package's by theirs."""
    names = {cls.__name__.lower(): cls for cls in classes.values()}
    domains = filter(inspect.ismodule, vars(torchmetrics.functional).values())
    public = [
        value for module in (torchmetrics.functional, *domains)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and not name.startswith("_")
    ]
    found = {real: _pairwise(real) for real in public if real.__name__ in _PAIRWISE}
    for real in public:
        name = real.__name__
        cls = names.get(_NAMED.get(name, name.replace("_", "")).lower())
        if cls is not None and real not in found and _fits(real, cls):
            found[real] = _of_class(real, cls)
    by_name = {real.__name__: mine for real, mine in found.items()}
    for real in public:
        calls_others = "task" in inspect.signature(real).parameters
        if calls_others or real.__module__.endswith("._deprecated"):
            found[real] = _in_scope(real, by_name)
    return found
