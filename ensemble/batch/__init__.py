"""De-identification of many notes at once: nothing lost, nothing leaked, resumed after any interruption.

summary = deidentify(RunSettings(source, target, bundle, Policy.named("safe-harbor")))

settings      what a run is asked to do; `commands` is between it and the command line
rows          rows of any input; `json_lines`, `csv_rows`, `parquet`, `note_files` read and write them; `forms` chooses
columns       what becomes of each column of a table
source        whether an input was changed; `note_folder` says what is in a folder, `line_reader` reads lines
chunks        rows that are handled together
work          what a worker does with a chunk; `detector`, `words`, `told` serve it
search        what a worker does with an output, by the hashes of a `register`
workers       processes of this machine, this process, or a Dask cluster; `alone` is one for notes under suspicion
reasons       why a note is held back though nothing is wrong with its form
journal       which chunks are done, in SQLite; `store` keeps their files, `lock` keeps others out
runner        a run from start to end; `checking` reads its output again, `publishing` puts it in its place
reports       what a run tells of itself; `audit`, `summary_page`, and `account` on the terminal
"""

from ensemble.batch.commands import audit_run, deidentify_files
from ensemble.batch.formats.columns import Columns
from ensemble.batch.formats.rows import FormatSettings
from ensemble.batch.reports.report import notices
from ensemble.batch.runner import deidentify
from ensemble.batch.settings import RunSettings

__all__ = ["Columns", "FormatSettings", "RunSettings", "audit_run", "deidentify", "deidentify_files", "notices"]
