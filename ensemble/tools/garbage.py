"""The garbage collector in a process that loads much, keeps all of it and makes little garbage.

engine = load_bundle(path)
keep_all()      what is in memory now is never looked through again, and what is new seldom
"""

from __future__ import annotations

import gc

_YOUNG = 50_000
"""New objects until they are looked through; a batch of notes makes more, and nearly all go by themselves."""


def keep_all() -> None:
    """Leave all objects that there are out of later collections, as what was loaded stays until the process ends.

    Python's collector looks for circles of objects again and again; those of an engine take it a tenth of a second.
    Only for processes that are ours: a program that uses phistack as a library has garbage of its own.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
