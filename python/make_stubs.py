"""Type stubs of the package, from what its metrics and losses are."""

import ast
import pathlib
import re

_INPUT = "_Input"


def option_type(option):
    """The type of Python for an option's value."""
    expected = option["expected"]
    if option["is_metric"]:
        return "Mapping[str, Metric]" if "{" in expected else "Metric"
    optional = False
    if expected.startswith("none or "):
        optional, expected = True, expected[len("none or "):]
    if expected == "none, an integer, or a list such as [0.1, 0.9]":
        return "int | Sequence[float] | Tensor | None"
    simple = {
        "true or false": "bool",
        "an integer": "int",
        "a number": "float",
        "text": "str",
        "a list such as [0.1, 0.9]": "Sequence[float]",
        "a list such as [1, 2]": "Sequence[int]",
        "a list such as [one, two]": "Sequence[str]",
    }
    if expected in simple:
        known = simple[expected]
    else:
        prefix = "a list, each "
        is_list = expected.startswith(prefix)
        choice = expected[len(prefix):] if is_list else expected
        names = [name.strip() for name in choice.removeprefix("one of ").split(",")]
        optional |= "none" in names
        known = "Literal[" + ", ".join(f'"{name}"' for name in names) + "]"
        if is_list:
            known = f"Sequence[{known}]"
    if option["name"] == "tokenizer":
        known += " | Callable[[str], Sequence[str]]"
    return known + (" | None" if optional else "")


def literal(option):
    """The default as it stands in a stub."""
    text, expected = option["default"], option["expected"]
    if text == "none":
        return "None"
    if "true or false" in expected:
        return {"true": "True", "false": "False"}[text]
    if re.fullmatch(r"-?[0-9.e-]+", text) and "one of" not in expected:
        return text
    if text.startswith("[") or text in ("nan", "inf", "-inf"):
        return "..."
    return '"' + text.strip('"') + '"'


def parameters(options, extra):
    """The signature of a constructor behind self."""
    required = [f"{o['name']}: {option_type(o)}" for o in options if o["is_required"]]
    rest = [
        f"{o['name']}: {option_type(o)} = {literal(o)}"
        for o in options
        if not o["is_required"]
    ]
    return ", ".join(["self", *required, "*", *rest, *extra])


METRIC_OPTIONS = [
    "dist_sync_on_step: bool = False",
    "sync_on_compute: bool = True",
    "compute_with_cache: bool = True",
    'gradient_flow: _GradientFlow = "local"',
    "timeout: float | None = None",
    "validate_args: bool = True",
    'nan_policy: Literal["propagate", "error", "ignore"] = "propagate"',
    "compute_on_cpu: bool = False",
    "process_group: ProcessGroup | None = None",
]
SYNC_OPTIONS = [o for o in METRIC_OPTIONS if not o.startswith(("validate", "nan_", "compute_on"))]
INTERVAL_OPTIONS = [
    "level: float = 0.95",
    'method: Literal["auto", "wilson", "clopper_pearson", "logit_delta", "delong", "newcombe", '
    '"poisson_cells", "poisson", "double_or_nothing", "jackknife", "mover", "delong_newcombe", '
    '"obuchowski", "delete_one", "order_statistic", "debiased_gaps"] = "auto"',
    'ends: Literal["percentile", "bca", "normal", "logit_normal"] = "percentile"',
    "replicates: int = 1000",
    "blocks: int = 0",
    "seed: int = 0",
    "grouped: bool = False",
    "stratified: bool = False",
]
COMPARISON_OPTIONS = [
    "level: float = 0.95",
    'method: Literal["auto", "mcnemar", "delong", "poisson", "double_or_nothing", '
    '"jackknife"] = "auto"',
    "replicates: int = 1000",
    "blocks: int = 0",
    "seed: int = 0",
    "grouped: bool = False",
]
LOSS_OPTIONS = [
    "process_group: ProcessGroup | None = None",
    "timeout: float | None = None",
]

_HEAD = """from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload
from typing_extensions import Self

import enum
import torch
from torch import Tensor
from torch.distributed import ProcessGroup

"""

