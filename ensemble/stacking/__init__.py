"""Candidates of all submodels, described by named numbers and chosen by a stacking SVM."""
