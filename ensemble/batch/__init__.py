"""De-identification of many notes at once: nothing lost, nothing leaked, resumed after any interruption.

summary = deidentify(RunSettings(source, target, bundle, Policy.named("safe-harbor")))

settings      what a run is asked to do; `commands` is between it and the command line
rows          of any input and its output; `columns` says what becomes of each column of a table
sample        a few notes from the beginning, by which the engine may be chosen
chunks        rows that are handled together
workers       processes of this machine, this process, or a Dask cluster, in a `pool`; `work` is what one does with a
              `job`, `leak_search` what it does with an output, `isolation` is for notes under suspicion
journal       which chunks are done, in SQLite; `store` keeps their files, `lock` keeps others out
runner        a run from start to end; `output_check` reads its output again, `publishing` puts it in its place
reports       what a run says of itself: `audit`, `summary`, its page, and a few words on the terminal
"""

from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.commands import audit_run
from phistack.ensemble.batch.continuing import kept
from phistack.ensemble.batch.reports.summary import Summary, notices
from phistack.ensemble.batch.rows import FormatSettings
from phistack.ensemble.batch.runner import deidentify
from phistack.ensemble.batch.sample import first_texts
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
