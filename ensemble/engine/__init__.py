"""A trained engine, and the steps that a note takes through it.

engine      Engine: the trained parts and the options; `read`, `annotate`, `decide`; EnginesByLanguage
options     EngineOptions: what a user asks of an engine; the same for every command and for Python
reading     Reading: what became of a note; Batch: some notes under way
steps       the steps, in order: gate, pieces, propose, decide, repeats, rules, other engines, roster, lists
"""

from phistack.ensemble.engine.engine import Engine, EnginesByLanguage
from phistack.ensemble.engine.options import HOLD, OTHER_LANGUAGES, READ, REPLACE, EngineOptions
from phistack.ensemble.engine.reading import Reading

__all__ = ["HOLD", "OTHER_LANGUAGES", "READ", "REPLACE", "Engine", "EngineOptions", "EnginesByLanguage", "Reading"]
