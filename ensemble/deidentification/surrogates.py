"""stub"""
from __future__ import annotations
from dataclasses import dataclass
from ensemble.deidentification.keyed import Keyed
from ensemble.deidentification.memory import PatientMemory
from ensemble.deidentification.policy import PolicyOptions
from ensemble.deidentification.words import LANGUAGES
__all__ = ["LANGUAGES", "Context", "surrogate"]
@dataclass(frozen=True, slots=True)
class Context:
    keyed: Keyed | None
    language: str
    options: PolicyOptions
    memory: PatientMemory
def surrogate(kind: str, mention: str, context: Context) -> str | None:
    return None
