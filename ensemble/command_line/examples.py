"""Lines to copy for each command, at least two, shown at the end of its `--help`.

    epilog(EXAMPLES["audit"])     "Examples:" and the lines of the command

A line has at most 76 characters, so that it fits a narrow terminal. A test gives each line to the parser of its
command, and refuses a command without examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

EXAMPLES: dict[str, list[str]] = {}
"""Command -> its lines."""

for _line in """
phistack demo
phistack demo --out shown --documents 60 --jobs 4
phistack synthesize notes --documents 40 --seed 1
phistack synthesize notes.jsonl --language de --registers all
phistack convert notes.csv notes.jsonl --id-column note_id
phistack convert meddocan renamed --to brat --map-labels nut
phistack split notes parts --seed 1
phistack split notes.jsonl parts --by document --stratify
phistack split notes parts --parts train=80,test=20
phistack pseudonymise notes shared --policy trienes2020 --key-file key
phistack pseudonymise sv.jsonl out.jsonl --policy dalianis2019 --seed 1
phistack pseudonymise notes out --policy substitute --substitute CITY=X-TOWN
phistack fill scrubbed filled
phistack fill NOTEEVENTS.csv filled.jsonl --style mimic-iii --seed 1
phistack fill scrubbed filled --style mine.toml --unfilled left.tsv
phistack language-model notes-without-spans models
phistack language-model notes.jsonl models --size 512 --epochs 20
phistack vectors notes-without-spans words
phistack vectors notes.jsonl words --size 200 --clusters 1000
phistack engines
phistack engines english
phistack engines --json engines.json
phistack train notes --model engine --jobs 4
phistack train notes --model quick --submodels regex,tbed,crf --folds 3
phistack train ours --model engine --add theirs
phistack train ours --model engine --max-leak 0.01 --calibration held-out
phistack annotate notes found
phistack annotate new-notes annotated --model engine --to brat
phistack annotate notes.csv found.csv --model engine --text-column body
phistack annotate notes found --model engine --always ours --never drugs
phistack patterns check numbers.toml
phistack patterns check numbers.toml --on notes --text
phistack evaluate gold annotated --json scores.json
phistack evaluate gold annotated --allow-missing
phistack compare gold system-a system-b --criterion spans
phistack compare gold a b c --json differences.json --latex table.tex
phistack errors gold --model engine
phistack errors gold --model engine --json all.json --html errors.html
phistack agreement annotator-1 annotator-2 --sheet to-see.csv
phistack agreement a b --json agreement.json --latex table.tex
phistack check-labels notes to-check.tsv
phistack check-labels notes to-check.tsv --submodels regex,tbed,crf --text
phistack explain note.txt --model english
phistack explain notes --model engine --text --html why.html
phistack inspect engine --for notes
phistack inspect english --for notes --json counts.json
phistack review notes
phistack review notes --model engine --order random --blind
phistack review notes --export gold.jsonl
phistack review notes --merge anna.review --merge ben.review
phistack rules engine --score more-notes
phistack rules engine --use edited.txt --out better-engine
phistack ablate notes --out ablation --jobs 4
phistack ablate train --out ablation --test dev --groups
phistack curve notes --out curve --shares 25,50,75,100 --samples 5
phistack curve train --out curve --test dev --submodels regex,crf
phistack curve notes --out c --by sentences --samples 3 --runs 3 --no-stack
phistack transfer ward-a ward-b --out transfer
phistack transfer i2b2 meddocan --out transfer --map-labels nut
phistack transfer ward-a ward-b ward-c --out transfer --pooled
phistack tune notes --submodel crf --space space.toml --out tuning
phistack tune notes --submodel crf --space trienes2020 --out t --trials 50
phistack certify notes --model engine --policy safe-harbor
phistack certify notes --second as-ann-marked-them --model engine
phistack certify notes --model engine --max-leak 0.01 --into certified
phistack frontier notes --model engine
phistack frontier notes --model engine --out speed --repetitions 5
phistack deidentify notes clean
phistack deidentify notes.csv clean.csv --model engine --column dob=DATE
phistack deidentify notes clean --model engine --policy safe-harbor --jobs 4
phistack deidentify visits.csv clean.csv --config release.toml --jobs 8
phistack deidentify notes clean --model engine --known roster.csv
phistack audit clean.jsonl
phistack audit clean.jsonl --key-file secret.key
phistack attack clean
phistack attack clean.jsonl --text --jobs 4
phistack sample clean --notes 50
phistack sample clean.jsonl --notes 100 --list to-read.tsv
phistack sample archive --to to-annotate --max-leak 0.01
""".strip().splitlines():
    EXAMPLES.setdefault(_line.split()[1], []).append(_line)


_Command = TypeVar("_Command", bound=Callable[..., None])


def with_examples(*lines: str) -> Callable[[_Command], _Command]:
    """Let a command of another package have examples at the end of its help."""

    def add(command: _Command) -> _Command:
        command.examples = lines  # type: ignore[attr-defined]
        return command

    return add


def epilog(examples: Sequence[str]) -> str:
    """The examples of a command as the end of its help; the mark `\\b` keeps the lines as they are."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in examples)]) if examples else ""
