"""PHI removed from notes, or replaced by surrogates that read as real.

policy = Policy.named("safe-harbor").with_overrides({"DOCTOR": "number"})
deidentifier = Deidentifier(policy, LabelSet.named("i2b2-2014"), "en", key)
result = deidentifier.apply(document, spans)      result.text, result.replacements
verify(document, result)                          raises unless all outside the PHI is unchanged

kinds              the kind of PHI behind the labels of every label set: PERSON, DATE, PHONE, ...
policy             which strategy each label takes; the policies that ship are in `policies/`
strategies         what each strategy makes of a mention
deidentifier       a note and its spans to a new text; `redact`, the policy `tag` in one call
verification       what became of each stretch; the proof that nothing else changed
pseudonymisation   a whole annotated corpus, whose spans move along

keyed_choices      choices that depend on a secret key and the patient, and on nothing else
memory             what is known of a patient: identifiers, names, years
context            what a surrogate may depend on
surrogates         from a kind to the function that makes its surrogates: `names`, `dates`, `codes`, `places`,
                   `word_groups`
word_lists         their words: `words/LANGUAGE.toml`, `places/LANGUAGE.toml`
"""

from phistack.ensemble.deidentification.deidentifier import Deidentifier, redact
from phistack.ensemble.deidentification.keyed_choices import read_key
from phistack.ensemble.deidentification.kinds import KINDS, kind_of
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import REMOVING, STRATEGIES, Policy, PolicyOptions
from phistack.ensemble.deidentification.verification import Deidentified, Replacement, verify

__all__ = [
    "KINDS",
    "REMOVING",
    "STRATEGIES",
    "Deidentified",
    "Deidentifier",
    "PatientMemory",
    "Policy",
    "PolicyOptions",
]
__all__ += ["Replacement", "kind_of", "read_key", "redact", "verify"]
