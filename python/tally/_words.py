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

_BOOLEANS = {"true": "True", "false": "False", "none": "None"}

# What an argument was, by LibTorch's name of its type.
_TYPES = {
    "str": "a text", "int": "an integer", "float": "a number", "bool": "True or False",
    "List[str]": "a list of texts", "Optional[float]": "None or a number",
    "Dict[str, bool]": "a dict of texts with True or False",
}
_NOT_CAST = re.compile(
    r"\w+\(\) Expected a value of type '(.+?)' for argument '_\d+' but instead found type "
    r"'.*?'\.\nPosition: \d+\nValue: (.*)\nDeclaration: \w+\(__torch__\.torch\.classes\.tally\."
    r"(\w+) .*", re.DOTALL
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
        (
            r"\b([a-z]\w+)=(true|false|none)\b",
            lambda match: f"{match[1]}={_BOOLEANS[match[2]]}",
        ),
        (rf"(?<![\w'\"/.])(?:[A-Z]\w*::)?\bk(?!(?:{_CODES})\b)([A-Z][a-z]\w*)", _snake),
    )
]


def in_python(text):
    """A message without names that only C++ has."""
    refused = _NOT_CAST.fullmatch(text)
    if refused is not None:
        return f"{refused[3]}: expected {_TYPES.get(refused[1], refused[1])}, got {refused[2]}"
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


def _shown(value):
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def reworded_option(error, name, given):
    """The same error of a constructor; `given` are options by name, as the user wrote them."""
    reworded(error)
    refused = re.fullmatch(
        rf"({name}: option '(\w+)': )expected (.*), got (.*)", str(error), re.DOTALL
    )
    if refused is not None and refused[2] in given:
        expected = re.sub(
            r"^none\b|\b(true|false)\b", lambda match: _BOOLEANS[match[0]], refused[3]
        )
        error.args = (f"{refused[1]}expected {expected}, got {_shown(given[refused[2]])}",)
    return error


def call(function, *arguments):
    """Calls what is the library's."""
    try:
        return function(*arguments)
    except REFUSED as error:
        raise reworded(error)
