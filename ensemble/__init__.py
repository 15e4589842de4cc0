"""The stacked ensemble: pooled candidates, the stacking SVM, bundles, evaluation, redaction, the command line."""
