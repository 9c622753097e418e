"""Texts that a function of Python splits into tokens."""

from tally._metric import Metric


def _tokenized(value, function):
    """Each text of an input, with its tokens separated by spaces in each line."""
    if isinstance(value, str):
        return "\n".join(_line(function(line)) for line in value.split("\n"))
    if isinstance(value, (list, tuple)):
        return [_tokenized(item, function) for item in value]
    return value  # what else it is, the library refuses


def _line(tokens):
    if isinstance(tokens, str):
        raise TypeError("tokenizer: expected a list of tokens, got a str")
    tokens = list(tokens)
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(
                f"tokenizer: expected tokens of type str, got {type(token).__name__}"
            )
        if any(c.isspace() for c in token):
            raise ValueError(f"tokenizer: expected tokens without white space, got {token!r}")
    return " ".join(token for token in tokens if token)


class Tokenized(Metric):
    """A metric of texts whose ``tokenizer`` may be a function: of a line, its tokens."""

    _function = None

    def __init__(self, *args, **kwargs):
        function = kwargs.get("tokenizer")
        if callable(function):
            kwargs["tokenizer"] = "whitespace"
        else:
            function = None
        super().__init__(*args, **kwargs)
        self.__dict__["_function"] = function

    def update(self, *inputs, **named):
        return super().update(*self._split(inputs), **self._split_named(named))

    def forward(self, *inputs, **named):
        return super().forward(*self._split(inputs), **self._split_named(named))

    def _split(self, inputs):
        if self._function is None:
            return inputs
        return [_tokenized(value, self._function) for value in inputs]

    def _split_named(self, named):
        if self._function is None:
            return named
        return {name: _tokenized(value, self._function) for name, value in named.items()}

    def _lend(self):
        if self._function is not None:
            raise ValueError(
                f"{type(self).__name__} with a function as tokenizer cannot be inside of "
                "another object, which would not call it; give it tokenizer=\"whitespace\" "
                "and texts that are tokenized"
            )
        return super()._lend()

    def registry_text(self):
        self._lend()
        return super().registry_text()
