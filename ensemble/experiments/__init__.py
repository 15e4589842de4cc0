"""Experiments on a whole engine: what each part brings, how much training text it needs, how far it travels.

    ablation         which submodels, feature groups and stacker features the stack needs, with significance
    learning_curve   the score by the number of training patients or sentences
    transfer         trained on each corpus, tested on each
    tuning           random search for the settings of a submodel
    reproduction     the tables of a paper from its system
    frontier         speed and scores of every subset of the submodels
    errors           the wrong decisions of a stack by kind, and the other ways to choose from its candidates

Each gives results: figures for JSON, tables, and how they came about; `write_results` makes a folder of those that have
pictures. Beside them: `parts` lets every system answer and scores it, `variants` is what ablation is made of, `samples`
and `curves` what the learning curve is, `chooser_scores` and `error_tables` what the errors are shown by, `cases` lists
who said what, `speed` measures, `budget` chooses submodels, `pictures` draws.
"""
