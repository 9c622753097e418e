"""One class of Python for each metric of the registry."""

from tally._held import METRIC_OPTIONS
from tally._library import METRICS
from tally._metric import Metric
from tally._options import signature_of
from tally._tokens import Tokenized

_OPTIONS_DOC = """
    dist_sync_on_step: ``forward()`` returns the value over the batches of all ranks.
    sync_on_compute: ``compute()`` returns the value over all ranks.
    compute_with_cache: ``compute()`` without an update in between returns the cached value.
    gradient_flow: The gradient of a synced ``forward()``: "detached", "local",
        "replicated" or "all_ranks" (docs/gradients.md).
    timeout: Seconds that a sync may wait for other ranks; None: the group's.
    validate_args: Check the values of inputs, not only shapes and dtypes.
    nan_policy: "propagate", "error" or "ignore" (rows with NaN do not count).
    compute_on_cpu: Keep the accumulated state on the CPU.
    process_group: A group of torch.distributed; None: the default one.
"""


def describe(entry):
    """The docstring of a metric's class."""
    lines = [entry["what"], ""]
    if entry["inputs"]:
        lines.append("Inputs of ``update()``:")
        for each in entry["inputs"]:
            optional = " (optional)" if each["is_optional"] else ""
            lines.append(f"    {each['name']}: {each['words']}{optional}")
    else:
        lines.append("Inputs of ``update()``: those of the wrapped metric.")
    lines += ["", "Args:"]
    for option in entry["options"]:
        default = "required" if option["is_required"] else f"default {option['default']}"
        lines.append(
            f"    {option['name']}: {option['words']} {option['expected'].capitalize()}; "
            f"{default}."
        )
    lines.append(_OPTIONS_DOC.strip("\n"))
    known = {True: "yes", False: "no", None: "neither"}
    lines += ["", f"Range: {entry['range']}."]
    if not entry["is_wrapper"]:
        lines.append(f"Differentiable: {known[bool(entry['is_differentiable'])]}.")
        lines.append(f"Higher is better: {known[entry['higher_is_better']]}.")
    return "\n".join(lines) + "\n"


def metric_class(entry):
    """The class of Python for a metric of the registry."""
    splits = any(option["name"] == "tokenizer" for option in entry["options"])
    return type(
        entry["name"],
        (Tokenized if splits else Metric,),
        {
            "__module__": "tally",
            "__doc__": describe(entry),
            "__signature__": signature_of(entry["options"], METRIC_OPTIONS),
            "_entry": entry,
        },
    )


CLASSES = {name: metric_class(entry) for name, entry in METRICS.items()}
