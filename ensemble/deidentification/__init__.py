"""PHI removed from notes, or replaced by surrogates that read as real.

policy = Policy.named("safe-harbor").with_overrides({"DOCTOR": "number"})
deidentifier = Deidentifier(policy, LabelSet.named("i2b2-2014"), "en", key)
result = deidentifier.apply(document, spans)      result.text, result.replacements
verify(document, result)                          raises unless all outside the PHI is unchanged

`kinds` and `policy` decide how each label is treated; `deidentifier` applies this to a note; `verification` proves that
nothing else changed. `surrogates` makes a surrogate for each kind with `names`, `dates`, `codes` and `places`. A
surrogate depends on its `context`: the choices of a key (`keyed_choices`) and the `memory` of the patient. The names
that other packages use are listed in `__init__.pyi` and imported on first use.
"""

from phistack.ensemble.tools.faces import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