_INIT = (
    _HEAD
    + '''from tally import functional as functional
from tally import losses as losses
from tally import plots as plots

__version__: str

_Input: TypeAlias = Any
_GradientFlow: TypeAlias = Literal["detached", "local", "replicated", "all_ranks"]
_Results: TypeAlias = Tensor | dict[str, Tensor]

class SyncErrorCode(enum.Enum):
    MISMATCH = "kMismatch"
    PEER_FAILED = "kPeerFailed"
    PEER_LOST = "kPeerLost"
    TIMEOUT = "kTimeout"
    GROUP_BROKEN = "kGroupBroken"
    TRANSPORT = "kTransport"
    INVALID_USE = "kInvalidUse"

class SyncError(RuntimeError):
    code: SyncErrorCode
    message: str
    metric: str
    state: str
    rank: int
    peers: tuple[int, ...]
    sequence: int
    phase: str

_Object = TypeVar("_Object", bound="_Stateful")
_State: TypeAlias = bytes | bytearray | memoryview | Tensor

class _SyncContext:
    def __enter__(self) -> Any: ...
    def __exit__(self, *error: object) -> None: ...

class _Stateful:
    def reset(self) -> None: ...
    def sync(self) -> None: ...
    def unsync(self) -> None: ...
    @property
    def is_synced(self) -> bool: ...
    def sync_context(self) -> _SyncContext: ...
    def merge_state(self, other: Self | Sequence[Self]) -> None: ...
    @property
    def update_count(self) -> int: ...
    @property
    def metric_state(self) -> dict[str, Tensor]: ...
    def save(
        self,
        path: str | PathLike[str],
        ranks: Literal["own", "one_file", "file_per_rank"] = "own",
        part: tuple[int, int] | None = None,
    ) -> None: ...
    def load(
        self, path: str | PathLike[str], ranks: Literal["own", "one_file", "file_per_rank"] = "own"
    ) -> None: ...
    def to_bytes(self) -> bytes: ...
    def serialize(self) -> bytes: ...
    def deserialize(self, state: _State) -> None: ...

class _Copyable(_Stateful):
    def to(self, device: torch.device | str | int) -> Self: ...
    def clone(self) -> Self: ...

class Accumulator(_Stateful, torch.nn.Module):
    def update(self, *inputs: _Input, **named: _Input) -> None: ...
    @property
    def device(self) -> torch.device: ...
    def set_dtype(self, dtype: torch.dtype) -> Self: ...
    def persistent(self, mode: bool = True) -> Self: ...
    def plot(
        self, value: Any = None, *, labels: Sequence[object] = (), title: str = "",
        width: float = 480,
    ) -> plots.Plot: ...

class Metric(Accumulator):
    def __init__(self, text: str, *, %(metric_options)s) -> None: ...
    def forward(self, *inputs: _Input, **named: _Input) -> Any: ...
    def __call__(self, *inputs: _Input, **named: _Input) -> Any: ...
    def compute(self) -> Any: ...
    def clone(self) -> Self: ...
    def registry_text(self) -> str: ...
    def interval(self, *, %(interval_options)s) -> IntervalMetric: ...
    @property
    def is_differentiable(self) -> bool: ...
    @property
    def higher_is_better(self) -> bool | None: ...
    def __add__(self, other: Metric | float) -> CompositionalMetric: ...
    def __radd__(self, other: Metric | float) -> CompositionalMetric: ...
    def __sub__(self, other: Metric | float) -> CompositionalMetric: ...
    def __rsub__(self, other: Metric | float) -> CompositionalMetric: ...
    def __mul__(self, other: Metric | float) -> CompositionalMetric: ...
    def __rmul__(self, other: Metric | float) -> CompositionalMetric: ...
    def __truediv__(self, other: Metric | float) -> CompositionalMetric: ...
    def __rtruediv__(self, other: Metric | float) -> CompositionalMetric: ...
    def __pow__(self, other: Metric | float) -> CompositionalMetric: ...
    def __rpow__(self, other: Metric | float) -> CompositionalMetric: ...
    def __neg__(self) -> CompositionalMetric: ...
    def __abs__(self) -> CompositionalMetric: ...

class CompositionalMetric(Metric):
    def forward(self, *inputs: _Input, **named: _Input) -> Tensor: ...
    def __call__(self, *inputs: _Input, **named: _Input) -> Tensor: ...
    def compute(self) -> Tensor: ...

def minimum(a: Metric | float, b: Metric | float) -> CompositionalMetric: ...
def maximum(a: Metric | float, b: Metric | float) -> CompositionalMetric: ...
def sqrt(metric: Metric) -> CompositionalMetric: ...

class MetricCollection(Accumulator):
    def __init__(
        self, metrics: Mapping[str, Metric | MetricCollection] | Sequence[Metric] | Metric | MetricCollection,
        *, prefix: str = "", postfix: str = "", %(sync_options)s,
    ) -> None: ...
    def forward(self, *inputs: _Input, **named: _Input) -> dict[str, Tensor]: ...
    def __call__(self, *inputs: _Input, **named: _Input) -> dict[str, Tensor]: ...
    def compute(self) -> dict[str, Tensor]: ...
    def clone(self, prefix: str | None = None, postfix: str | None = None) -> Self: ...
    def __getitem__(self, name: str) -> Metric: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: object) -> bool: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[Metric]: ...
    def items(self) -> list[tuple[str, Metric]]: ...
    @property
    def compute_groups(self) -> dict[int, list[str]]: ...

class Slice(NamedTuple):
    key: tuple[int | str | None, ...]
    rows: int
    results: Any
    @property
    def is_other(self) -> bool: ...
    @property
    def name(self) -> str: ...

class SlicedMetric(_Copyable):
    def __init__(
        self, metrics: Metric | MetricCollection | Mapping[str, Metric], *,
        keys: Sequence[int | str | None | tuple[int | str | None, ...]] | None = None,
        max_slices: int = 10_000, largest: int = 0,
    ) -> None: ...
    def update(self, keys: Any, *inputs: _Input, **named: _Input) -> None: ...
    def compute(self) -> list[Slice]: ...
    def plot(
        self, value: Sequence[Slice] | None = None, *, result: str | None = None,
        title: str = "", width: float = 480,
    ) -> plots.Plot: ...
    def keys(self) -> list[tuple[int | str | None, ...]]: ...
    def __len__(self) -> int: ...

class NamedSets(_Copyable):
    def __init__(
        self, sets: Iterable[str | int], metrics: Metric | MetricCollection | Mapping[str, Metric], *,
        weights: Sequence[float] | Mapping[str, float] | None = None,
    ) -> None: ...
    @property
    def sets(self) -> list[str]: ...
    def update(self, set: str | int, *inputs: _Input, **named: _Input) -> None: ...
    def compute(self) -> dict[str, Tensor]: ...
    def rows(self, set: str | int) -> int: ...

class ComparedSlice(NamedTuple):
    key: tuple[int | str | None, ...]
    rows: int
    units: int
    value: float
    value_low: float
    value_high: float
    rest: float
    difference: float
    low: float
    high: float
    standard_error: float
    degrees_of_freedom: float
    effect: float
    p_value: float
    q_value: float
    flags: tuple[str, ...]
    @property
    def name(self) -> str: ...

class SliceComparison(_Copyable):
    def __init__(
        self, metric: Metric, *, min_rows: int = 30, largest: int = 200,
        max_slices: int = 10_000, level: float = 0.95, grouped: bool = False,
    ) -> None: ...
    @property
    def unit(self) -> str: ...
    def update(self, keys: Any, ids: Any, *inputs: _Input, **named: _Input) -> None: ...
    def compute(self) -> list[ComparedSlice]: ...

class Best(NamedTuple):
    value: float
    step: int
    label: str

class MetricTracker(_Copyable):
    def __init__(
        self, metrics: Metric | MetricCollection | Mapping[str, Metric],
        maximize: bool | Mapping[str, bool] | None = None,
    ) -> None: ...
    def increment(self, label: str | int = "") -> None: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    def update(self, *inputs: _Input, **named: _Input) -> None: ...
    def forward(self, *inputs: _Input, **named: _Input) -> Any: ...
    def __call__(self, *inputs: _Input, **named: _Input) -> Any: ...
    def compute(self) -> Any: ...
    def compute_all(self) -> Any: ...
    def best_metric(self, result: str = "") -> Best: ...
    def improved(self, result: str = "", *, min_delta: float = 0.0) -> bool: ...
    def should_stop(
        self, patience: int, result: str = "", *, min_delta: float = 0.0
    ) -> bool: ...
    def reset_all(self) -> None: ...

class MetricLogger:
    def __init__(
        self, *, run: str = "", command: str = "", first_step: int = 0,
        process_group: ProcessGroup | None = None,
    ) -> None: ...
    def add_json_lines(self, path: str | PathLike[str]) -> bool: ...
    def add_csv(self, path: str | PathLike[str], *, wide: bool = False) -> bool: ...
    def add_tensorboard(
        self, folder: str | PathLike[str], labels: Sequence[object] = ()
    ) -> bool: ...
    def add_table(self, labels: Sequence[object] = ()) -> bool: ...
    def add_folder(self, folder: str | PathLike[str], labels: Sequence[object] = ()) -> bool: ...
    def log(
        self, step: int, metrics: Metric | MetricCollection, name: str | None = None
    ) -> dict[str, Tensor]: ...
    def write(self, step: int, results: Mapping[str, Any]) -> None: ...
    def write_image(self, step: int, name: str, pixels: Any) -> None: ...
    def write_text(self, step: int, name: str, text: str) -> None: ...
    def write_histogram(self, step: int, name: str, values: Any) -> None: ...
    @property
    def status(self) -> str | None: ...
    def finish(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class Interval(NamedTuple):
    value: Tensor
    low: Tensor
    high: Tensor
    standard_error: Tensor
    level: float
    method: str
    n: int
    replicates: int
    undefined: int
    degrees_of_freedom: Tensor
    counted: float
    units: float
    unit: str
    flags: tuple[str, ...]

class _RowMetric(_Copyable):
    def update(self, *inputs: _Input, ids: Any = None, **named: _Input) -> None: ...
    @property
    def method(self) -> str: ...
    @property
    def uses_ids(self) -> bool: ...
    @property
    def rows(self) -> int: ...

class IntervalMetric(_RowMetric):
    def __init__(self, metric: Metric, *, %(interval_options)s) -> None: ...
    def compute(self) -> Any: ...
    def plot(
        self, value: Any = None, *, labels: Sequence[object] = (), title: str = "",
        width: float = 480,
    ) -> plots.Plot: ...

class Comparison(NamedTuple):
    first: Tensor
    second: Tensor
    difference: Tensor
    low: Tensor
    high: Tensor
    p_value: Tensor
    level: float
    method: str
    n: int
    replicates: int
    undefined: int
    standard_error: Tensor
    degrees_of_freedom: Tensor
    counted: float
    units: float
    unit: str
    flags: tuple[str, ...]

class ModelComparison(_RowMetric):
    def __init__(self, metric: Metric, *, %(comparison_options)s) -> None: ...
    def compute(self) -> Any: ...

class FeatureExtractor:
    network: Any
    batch_size: int | None
    device: torch.device | str | None
    dtype: torch.dtype | None
    def __init__(
        self, network: Any, *, batch_size: int | None = None,
        device: torch.device | str | None = None, dtype: torch.dtype | None = None,
    ) -> None: ...
    def __call__(self, inputs: _Input) -> Tensor: ...

def flatten_layers(layers: Sequence[_Input]) -> Tensor: ...
@overload
def from_bytes(state: _State, into: None = None) -> Any: ...
@overload
def from_bytes(state: _State, into: _Object) -> _Object: ...
def merge(states: Iterable[Any]) -> Any: ...
class Progress:
    def __init__(
        self, unit: str = "rows", *, file: Any = None,
        style: Literal["terminal", "notebook", "log"] | None = None,
        clock: Callable[[], float] = ...,
    ) -> None: ...
    def start(self, unit: str) -> None: ...
    def start_outer(self, unit: str, number: int, all: int) -> None: ...
    def add_mean(self, name: str, value: Any) -> None: ...
    def set(self, name: str, value: Any) -> None: ...
    def show_memory(self, shows: bool = True) -> None: ...
    def update(self, done: int, all: int) -> None: ...
    def end(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *raised: object) -> None: ...
class progress:
    def __init__(
        self, function: Callable[[str, int, int], object], *, pause: float = 0.25
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *raised: object) -> None: ...
def gather_all_tensors(
    tensor: Tensor, gradient_flow: _GradientFlow = "local",
    process_group: ProcessGroup | None = None, timeout: float | None = None,
) -> list[Tensor]: ...
def average_gradients(
    parameters: Any, process_group: ProcessGroup | None = None, timeout: float | None = None
) -> None: ...
def broadcast_parameters(
    tensors: Any, root: int = 0, process_group: ProcessGroup | None = None,
    timeout: float | None = None,
) -> None: ...
'''
)

