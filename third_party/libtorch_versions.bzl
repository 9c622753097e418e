"""Which versions of LibTorch Tally takes, by port/libtorch_versions.txt.

Starlark and Python alike: tools/ runs this file, too, and tests it.
"""

UNTESTED = "TALLY_LIBTORCH_UNTESTED"

def parse_versions(text):
    """Returns the versions of the file by their names."""
    found = {}
    for line in text.split("\n"):
        words = line.split(" ")
        if len(words) == 2 and not line.startswith("#"):
            found[words[0]] = words[1]
    return found

def minor_of(version):
    """Returns major and minor number, in the form in which they compare."""
    parts = version.split("+")[0].split(".")
    return (int(parts[0]), int(parts[1]))

def version_in(header):
    """Returns the version that torch/headeronly/version.h has, "" if none."""
    found = {}
    for line in header.split("\n"):
        words = line.split(" ")
        if len(words) == 3 and words[1].startswith("TORCH_VERSION_"):
            found[words[1]] = words[2]
    parts = [found.get("TORCH_VERSION_" + part, "") for part in ["MAJOR", "MINOR", "PATCH"]]
    return ".".join(parts) if all(parts) else ""

def supported(versions):
    """Returns the range in words."""
    return "{} to {}".format(versions["oldest"], versions["newest"])

def is_supported(version, versions):
    return minor_of(versions["oldest"]) <= minor_of(version) and minor_of(version) <= minor_of(versions["newest"])

def refusal(version, where, versions, untested):
    """Returns why a version is not taken, "" if it is.

    Args:
      version: that was found, "" for one so old that it does not say.
      where: the folder, and how it was found.
      versions: as parse_versions returns them.
      untested: whether a newer version is taken as well.
    """
    if not version:
        version = "before 2.9"
    elif is_supported(version, versions):
        return ""
    elif minor_of(version) > minor_of(versions["newest"]):
        if untested:
            return ""
        return "{} is LibTorch {}, and Tally was tested with {}: set {}=1 to try it, or LIBTORCH to the folder of another.".format(where, version, supported(versions), UNTESTED)
    return "{} is LibTorch {}, and Tally takes {}: set LIBTORCH to the folder of another.".format(where, version, supported(versions))

def standard_of(version, versions):
    """Returns the compiler's option for the C++ that LibTorch's headers need."""
    return "-std=c++17" if minor_of(version) < minor_of(versions["cxx20"]) else "-std=c++20"

def python_of(version, versions):
    """Returns the oldest Python that has this torch."""
    return "3.10" if minor_of(version) < minor_of(versions["python311"]) else "3.11"
