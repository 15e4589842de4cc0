"""The commands of `phistack`, a file for each group of them.

corpora       synthesize, convert, egofy, pseudonymise, vectors, language-model
splitting     split
engines       demo, train, annotate, explain, rules
shipped       engines
patterns      patterns
scores        evaluate, compare, baseline, errors, frontier
annotation    agreement, causes, reader-test
experiments   ablate, curve, transfer, tune, reproduce
batch         deidentify, audit

`app` lists them and runs them by way of `wrapper`. Options that several commands take are in `options`, those that go
together in `groups`, their names in `choices`; `examples` end the help; `output` prints. Commands import heavy modules
when they run, so that `phistack --help` is quick.
"""