_LOSSES = (
    _HEAD
    + '''from tally import Metric

class Loss(torch.nn.Module): ...

def make_loss(
    text: str, process_group: ProcessGroup | None = None, timeout: float | None = None
) -> Loss: ...

class ClipLogits(NamedTuple):
    per_image: Tensor
    per_text: Tensor

class MetricLoss(torch.nn.Module):
    metric: Metric
    def __init__(
        self, metric: Metric, *,
        gradient_flow: Literal["detached", "local", "replicated", "all_ranks"] = "replicated",
        process_group: ProcessGroup | None = None, timeout: float | None = None,
        accumulate: bool = True,
    ) -> None: ...
    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor: ...
    def __call__(self, *inputs: Tensor, **named: Tensor) -> Tensor: ...
'''
)


_PLOTS = """from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from torch import Tensor

class Plot:
    svg: str
    def __init__(self, svg: str) -> None: ...
    def _repr_svg_(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> None: ...

def roc_plot(curves: Any, *, title: str = "", width: float = 480) -> Plot: ...
def precision_recall_plot(
    curves: Any, *, prevalence: float | None = None, title: str = "", width: float = 480
) -> Plot: ...
def calibration_plot(
    preds: Any, target: Any, *, bins: int = 10, title: str = "", width: float = 480
) -> Plot: ...
def confusion_matrix_plot(
    matrix: Any, *, labels: Sequence[object] = (), title: str = "", width: float = 480
) -> Plot: ...
def bar_plot(
    values: Any, *, labels: Sequence[object] = (), low: Any = None, high: Any = None,
    title: str = "", width: float = 480,
) -> Plot: ...
def runs_plot(
    runs: Mapping[str, Any], *, title: str = "", width: float = 480
) -> Plot: ...
def steps_plot(
    curves: Mapping[str, Any], *, title: str = "", width: float = 480
) -> Plot: ...
"""


