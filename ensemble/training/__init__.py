"""From annotated notes to a trained engine: settings, folds, fits in parallel, the cache of their candidates."""
