"""Clusters that do the work of a run: Dask, and Spark, classic or by Spark Connect.

    cluster = connected(spark="local[2]")         None without an address: then processes of this machine do it
    cluster.slots()                               2: how many chunks it does at once
    with cluster.executor() as executor: ...      for the same functions as a pool of processes

On Spark each chunk is a job of one task. Its rows, and all else that the worker needs, are the only cell of a frame, so
nothing is broadcast. Its answer is a cell too: no exception of a note reaches Spark, which would log it.
"""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from phistack.ensemble.batch.workers.isolation import SECONDS_TO_START
from phistack.features.errors import MissingResourceError, PhistackError, SettingsError, need, place_of

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_SECONDS_TO_CONNECT = 20
CHUNKS_PER_SLOT = 2
"""How many chunks each slot is given at a time, so that none waits."""
_CELL = "work"


class Cluster(ABC):
    """Processes of other machines.

    :cvar lost: what the future of a call raises if its worker died.
    """

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    @abstractmethod
    def slots(self) -> int:
        """How many chunks it does at once."""

    @abstractmethod
    def executor(self) -> Executor:
        """The executor that takes the calls; :raises MissingResourceError: if the cluster is gone."""

    @abstractmethod
    def close(self) -> None:
        """Leave the cluster."""


def connected(dask: str = "", spark: str = "") -> Cluster | None:
    """The cluster at an address.

    :param dask: the address of a scheduler, `tcp://HOST:PORT`.
    :param spark: a master, such as `local[2]` or `spark://HOST:PORT`, or `sc://HOST:PORT` of Spark Connect.
    :raises SettingsError: if both are given.
    :raises MissingResourceError: if it does not answer, or its library is not installed.
    """
    if dask and spark:
        raise SettingsError("--cluster and --spark both say who does the work; give one of them")
    return DaskCluster(dask) if dask else SparkCluster(spark) if spark else None


class DaskCluster(Cluster):
    """A Dask cluster."""

    def __init__(self, address: str) -> None:
        need("distributed", "cluster", "a cluster")
        from distributed import Client, KilledWorker

        try:
            self._client: Any = Client(  # type: ignore[no-untyped-call]
                address, timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError):
            raise MissingResourceError(f"no Dask scheduler answers at {address}") from None
        self.lost = (BrokenExecutor, KilledWorker)
        begin = time.monotonic()
        while not self.slots():
            if time.monotonic() - begin > SECONDS_TO_START:
                self.close()
                raise MissingResourceError(f"the Dask scheduler at {address} has no workers")
            time.sleep(0.2)

    def slots(self) -> int:
        """The threads of all workers."""
        return sum(int(n) for n in self._client.nthreads().values())

    def executor(self) -> Executor:
        executor: Executor = self._client.get_executor(pure=False)
        return executor

    def close(self) -> None:
        self._client.close()


class SparkCluster(Cluster):
    """Spark; a session that exists already is used and left open."""

    def __init__(self, master: str) -> None:
        need("pyspark", "spark", "a run on Spark")
        from pyspark.sql import SparkSession

        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._master, self._is_own = master, SparkSession.getActiveSession() is None
        named = SparkSession.builder.appName("phistack")
        quiet = named.config("spark.ui.showConsoleProgress", "false")
        try:
            self._session: Any = (named.remote(master) if "sc://" in master else quiet.master(master)).getOrCreate()
        except Exception as error:  # The errors of pyspark, py4j and grpc have no common base.
            raise MissingResourceError(f"no Spark answers at {master} ({type(error).__name__})") from None
        self._slots = 1

    def slots(self) -> int:
        """The cores of all executors when the work began."""
        return self._slots

    def executor(self) -> Executor:
        """Threads that wait for the answers of jobs."""
        from pyspark.sql.functions import spark_partition_id

        try:
            # Spark divides work into as many parts as it has cores.
            self._slots = int(self._session.range(10**6).select(spark_partition_id()).distinct().count())
            executor = _SparkExecutor(self._session, CHUNKS_PER_SLOT * self._slots)
            executor.submit(os.getpid).result()
        except Exception:
            raise MissingResourceError(
                f"the workers of Spark at {self._master} cannot run phistack, or are gone; install the same phistack "
                "and Python on all machines, and run the same command again: it continues where it stopped"
            ) from None
        return executor

    def close(self) -> None:
        """End the session, if it is the run's own."""
        if self._is_own:
            self._session.stop()


class _SparkExecutor(ThreadPoolExecutor):
    """Does each call as a job of Spark."""

    def __init__(self, session: Any, n_threads: int) -> None:
        super().__init__(n_threads)
        self._session, self._tag = session, f"phistack-{id(self)}"

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """A future whose exception is a `BrokenExecutor` if Spark could not do it."""
        from pyspark.serializers import CloudPickleSerializer

        return super().submit(self._answer, CloudPickleSerializer().dumps((function, arguments)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with suppress(Exception):  # The session may be gone.
            self._session.interruptTag(self._tag)
        super().shutdown(wait, cancel_futures=True)

    def _answer(self, work: bytes) -> Any:
        from pyspark.serializers import CPickleSerializer

        try:
            self._session.addTag(self._tag)
            frame = self._session.createDataFrame([(bytearray(work),)], f"{_CELL} binary").coalesce(1)
            [[answer]] = frame.mapInArrow(_answers, f"{_CELL} binary").collect()
        except Exception:  # A worker died, or Spark is gone; the message may quote a note.
            raise BrokenExecutor from None
        result, error = CPickleSerializer().loads(bytes(answer))
        if error is not None:
            raise error
        return result


def _answers(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """A worker's answers to cells with calls: cells with results or errors, which Spark does not look into."""
    from pyarrow import record_batch
    from pyspark.serializers import CloudPickleSerializer

    serializer = CloudPickleSerializer()
    for batch in batches:
        answers = (_result(*serializer.loads(work)) for work in batch[_CELL].to_pylist())
        yield record_batch({_CELL: [serializer.dumps(answer) for answer in answers]})


def _result(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Exception | None]:
    try:
        return function(*arguments), None
    except PhistackError as error:
        return None, error
    except Exception as error:
        return None, RuntimeError(f"{type(error).__name__} in {place_of(error)}")