def docstring(text):
    return f'    """{text}"""\n'


def metric_stub(entry):
    inputs = ", ".join(
        f"{i['name']}: {_INPUT}" + (" = ..." if i["is_optional"] else "")
        for i in entry["inputs"]
    )
    names = [option["name"] for option in entry["options"]]
    results = "_Results"
    if entry["results"] == [""] and "t_test" not in names:
        results = "Tensor"
    elif entry["results"] and "" not in entry["results"]:
        results = "dict[str, Tensor]"
    takes = "self" + (f", {inputs}" if inputs else f", *inputs: {_INPUT}, **named: {_INPUT}")
    return (
        f"\nclass {entry['name']}(Metric):\n"
        + docstring(entry["what"])
        + f"    def __init__({parameters(entry['options'], METRIC_OPTIONS)}) -> None: ...\n"
        + f"    def update({takes}) -> None: ...  # type: ignore[override]\n"
        + f"    def forward({takes}) -> {results}: ...  # type: ignore[override]\n"
        + f"    def __call__({takes}) -> {results}: ...  # type: ignore[override]\n"
        + f"    def compute(self) -> {results}: ...\n"
    )


def loss_inputs(entry):
    return ", ".join(
        f"{name.rstrip('?')}: Tensor" + (" | None = None" if name.endswith("?") else "")
        for name in entry["inputs"]
    )


