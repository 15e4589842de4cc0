"""PHI removed from notes, or replaced by surrogates that read as real.

policy = Policy.named("safe-harbor").with_overrides({"DOCTOR": "number"})
deidentifier = Deidentifier(policy, LabelSet.named("i2b2-2014"), "en", key)
result = deidentifier.apply(document, spans)      result.text, result.replacements
verify(document, result)                          raises unless all outside the PHI is unchanged

`kinds`, `policy` and `strategies` say what becomes of each label; `deidentifier` and `pseudonymisation` apply it to a
note or a corpus; `verification` proves that nothing else changed. `surrogates` has a function for each kind, in `names`,
`dates`, `codes`, `places` and `word_groups`, which depend on a `context`: `keyed_choices`, and the patient's `memory`.
"""

from phistack.ensemble.deidentification.deidentifier import Deidentifier, redact
from phistack.ensemble.deidentification.keyed_choices import read_key
from phistack.ensemble.deidentification.kinds import KINDS, kind_of
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import REMOVING, STRATEGIES, Policy, PolicyOptions
from phistack.ensemble.deidentification.verification import Deidentified, Replacement, verify

__all__ = ["KINDS", "REMOVING", "STRATEGIES", "Deidentified", "Deidentifier", "PatientMemory", "Policy"]
__all__ += ["PolicyOptions", "Replacement", "kind_of", "read_key", "redact", "verify"]
