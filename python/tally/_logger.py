"""Results to files, TensorBoard and the terminal."""

from collections.abc import Mapping

from tally._collection import MetricCollection
from tally._errors import check_status
from tally._inputs import tensor_of
from tally._kinds import checked
from tally._library import classes
from tally._metric import Metric
from tally._ranks import boxed, follow, over_ranks
from tally._words import call


class MetricLogger:
    """Writes results as training or evaluation proceeds, from rank 0.

        with tally.MetricLogger() as logger:
            logger.add_json_lines("log.jsonl")
            logger.add_tensorboard("runs/digits")
            for step, batch in enumerate(loader):
                metrics.update(model(batch.x), batch.y)
                logger.log(step, metrics)

    Every rank makes the same calls. ``log()`` computes metrics, which is a call of all
    ranks as always; only then rank 0 writes, and nobody waits for its disk. A file that
    cannot be written is warned about once and left alone from then on: it stops neither
    the program nor what else is written; ``finish()`` raises its error.

    Steps may not fall, and a step may have each name once: ValueError before anything is
    written.

    Args:
        run: A name for the run.
        command: The command that started it.
        first_step: The first step that will be written. Steps from here on that a log
            already has, of a run that was interrupted, are dropped: a run that continues
            from a checkpoint passes its step.
        process_group: A group of torch.distributed; None: the default one.
    """

    @checked
    def __init__(self, *, run="", command="", first_step=0, process_group=None):
        follow()
        self._held = call(
            classes.MetricLogger, run, command, first_step, boxed(process_group)
        )

    def _add(self, kind, path, labels=()):
        return self._held.add(kind, str(path), [str(label) for label in labels])

    def add_json_lines(self, path):
        """Writes one line of JSON per step. Returns whether the file could be opened."""
        return self._add("json_lines", path)

    def add_csv(self, path, *, wide=False):
        """A line of CSV for each number, or if ``wide`` for each step with a column for each.

        Whether the file could be opened.
        """
        return self._add("wide_csv" if wide else "csv", path)

    def add_tensorboard(self, folder, labels=()):
        """Writes TensorBoard event files; ``labels`` are class names. Returns whether it worked."""
        return self._add("tensorboard", folder, labels)

    def add_table(self, labels=()):
        """Writes a line per step to standard error."""
        return self._add("table", "", labels)

    def add_folder(self, folder, labels=()):
        """"log.jsonl" and TensorBoard's files in a folder, made if there is none."""
        return self._held.add_folder(str(folder), [str(label) for label in labels])

    def log(self, step, metrics, name=None):
        """Computes a collection, or a metric under a name, writes and returns its values.

        A metric's name is by default that of its class. A call of all ranks.
        """
        if isinstance(metrics, MetricCollection):
            return dict(over_ranks(self._held.log_collection, step, metrics._object))
        if isinstance(metrics, Metric):
            name = type(metrics).__name__ if name is None else name
            return dict(over_ranks(self._held.log_metric, step, name, metrics._object))
        raise TypeError(
            f"log expected a tally.Metric or MetricCollection, got a {type(metrics).__name__}"
        )

    def write(self, step, results):
        """Writes results that every rank has, or at least rank 0: a dict by name.

        Values are numbers, tensors, or dicts of them, whose names are joined by dots.
        """
        self._held.write(step, dict(_flat(results, "")))

    def write_image(self, step, name, pixels):
        """Writes an image, which TensorBoard shows: [1, H, W], [3, H, W] or [4, H, W].

        uint8, or floating-point in [0, 1]. Of rank 0, as write_text and write_histogram.
        """
        self._held.write_image(step, name, tensor_of(pixels).detach())

    def write_text(self, step, name, text):
        """Writes a text, which TensorBoard shows as Markdown."""
        self._held.write_text(step, name, text)

    def write_histogram(self, step, name, values):
        """Writes the distribution of the elements of a tensor, which TensorBoard shows."""
        self._held.write_histogram(step, name, tensor_of(values).detach())

    @property
    def status(self):
        """The first error of any sink, as text; None if there is none."""
        code, message = self._held.status()
        return message if code else None

    def finish(self):
        """Stores everything that has been written; raises the first error there was."""
        check_status(self._held.finish())

    def __reduce__(self):
        raise TypeError(
            "a MetricLogger cannot be copied or pickled: it has open files. Make one in each "
            "process; rank 0's writes"
        )

    def __enter__(self):
        return self

    def __exit__(self, error_class, *error):
        if error_class is None:
            self.finish()
        else:
            self._held.finish()


def _flat(results, before):
    if not isinstance(results, Mapping):
        raise TypeError(f"write expected a dict of results, got a {type(results).__name__}")
    for name, value in results.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", tensor_of(value).detach()