def loss_stub(entry):
    text, result = "", "Tensor"
    if entry["results"]:
        result = entry["name"] + "Output"
        fields = "".join(f"    {name}: Tensor\n" for name in entry["results"])
        text += f"\nclass {result}(NamedTuple):\n{fields}"
    extra = list(LOSS_OPTIONS)
    if entry["name"] == "DCLLoss":
        extra.insert(0, "weight_fn: Callable[[Tensor, Tensor], Tensor] | None = None")
    inputs = loss_inputs(entry)
    text += (
        f"\nclass {entry['name']}(Loss):\n"
        + docstring(entry["what"])
        + f"    def __init__({parameters(entry['options'], extra)}) -> None: ...\n"
        + f"    def forward(self, {inputs}) -> {result}: ...\n"
        + f"    def __call__(self, {inputs}) -> {result}: ...\n"
    )
    if entry["name"] == "ClipLoss":
        text += f"    def logits(self, {inputs}) -> ClipLogits: ...\n"
    if entry["name"] in ("LFQ", "VectorQuantize"):
        text += (
            "    def indices_to_codes("
            "self, indices: Tensor, project_out: bool = True) -> Tensor: ...\n"
        )
    return text


def statistics_stub():
    """What _statistics.py annotates, without what its functions do."""
    file = pathlib.Path(__file__).resolve().parent / "tally" / "_statistics.py"
    parts = []
    for part in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(part, (ast.ClassDef, ast.FunctionDef)) or part.name.startswith("_"):
            continue
        if isinstance(part, ast.FunctionDef):
            part.body = [part.body[0], ast.Expr(ast.Constant(...))]
            part.decorator_list = []
        parts.append(part)
    return ast.unparse(ast.Module(parts, [])) + "\n"


