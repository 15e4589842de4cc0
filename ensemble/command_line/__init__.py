"""The commands of `phistack`, a file for each group of them.

corpora       synthesize, convert, split, pseudonymise, vectors, language-model
engines       demo, train, annotate, explain, rules, patterns, engines
scores        evaluate, compare, agreement, errors, frontier
experiments   ablate, curve, transfer, tune
batch         deidentify, audit, sample

`app` lists and runs them. Options that several commands take are in `options`, those that go
together in `groups`; `examples` end the help; `output` prints. Commands import heavy modules
when they run, so that `phistack --help` is quick.
"""
