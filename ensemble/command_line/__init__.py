"""The commands of `phistack`, a file for each group of them.

corpora       synthesize, convert, egofy, pseudonymise
engines       demo, train, annotate, explain, rules
scores        evaluate, compare, baseline, errors, frontier
annotation    agreement, causes, reader-test
experiments   ablate, curve, transfer
batch         deidentify, audit

`ensemble.command_line.app` joins them. What several commands take is declared once in `options`, with the names of
`choices`, and what they take together in `groups`; `examples` ends their help; `output` is how they speak. Heavy
imports happen inside the commands, so that `phistack --help` is quick.
"""
