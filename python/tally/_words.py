"""Messages of the library in Python's words."""

import re

#: What is raised for what is not taken.
REFUSED = (ValueError, TypeError, IndexError, RuntimeError)


def _snake(match):
    return '"' + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", match[1]).lower() + '"'


_ALONE = (
    r"MetricOptions\(\)\.sync_on_compute\(false\), or a CommunicatorGuard with "
    r"single_process_communicator\(\)"
)

# By these, docs/errors.md explains a SyncError.
_CODES = "Mismatch|PeerFailed|PeerLost|Timeout|GroupBroken|Transport|InvalidUse"

# From the first on; values of enumerations come last. What is quoted is the user's.
_WORDS = [
    (re.compile(pattern), words)
    for pattern, words in (
        (_ALONE, "sync_on_compute=False"),
        (r"\.to\(at::kLong\)", ".long()"),
        (r"a std::vector<std::\S*basic_string<.*> > >", "a list of texts"),
        (r"a std::\S*basic_string<.*?> ?>(?=[^>]|$)", "a text"),
        (r"an at::Tensor\b", "a tensor"),
        (r"a tally::TextLists\b", "lists of texts"),
        (r"a tally::TextList\b", "a list of texts"),
        (r"\b(?:at|c10|tally)::(?=[A-Z])", ""),
        (r"\binput is \w+::k(\w+)", lambda match: "input is " + _snake(match)),
        (rf"(?<![\w'\"/.])(?:[A-Z]\w*::)?\bk(?!(?:{_CODES})\b)([A-Z][a-z]\w*)", _snake),
    )
]


def in_python(text):
    """A message without names that only C++ has."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text


def reworded(error):
    """The same error, in Python's words."""
    text = str(error)
    words = in_python(text)
    if words != text:
        error.args = (words,)
    return error


def call(function, *arguments):
    """Calls what is the library's."""
    try:
        return function(*arguments)
    except REFUSED as error:
        raise reworded(error)
