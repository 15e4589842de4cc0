"""A certificate: a bound on how much an engine and a policy leave in notes like those on which it was measured.

    certificate = certificate_for(Path("engine"), policy, EngineOptions())     the one in the bundle
    certificate.sentence("balanced")
    "with 95 % confidence at most 0.81 % of a patient's identifiers are left, on average, ..."
    with_certificate(Path("engine"), certificate, Path("certified"))           a new bundle that has it

`ensemble.experiments.certificate` makes one. It names the engine and the policy by digest, and has no text of a note.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from phistack.ensemble.bundles.bundle import write_files
from phistack.ensemble.bundles.files import (
    CARD,
    CERTIFICATES,
    MANIFEST,
    SETTINGS,
    bundle_certificates,
    engine_digest,
    read_bundle,
)
from phistack.ensemble.bundles.model_card import model_card
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import READ, EngineOptions
from phistack.ensemble.evaluation.drift import Profile
from phistack.features.errors import BundleError, SettingsError
from phistack.features.writing import refuse_taken

_LOG = logging.getLogger("phistack")

METHOD = (
    "means by betting (Waudby-Smith and Ramdas 2024), shares of patients by the exact binomial bound (Clopper and "
    "Pearson 1934)"
)
SCHEMA = "phistack.certificate.v1"

Risk = tuple[float, float]
"""The measured value, and its bound."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Upper bounds of four risks, each with the measured value.

    :param share: the mean share of a patient's identifiers that is left.
    :param anything: patients with anything left; `whole`: with an identifier left whole.
    :param notes: the mean share of a patient's notes with anything left.
    """

    identifiers: int
    patients: int
    share: Risk
    anything: Risk
    whole: Risk
    notes: Risk


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """The most that an engine and a policy leave, at each choice of recall.

    :param bundle: digest of the engine; `policy` and `corpus`: their digests.
    :param policy_name: for people.
    :param date: the date of the measurement, in UTC.
    :param bounds: choice of recall -> `all` and `direct` identifiers -> bounds, from the safest choice on.
    :param max_leak: the requested bound on the mean share left; `None` if none was requested.
    :param allowed: the choices of recall that all keep it at once, with the confidence, the safest first.
    :param profiles: choice of recall -> what the notes are like, to compare with those of a run.
    """

    schema: str = SCHEMA
    bundle: str
    policy: str
    policy_name: str
    corpus: str
    notes: int
    date: str
    confidence: float
    method: str = METHOD
    bounds: Mapping[str, Mapping[str, Bounds]]
    max_leak: float | None = None
    allowed: tuple[str, ...] = ()
    profiles: Mapping[str, Profile] = {}

    def objection(self, bundle: Path, policy: Policy, options: EngineOptions) -> str:
        """Why it does not apply to a run, and what to do; empty if it does."""
        reasons = {
            "the certificate is about another engine; name its engine with --model, or certify this one": (
                self.bundle != engine_digest(bundle)
            ),
            "the certificate is about another policy; run with that one, or certify this one": (
                self.policy != policy.digest
            ),
            f"the certificate has no bound for --recall {options.recall}, but for {', '.join(self.bounds)}": (
                options.recall not in self.bounds
            ),
            "a certificate does not hold with --other-languages read, which leaves what no engine reads; run without "
            "one of the two": options.other_languages == READ,
            "a certificate does not hold with --never, which leaves more; run without one of the two": bool(
                options.overruling.never.phrases
            ),
        }
        return next((reason for reason, is_so in reasons.items() if is_so), "")

    def sentence(self, recall: str) -> str:
        """What it says about a run with a choice of recall that it covers."""
        found = self.bounds[recall]["all"]
        # The other figures do not hold for a choice that was made by looking at all of them.
        is_chosen = self.max_leak is not None and recall in self.allowed
        share = self.max_leak if self.max_leak is not None and is_chosen else found.share[1]
        whole = f", and at most {100 * found.whole[1]:.1f} % of patients have one left whole"
        return (
            f"with {100 * self.confidence:g} % confidence at most {100 * share:.2f} % of a patient's identifiers are "
            f"left, on average{'' if is_chosen else whole}, in notes like those of {found.patients:,} patients on "
            f"which it was measured ({self.date})"
        )


def read_certificate(path: Path) -> Certificate:
    """Read a certificate; :raises SettingsError: if the file is not one."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Certificate)
    except OSError as error:
        raise SettingsError(f"the certificate {path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = None
    if found is None or found.schema != SCHEMA:
        raise SettingsError(f"{path} is not a certificate; make one with phistack certify --out FILE")
    return found


def certificates_of(bundle: Path) -> tuple[Certificate, ...]:
    """The certificates in a bundle; :raises BundleError: if it is damaged."""
    try:
        return msgspec.json.decode(bundle_certificates(bundle), type=tuple[Certificate, ...])
    except msgspec.DecodeError:
        raise BundleError(f"the certificates in the bundle {bundle} cannot be read; certify it again") from None


def certificate_for(
    bundle: Path, policy: Policy, options: EngineOptions, given: Path | None = None
) -> Certificate | None:
    """The certificate of a run: that of a file, or one in the bundle.

    :param given: the file; without one, a warning says why no certificate in the bundle applies to the run.
    :raises SettingsError: if the file is not a certificate for this run.
    """
    certificates = certificates_of(bundle) if given is None else (read_certificate(given),)
    found = {certificate.objection(bundle, policy, options): certificate for certificate in certificates}
    if found and "" not in found:
        objection = next(iter(found))
        if given is not None:
            raise SettingsError(objection)
        _LOG.warning("the engine was certified, but not for this run: %s", objection)
    return found.get("")


def with_certificate(bundle: Path, certificate: Certificate, out: Path) -> None:
    """Make a new bundle that also has this certificate, in place of an earlier one for the same policy.

    :raises SettingsError: if there is something at `out`.
    """
    refuse_taken(out)
    manifest, files = read_bundle(bundle)
    others = (other for other in certificates_of(bundle) if other.policy != certificate.policy)
    certificates = (*others, certificate)
    settings = files.text(SETTINGS) if SETTINGS in files else ""
    contents = {name: files.read(name) for name in files.names if name != MANIFEST} | {
        CERTIFICATES: msgspec.json.format(msgspec.json.encode(certificates)),
        CARD: model_card(manifest, settings, certificates).encode(),
    }
    write_files(out, manifest, contents)