def function_names():
    """The functions of functional.py, and the modules that they call."""
    file = pathlib.Path(__file__).resolve().parent / "tally" / "functional.py"
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "_NAMES":
            return ast.literal_eval(statement.value)
    raise ValueError(f"expected _NAMES in {file}")


def metric_function_name(metric):
    """functional.py's, which cannot be imported without the library."""
    file = pathlib.Path(__file__).resolve().parent / "tally" / "functional.py"
    wanted = ("_WORDS", "metric_function_name")
    parts = [
        part for part in ast.parse(file.read_text(encoding="utf-8")).body
        if getattr(part, "name", "") in wanted
        or (isinstance(part, ast.Assign) and part.targets[0].id in wanted)
    ]
    names = {"re": re}
    exec(compile(ast.Module(parts, []), file.name, "exec"), names)
    return names["metric_function_name"](metric)


def functional_stub(facts):
    losses = {entry["name"]: entry for entry in facts["losses"]}
    text = _HEAD + "from tally import losses\n\n"
    for name in ("cosine_similarity", "euclidean_distance", "linear_similarity",
                 "manhattan_distance", "minkowski_distance"):
        exponent = "exponent: float = 2, " if name == "minkowski_distance" else ""
        text += (
            f"def pairwise_{name}(x: Any, y: Any = None, {exponent}reduction: "
            'Literal["mean", "sum", "none"] | None = None, '
            "zero_diagonal: bool | None = None) -> Tensor: ...\n"
        )
    for name, loss in function_names().items():
        entry = losses[loss]
        result = f"losses.{loss}Output" if entry["results"] else "Tensor"
        text += f"def {name}({loss_inputs(entry)}, **options: Any) -> {result}: ...\n"
    for entry in facts["metrics"]:
        if not entry["is_wrapper"]:
            name = metric_function_name(entry["name"])
            text += f"def {name}(*inputs: Any, **options: Any) -> Any: ...\n"
    return text


# What the drop-in has beside TorchMetrics' names.
_DROP_IN = """from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from torchmetrics import *

__version__: str

@dataclass(frozen=True)
class Correction:
    reason: str
    tool: str
    command: str
    also: Correction | None = ...

class TallyCorrectionWarning(UserWarning): ...

def corrections(
    warn: bool | None = None, off: str | Iterable[str] | None = None
) -> dict[str, Correction]: ...
def conventions(
    which: Literal["torchmetrics", "tally"] | None = None
) -> Literal["torchmetrics", "tally"]: ...
def install() -> None: ...
def uninstall() -> None: ...

"""


def mirrored():
    """TorchMetrics' own types, by module: the classes in their places are subclasses."""
    file = pathlib.Path(__file__).resolve().parent / "torchmetrics_modules.txt"
    modules = file.read_text(encoding="utf-8").split()
    packages = {"", *(module.rpartition(".")[0] for module in modules)}
    for package in sorted(packages.union(modules)):
        text = f"from torchmetrics.{package} import *\n" if package else _DROP_IN
        # Modules of functions often have the name of one, which stands for it there.
        if package in packages and not package.startswith("functional."):
            here = "tally.compat.torchmetrics" + (package and "." + package)
            text += "".join(
                f"from {here} import {name} as {name}\n"
                for parent, _, name in (module.rpartition(".") for module in modules)
                if parent == package
            )
        path = package.split(".") if package else []
        yield "/".join([*path, "__init__"] if package in packages else path), text


def stubs(facts):
    """The stub files by name."""
    options = {
        "metric_options": ", ".join(METRIC_OPTIONS),
        "sync_options": ", ".join(SYNC_OPTIONS),
        "interval_options": ", ".join(INTERVAL_OPTIONS),
        "comparison_options": ", ".join(COMPARISON_OPTIONS),
    }
    return {
        "tally/__init__.pyi": (
            _INIT % options + statistics_stub() + "".join(map(metric_stub, facts["metrics"]))
        ),
        "tally/losses.pyi": _LOSSES + "".join(map(loss_stub, facts["losses"])),
        "tally/functional.pyi": functional_stub(facts),
        "tally/plots.pyi": _PLOTS,
        **{f"tally/compat/torchmetrics/{name}.pyi": text for name, text in mirrored()},
    }
