"""Speed against recall, for every subset of an engine's submodels.

    results = measure_frontier(corpus, Path("engine"))      a row for each subset: notes per second, recall, F1
    write_frontier(Path("out"), corpus, Path("engine"))     the same as results.json, frontier.png and frontier.svg
    best_within(300.0, training, corpus.documents)          the subset with the best F1 of those that are fast enough

`speed` measures one subset in a fresh process on one core, `measuring` all of them with their scores, `budget` chooses
one, `presentation` is for the screen and the eye.
"""
