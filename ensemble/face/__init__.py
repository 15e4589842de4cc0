"""Find and remove PHI in clinical notes: everything that your own program needs, in one place.

    from phistack import Document, load_bundle, redact

    engine = load_bundle(Path("engine"))
    for found in engine.annotate([Document("n1", "Seen by Dr. Birchwood.")]):
        print(redact(found))

notes       `Document` with its `Span`s, `Corpus`, `LabelSet`; `read_corpus`, for tables with `ColumnNames`,
            `write_corpus`, `synthesize`
engines     `EngineSettings` with `FeatureSettings` and `StackerSettings`; `train`, which returns a `Training`;
            `Engine`, with a `Decision` on each `Candidate`; `save_bundle` with the `self_test` of an engine,
            `load_bundle`, also of a `shipped_engine` by its name; `train_bundle`, which trains, scores and saves
scores      `evaluate`, which returns a `Report`; `compare`, which returns a `Comparison`; `agree`, which returns an
            `Agreement` of two annotations; all by a `Resampling`; `out_of_fold_corpora`
PHI out     `redact`; `Deidentifier` with its `Policy` and `PolicyOptions`, which returns a `Deidentified`;
            `PatientMemory`, `read_key`, `verify`; for files of many notes `deidentify` with `RunSettings`, for tables
            with `FormatSettings` of `Columns`, `audit_run`; for an annotated corpus `pseudonymise`, which returns a
            `Pseudonymised`
elsewhere   notes in other programs (`ensemble/adapters`): `redact_batches`, `redact_series`, `redact_examples`,
            `redact_duckdb`, `redact_spark`, `PhiRemover`, `presidio_recognizer`,
            `litellm_guardrail`
errors      `PhistackError` and its kinds: `BundleError`, `CorpusError`, `EvaluationError`, `LabelError`,
            `MissingResourceError`, `OverdueError`, `PackageError`, `SettingsError`, `StorageError`, `TrainingError`,
            `UnsafePatternError`, `VerificationError`

The names and their modules are in `__init__.pyi`. A name is imported when it is first used; this keeps `import
phistack` fast.
"""

from phistack.ensemble.tools.faces import face

__getattr__, __dir__, __all__ = face(__name__, __file__)
