"""Writes the Unicode tables of the text metrics, and what tests compare with.

Usage: unicode_tables.py [--check]

Reads ICU 72 (Unicode 15.0), Debian 12's libicu72, through its C functions. The
tables go to metrics/text/kernels/unicode_tables.cc, digests over all code
points to tests/reference/data/text/unicode.json. With --check both are compared
instead.
"""

import ctypes
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ROOT / "metrics/text/kernels/unicode_tables.cc"
DIGESTS = ROOT / "tests/reference/data/text/unicode.json"

CODE_POINTS = range(0x110000)

ICU = ctypes.CDLL("libicuuc.so.72")
ICU.u_charType_72.restype = ctypes.c_int8
ICU.u_isspace_72.restype = ctypes.c_int8
ICU.u_hasBinaryProperty_72.restype = ctypes.c_int8

# UCharCategory in the order of CharClass: others, L, N, P, S, M.
CLASSES = [(), range(1, 6), range(9, 12), (*range(19, 24), 28, 29),
           range(24, 28), range(6, 9)]
# UProperty.
CASED, CASE_IGNORABLE = 49, 50
COMBINING_CLASS, NFKC_QUICK_CHECK = 0x1002, 0x100F
# UCharCategory of decimal digits, whose code points stand in tens.
DECIMAL_DIGIT = 9


def char_class(point):
    category = ICU.u_charType_72(point)
    return next((i for i, members in enumerate(CLASSES) if category in members),
                0)


def is_space(point):
    return int(ICU.u_isspace_72(point) != 0)


def has(point, prop):
    return int(ICU.u_hasBinaryProperty_72(point, prop) != 0)


def is_decimal_digit(point):
    return int(ICU.u_charType_72(point) == DECIMAL_DIGIT)


def normal_form(point):
    """Twice the canonical combining class, + 1 if NFKC may not have it."""
    stays = ICU.u_getIntPropertyValue_72(point, NFKC_QUICK_CHECK) == 1
    return 2 * ICU.u_getIntPropertyValue_72(point, COMBINING_CLASS) + \
        (0 if stays else 1)


def lower(text):
    """The text in lower case, of no language, as ICU has it."""
    source = text.encode("utf-16-le")
    room = len(source) + 16
    target = ctypes.create_string_buffer(2 * room)
    error = ctypes.c_int(0)
    length = ICU.u_strToLower_72(target, room, source, len(source) // 2, b"",
                                 ctypes.byref(error))
    assert error.value <= 0, error.value
    return target.raw[:2 * length].decode("utf-16-le")


def is_surrogate(point):
    return 0xD800 <= point < 0xE000


def runs(values):
    """(length, value) of equal neighbors."""
    found = []
    for value in values:
        if found and found[-1][1] == value:
            found[-1][0] += 1
        else:
            found.append([1, value])
    return found


def lower_ranges():
    """[first, last, step, distance to the lower case] of code points."""
    found = []
    for point in CODE_POINTS:
        if is_surrogate(point):
            continue
        small = lower(chr(point))
        if small == chr(point) or len(small) != 1:
            continue
        distance = ord(small) - point
        if found and found[-1][3] == distance:
            gap = point - found[-1][1]
            if found[-1][2] in (0, gap) and gap <= 2:
                found[-1][1:3] = [point, gap]
                continue
        found.append([point, point, 0, distance])
    return [[first, last, step or 1, distance]
            for first, last, step, distance in found]


def decimal_digits():
    points = [point for point in CODE_POINTS if is_decimal_digit(point)]
    starts = points[::10]
    assert points == [start + i for start in starts for i in range(10)]
    return starts


def wrapped(items):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 80:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def array(words, kind, name, items):
    return (f"{words}\nconst {kind} {name}[] = {{\n{wrapped(items)}\n}};\n"
            f"const std::size_t {name}Size = std::size({name});\n")


def tables():
    classes = runs(map(char_class, CODE_POINTS))
    flags = runs(has(point, CASED) + 2 * has(point, CASE_IGNORABLE)
                 for point in CODE_POINTS)
    return "\n".join([
        "// Written by tools/unicode_tables.py from ICU 72 (Unicode 15.0).\n"
        '#include "tally/metrics/text/kernels/unicode_tables.h"\n\n'
        "#include <iterator>\n\n"
        "namespace tally::internal::text {\n\n// clang-format off\n",
        array("// 8 * length + CharClass.", "std::uint32_t", "kClassRuns",
              [str(8 * length + value) for length, value in classes]),
        array("// 4 * length + 1 if cased + 2 if ignored by casing.",
              "std::uint32_t", "kCaseRuns",
              [str(4 * length + value) for length, value in flags]),
        array("// 512 * length + 2 * combining class + 1 if NFKC may change it.",
              "std::uint32_t", "kNormalRuns",
              [str(512 * length + value) for length, value in
               runs(map(normal_form, CODE_POINTS))]),
        array("// Where ten decimal digits start.", "std::uint32_t",
              "kDecimalDigits", map(str, decimal_digits())),
        array("// First, last, step, distance to the lower case.",
              "LowerRange", "kLowerRanges",
              ["{" + ", ".join(map(str, row)) + "}" for row in lower_ranges()]),
        "// clang-format on\n\n}  // namespace tally::internal::text\n",
    ])


def digest(values):
    """FNV-1a of 32-bit numbers."""
    state = 0xCBF29CE484222325
    for value in values:
        state = (state ^ value) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return str(state)


def digests():
    lowered = (point for c in CODE_POINTS if not is_surrogate(c)
               for point in map(ord, lower(chr(c)) + "\0"))
    final_sigmas = (at for c in map(chr, CODE_POINTS)
                    if not is_surrogate(ord(c))
                    for at, found in enumerate(lower(f"{c}Σ aΣ{c} aΣ{c}b a{c}Σ"))
                    if found == "ς")
    return json.dumps({
        "source": "ICU 72 (Unicode 15.0)",
        "char_class": digest(map(char_class, CODE_POINTS)),
        "is_space": digest(map(is_space, CODE_POINTS)),
        "is_decimal_digit": digest(map(is_decimal_digit, CODE_POINTS)),
        "normal_form": digest(map(normal_form, CODE_POINTS)),
        "lower": digest(lowered),
        "final_sigmas": digest(final_sigmas),
    }, indent=1) + "\n"


def main():
    stale = 0
    for path, text in ((TABLES, tables()), (DIGESTS, digests())):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is stale", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
