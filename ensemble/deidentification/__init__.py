"""PHI taken out of notes, or changed for surrogates that read as real.

    policy = Policy.named("safe-harbor").with_overrides({"DOCTOR": "number"})
    deidentifier = Deidentifier(policy, LabelSet.named("i2b2-2014"), "en", key)
    result = deidentifier.apply(document, spans)      result.text, result.replacements
    verify(document, result)                          raises unless all outside the PHI is unchanged

    kinds          the kind of PHI behind the labels of every label set: PERSON, DATE, PHONE, ...
    policy         which strategy each label takes; ready policies in `policies/NAME.toml`
    keyed          choices that depend on a secret key and the patient, and on nothing else
    memory         what is known of a patient: identifiers and, in a `name_index`, names
    strategies     tag, number, mask, remove, keep, generalise
    deidentifier   a note and its spans to a new text
    verification   what became of each stretch; the proof that nothing else changed
    pseudonymisation    the same for a whole annotated corpus, whose spans move along
    redaction      the policy `tag` in one call
    surrogates     from a kind to the module that makes its surrogates, and what no surrogate may be
    context        what a surrogate may depend on

Surrogates: `names` (with `name_forms`, `name_tables`), `date_shift` (with `dates`, `date_patterns`), `ages`,
`contacts`, `identifiers`, `addresses`, `places`, `organisations`, `professions`, all with `letters` and `patterns`.
Their words are tables: `words/LANGUAGE.toml`, `places/LANGUAGE.toml`.
"""

from phistack.ensemble.deidentification.deidentifier import Deidentifier
from phistack.ensemble.deidentification.keyed_choices import read_key
from phistack.ensemble.deidentification.kinds import KINDS, kind_of
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import REMOVING, STRATEGIES, Policy, PolicyOptions
from phistack.ensemble.deidentification.redaction import redact
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
    "Replacement",
    "kind_of",
    "read_key",
    "redact",
    "verify",
]
