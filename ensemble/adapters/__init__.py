"""De-identification inside other libraries, each by its own conventions, all with one core.

core                texts in, results out, as `phistack deidentify` makes them
arrow               batches of record batches; all else that has columns can be had as these
tables              pandas, polars, `datasets`, DuckDB
spark               frames of Spark
transformer         scikit-learn
spans               what was found, for libraries that mark: Presidio
spacy_component     spaCy
gateway             LiteLLM: what goes to a language model is masked, and the answer unmasked
"""
