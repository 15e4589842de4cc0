"""A certificate: at most how much an engine and a policy leave in notes like those on which it was measured.

    certificate = read_certificate(Path("certificate.json"))
    certificate.sentence(Path("engine"), policy, EngineOptions())
    "with 95 % confidence at most 0.81 % of a patient's identifiers are left, on average, ..."

`ensemble.experiments.certificate` makes one. It names the bundle and the policy by digest, and has no text of a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from phistack.ensemble.bundles.files import manifest_digest
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import READ, EngineOptions
from phistack.features.errors import SettingsError

SCHEMA = "phistack.certificate.v1"

Risk = tuple[float, float]
"""What was found, and its bound."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Upper bounds of four risks, each with what was found.

    :param share: the mean share of a patient's identifiers that is left.
    :param anything: patients with anything left; `whole`: with an identifier left whole.
    :param notes: the mean share of a patient's notes with anything left.
    :param others: `share` by other inequalities, for comparison.
    """

    identifiers: int
    patients: int
    share: Risk
    anything: Risk
    whole: Risk
    notes: Risk
    others: Mapping[str, float]


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine and a policy leave at most, at each choice of recall.

    :param bundle: digest of the engine; `policy` and `corpus`: likewise.
    :param date: of the measurement, in UTC.
    :param bounds: choice of recall -> `all` and `direct` identifiers -> bounds, from the safest choice on.
    :param max_leak: the bound that was wished for the mean share left; `None` for no wish.
    :param allowed: the choices of recall that keep it, all at once, with the confidence, from the safest on.
    """

    schema: str = SCHEMA
    bundle: str
    policy: str
    corpus: str
    notes: int
    date: str
    confidence: float
    bounds: Mapping[str, Mapping[str, Bounds]]
    max_leak: float | None = None
    allowed: tuple[str, ...] = ()

    def sentence(self, bundle: Path, policy: Policy, options: EngineOptions) -> str:
        """What it says of a run; :raises SettingsError: if it is not about such a run."""
        if self.bundle != manifest_digest(bundle):
            raise SettingsError(
                "the certificate is about another engine; name its engine with --model, or certify this one"
            )
        if self.policy != policy.digest:
            raise SettingsError("the certificate is about another policy; run with that one, or certify this one")
        if options.recall not in self.bounds:
            raise SettingsError(
                f"the certificate has no bound for --recall {options.recall}, but for {', '.join(self.bounds)}"
            )
        if options.other_languages == READ:
            raise SettingsError(
                "a certificate does not hold with --other-languages read, which leaves what no engine reads; run "
                "without one of the two"
            )
        if options.overruling.never.phrases:
            raise SettingsError(
                "a certificate does not hold with --never, which leaves more; run without one of the two"
            )
        found = self.bounds[options.recall]["all"]
        return (
            f"with {100 * self.confidence:g} % confidence at most {100 * found.share[1]:.2f} % of a patient's "
            f"identifiers are left, on average, and at most {100 * found.whole[1]:.1f} % of patients have one left "
            f"whole, in notes like those of {found.patients:,} patients on which it was measured ({self.date})"
        )


def read_certificate(path: Path) -> Certificate:
    """Read a certificate; :raises SettingsError: if the file is none."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Certificate)
    except OSError as error:
        raise SettingsError(f"the certificate {path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = None
    if found is None or found.schema != SCHEMA:
        raise SettingsError(f"{path} is not a certificate; make one with phistack certify --out FILE")
    return found
