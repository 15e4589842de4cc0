"""Experiments on a whole engine: what each part brings, how much training text it needs, how far it travels.

    ablation         which submodels, feature groups and stacker features the stack needs, with significance
    learning_curve   the score by the number of training patients
    transfer         trained on each corpus, tested on each

Beside them: `request` turns a command line into corpora and settings, `parts` splits corpora and lets every system
answer, `measuring` counts and compares, `cases` lists who said what, `results` writes a folder in one step, `tables` is
for the screen and LaTeX, `pictures` for the eye.
"""
