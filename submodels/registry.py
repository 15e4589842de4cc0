"""The kinds of submodels: ours, and those of installed packages.

    usual_names()            ("regex", "tbed", "crf", "blstm", ...), without importing them
    newest("crf")            "crf.v1"
    usual_name("crf.v1")     "crf"

A kind has a versioned name, which bundles contain; without the version it is the usual name of its submodels. Other
packages add kinds by entry points `name.v1` in the group `phistack.submodels` (`features.registry`).
"""

from __future__ import annotations

import re

from phistack.features.errors import PackageError, no_such
from phistack.features.registry import Registry, refuse_two

KINDS = Registry(
    "phistack.submodels",
    "submodel kind",
    {
        "regex.v1": "phistack.submodels.regex.submodel:RegexSubmodel",
        "tbed.v1": "phistack.submodels.tbed.submodel:TbedSubmodel",
        "crf.v1": "phistack.submodels.crf.submodel:CrfSubmodel",
        "blstm.v1": "phistack.submodels.blstm.submodel:BlstmSubmodel",
        "engine.v1": "phistack.ensemble.bundles.engine_submodel:EngineSubmodel",
    },
)
# A table, not entry points of our own package: those are written only on installation, so a checkout updated without
# reinstalling would lack kinds.

_KIND = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)\.v[0-9]+")


def usual_name(kind: str) -> str:
    """The name of a kind without its version; empty for any other name."""
    match = _KIND.fullmatch(kind)
    return match["name"] if match else ""


SUBMODELS = ("regex", "tbed", "crf", "blstm")
"""The default submodels of an engine."""


def usual_names() -> tuple[str, ...]:
    """The usual names of all kinds, ours first."""
    return tuple(dict.fromkeys(filter(None, map(usual_name, KINDS.names))))


def newest(name: str) -> str:
    """The newest version of a kind, by its usual name; a versioned name is returned unchanged.

    All versions must be of one package, so no other package can replace a kind by a higher number.

    :raises PackageError: if no installed package has such a kind, or more than one.
    """
    if name in KINDS.names and not usual_name(name):
        raise PackageError(f"the submodel kind {name} of {KINDS.packages(name)[0]} has no version, as {name}.v1 has")
    usual = usual_name(name) or name
    versions = [kind for kind in KINDS.names if usual_name(kind) == usual]
    if name != usual and name not in versions:
        raise KINDS.missing(name)
    if not versions:
        raise PackageError(
            f"{no_such('submodel', name, usual_names())}; a submodel with a new name needs a kind in its settings, and "
            f"a kind of another package needs that package installed"
        )
    refuse_two(KINDS.what, usual, {package for kind in versions for package in KINDS.packages(kind)})
    return name if name != usual else max(versions, key=lambda kind: int(kind.rpartition(".v")[2]))
