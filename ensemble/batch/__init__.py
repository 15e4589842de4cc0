"""De-identification of many notes at once: nothing lost, nothing leaked, resumed after any interruption.

summary = deidentify(RunSettings(source, target, bundle, Policy.named("safe-harbor")))

settings      what a run is asked to do
rows          of any input and its output; `columns` says how each column of a table is treated
chunks        rows that are handled together, and the first few, which may decide the engine
workers       processes of this machine, this process, or a Dask cluster, in a `pool`; `work` is what one does with a
              `job`, `identifier_register` searches outputs for leaks, `isolation` is for notes under suspicion
journal       which chunks are done, in SQLite; `store` keeps their files and reads the output again
runner        a run from start to end; `run_folder` puts its output in its place, keeps other runs out and knows what an
              earlier start left
sampling      notes of a finished run for a person to read
attack        a finished run as an attacker reads it
reports       what a run says of itself: `audit`, `summary`, and `shown_summary` on the terminal and as a page;
              `shown_attack` likewise
"""

from phistack.ensemble.batch.chunks import first_texts
from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.reports.audit import audit_run
from phistack.ensemble.batch.reports.summary import Summary, notices
from phistack.ensemble.batch.rows import FormatSettings
from phistack.ensemble.batch.run_folder import kept
from phistack.ensemble.batch.runner import deidentify
from phistack.ensemble.batch.settings import RunSettings

__all__ = [
    "Columns",
    "FormatSettings",
    "RunSettings",
    "Summary",
    "audit_run",
    "deidentify",
    "first_texts",
    "kept",
    "notices",
]
