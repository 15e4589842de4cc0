"""Calls in parallel processes, some of which wait for what others return."""

from collections.abc import Callable, Iterator
from functools import partial
from operator import add

import pytest

from phistack.ensemble.tools.processes import in_processes


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_call_may_wait_for_what_another_returns(jobs: int) -> None:
    found: list[int] = []

    def calls() -> Iterator[Callable[[], int] | None]:
        yield partial(add, 1, 2)
        while 3 not in found:
            yield None
        yield partial(add, found[found.index(3)], 4)
        yield partial(add, 5, 6)

    for result in in_processes(calls(), jobs=jobs):
        found.append(result)
    assert sorted(found) == [3, 7, 11]


def test_results_come_in_the_order_of_the_calls_where_that_is_asked() -> None:
    assert list(in_processes([partial(add, n, n) for n in range(9)], jobs=2, in_order=True)) == [*range(0, 18, 2)]
