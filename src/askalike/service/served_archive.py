"""An archive that is served: its threads search, read, write and encode texts; the indexer updates its index.

Work waits in queues: a thread works on one resource, and writes are made as a batch. Its encoders are its own models,
and those that installed extras bring.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from askalike import encoders
from askalike.core.arrays import Floats32
from askalike.core.errors import AskalikeError, SearchIndexError, SettingsError
from askalike.encoders import MODEL_FILE, PACKAGED_ENCODERS, Encoder, Role, encode_texts, find_package
from askalike.moderation.gaps import GapCache
from askalike.rankers import MODELS_FOLDER, Ranker, trained_model_names
from askalike.search.archive_retriever import ArchiveRetriever, SearchRequest, SearchResult
from askalike.search.grounded import ChatEndpoint, named_endpoint
from askalike.service.log import log_event
from askalike.service.served_retriever import IndexStatus, ServedRetriever, can_write, index_status, is_present
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles
from askalike.store import Archive
from askalike.store.editing import write_together
from askalike.store.query_log import measure_stored

WRITE_WINDOW_S = 0.1
"""Time after the beginning of a batch of writes in which further ones are collected for the next batch."""
ResourceT = TypeVar("ResourceT")
ResultT = TypeVar("ResultT")
POLL_S = 0.5
"""The pause between two polls for a newly deployed ranker whose index is built."""
RETRY_S = 60
"""The wait before another attempt after a retriever could not be opened."""
NOTE_S = 1
MEASURE_S = 60
"""The pause between two measurements of what people have stored, which reads all of it."""
STATIC = "static"


class OverloadedError(Exception):
    """The queue of an executor is full, so the request is rejected."""


class BoundedExecutor(Generic[ResourceT]):
    """Runs tasks on one resource, one after the other, in a thread of its own, so as not to block the event loop."""

    def __init__(self, resource: ResourceT, settings: ServiceSettings) -> None:
        self._resource = resource
        self._settings = settings
        self._n_waiting = 0
        self._thread = ThreadPoolExecutor(1)

    async def run(self, work: Callable[[ResourceT], ResultT]) -> ResultT:
        """Return the result of the work.

        Raises OverloadedError if the queue is full, TimeoutError if the result is late. Work that has not begun by then
        is dropped; work that has begun is finished and its result discarded.
        """
        if self._n_waiting >= self._settings.max_waiting:
            raise OverloadedError
        self._n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, work, self._resource)
        future.add_done_callback(self._release_slot)
        async with asyncio.timeout(self._settings.timeout_s):
            return await future

    def close(self) -> None:
        """Finish the work in the queue, then end the thread."""
        self._thread.shutdown()

    def _release_slot(self, _: object) -> None:
        self._n_waiting -= 1


class WriteBatcher:
    """Collects writes and makes those of a window in one transaction, in order of arrival.

    A write that comes after a pause, or while nobody searches, is made at once. Each is answered when it is durable; an
    error is that of its own write.
    """

    def __init__(
        self, executor: BoundedExecutor[Archive], settings: ServiceSettings, is_searching: Callable[[], bool]
    ) -> None:
        self._executor, self._settings, self._is_searching = executor, settings, is_searching
        self._waiting: list[tuple[Callable[[Archive], Any], asyncio.Future[Any]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._next_at = 0.0

    async def run(self, write: Callable[[Archive], ResultT]) -> ResultT:
        """Return the result of a write. Raises OverloadedError, TimeoutError, and what the write raises."""
        if len(self._waiting) >= self._settings.max_waiting:
            raise OverloadedError
        result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, result))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())
        async with asyncio.timeout(self._settings.timeout_s):
            return await result

    async def _write_waiting(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._waiting:
            await asyncio.sleep(self._next_at - clock() if self._is_searching() else 0)
            self._next_at = clock() + WRITE_WINDOW_S
            batch = [(write, result) for write, result in self._waiting if not result.done()]
            self._waiting = []
            try:
                outcomes = await self._executor.run(partial(write_together, writes=[write for write, _ in batch]))
            except Exception as error:  # which each of the requests reports
                outcomes = [error] * len(batch)
            for (_, result), outcome in zip(batch, outcomes, strict=True):
                if not result.done():
                    result.set_exception(outcome) if isinstance(outcome, Exception) else result.set_result(outcome)


class UnknownEncoderError(AskalikeError):
    """The archive has no encoder with that name."""


class StoreFullError(AskalikeError):
    """People have stored as much as the service's settings allow."""


class DimensionsError(AskalikeError):
    """More dimensions are requested than an encoder's vectors have."""


class StoredLimit:
    """The limit on the queries, feedback and posted questions of an archive. Used in its threads alone."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._count = self._size = 0
        self._measure_at = 0.0

    def has_room(self, archive: Archive) -> bool:
        """Return whether one more may be stored, which is then counted; their size is that of the last minute."""
        if time.monotonic() >= self._measure_at:
            self._count, self._size = measure_stored(archive)
            self._measure_at = time.monotonic() + MEASURE_S
        self._count += 1
        return self._count <= self._settings.max_stored and self._size < self._settings.max_stored_bytes

    def require_room(self, archive: Archive) -> None:
        """Raise StoreFullError if no more may be stored."""
        if not self.has_room(archive):
            raise StoreFullError(
                "the archive stores no more feedback and questions: max_stored or max_stored_bytes is reached; "
                "its operator can raise it, or delete some with askalike purge"
            )


class ArchiveEncoders:
    """The encoders of the archive in a directory. Each is opened on first use, and again after it is retrained."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: dict[str, tuple[int, Encoder]] = {}

    def names(self) -> Sequence[str]:
        """Return the encoders' names: the archive's models, then those that are installed."""
        packaged = (name for name in PACKAGED_ENCODERS if find_package(name).is_installed)
        return (*trained_model_names(self._path), STATIC, *packaged)

    def encode(self, name: str, texts: Sequence[str], role: Role, dimensions: int | None) -> Floats32:
        """Return the vectors of n texts, float32 (n, dimensions), whose dot products are the encoder's scores.

        dimensions: number of leading components to return, normalised to length 1; None: all.
        Raises DimensionsError, UnknownEncoderError, the latter also if vectors are compared by distance.
        """
        encoder = self._open(name)
        try:
            vectors = encode_texts(texts, encoder, role)
        except SettingsError as error:
            raise UnknownEncoderError(f"model: {name} cannot compute embeddings: {error}") from None
        if dimensions is None or dimensions == vectors.shape[1]:
            return vectors
        if dimensions > vectors.shape[1]:
            raise DimensionsError(f"dimensions: {name} has {vectors.shape[1]}, got {dimensions}")
        shortened = vectors[:, :dimensions]
        lengths = np.linalg.norm(shortened, axis=1, keepdims=True)
        return np.asarray(shortened / np.where(lengths > 0, lengths, 1), np.float32)

    def _open(self, name: str) -> Encoder:
        if name not in self.names():
            raise UnknownEncoderError(f"model: no encoder {name!r}; there are: {', '.join(self.names()) or 'none'}")
        description = self._path / MODELS_FOLDER / name / MODEL_FILE
        own = description.exists()
        version = description.stat().st_mtime_ns if own else 0
        opened_version, encoder = self._opened.get(name, (None, None))
        if encoder is None or opened_version != version:
            encoder = encoders.open_encoder(description.parent) if own else encoders.build(name)
            self._opened[name] = version, encoder
        return encoder


class ServedArchive:
    """A served archive with the retriever that searches it. Raises ArchiveError, SettingsError."""

    def __init__(self, name: str, settings: ServiceSettings, shared: SharedFiles) -> None:
        path = settings.archive_paths()[name]
        self.name = name
        self.settings = settings
        self.gap_cache = GapCache()
        self._shared = shared
        self._served_retriever = ServedRetriever.open(settings, path)
        self._archive = Archive.open(path, settings.engine)
        self.key_archive = Archive.open(path)
        """A second connection to the archive, to look up keys and deployments on the event loop's thread."""
        self._note_archive = Archive.open(path)
        self._retriever_executor = BoundedExecutor(self._served_retriever.retriever, settings)
        self._archive_executor = BoundedExecutor(self._archive, settings)
        self._write_batcher = WriteBatcher(self._archive_executor, settings, lambda: shared.processes.is_searching)
        self._note_executor = BoundedExecutor(self._note_archive, settings)
        self.stored_limit = StoredLimit(settings)
        self._notes: set[asyncio.Task[None]] = set()
        self.encoders = BoundedExecutor(ArchiveEncoders(path), settings)
        self.endpoint: BoundedExecutor[ChatEndpoint] | None = None
        """Writes grounded answers; None if no endpoint is configured."""
        if settings.endpoint:
            endpoint = named_endpoint(settings.endpoint, settings.endpoint_model, settings.timeout_s)
            self.endpoint = BoundedExecutor(endpoint, settings)
        self._checking: asyncio.Task[tuple[IndexStatus, bool]] | None = None

    @property
    def ranker(self) -> Ranker:
        """The ranker in use."""
        return self._served_retriever.retriever.ranker

    @property
    def model(self) -> str:
        """The name of the ranker in use."""
        return self.ranker.name

    async def run_on_retriever(self, work: Callable[[ArchiveRetriever], ResultT]) -> ResultT:
        """Return the result of work on the retriever. Raises OverloadedError, TimeoutError."""
        return await self._retriever_executor.run(work)

    async def search(self, request: SearchRequest) -> tuple[str, SearchResult]:
        """Return the ranker's name and the result. Raises OverloadedError, TimeoutError, SettingsError."""
        with self._shared.processes.counted(self._shared.row):
            return await self._retriever_executor.run(
                lambda retriever: (retriever.ranker.name, retriever.search_batch([request])[0])
            )

    async def run_on_store(self, work: Callable[[Archive], ResultT]) -> ResultT:
        """Return the result of work on the archive, once it is committed. Raises OverloadedError, TimeoutError."""
        return await self._archive_executor.run(work)

    async def write(self, work: Callable[[Archive], ResultT]) -> ResultT:
        """Return the result of work that changes records, once it is durable; see WriteBatcher."""
        return await self._write_batcher.run(work)

    async def note(self, work: Callable[[Archive], object]) -> None:
        """Write something that no response depends on, such as a count; wait for it only briefly, and log errors.

        It has its own connection: if the archive cannot be written, searches and reads continue.
        """
        task = asyncio.create_task(self._write_note(work))
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)
        await asyncio.wait({task}, timeout=NOTE_S)

    async def _write_note(self, work: Callable[[Archive], object]) -> None:
        try:
            await self._note_executor.run(work)
        except (AskalikeError, OverloadedError, TimeoutError) as error:
            log_event("note", archive=self.name, error=str(error) or "the archive could not be written in time")

    @property
    def language(self) -> str | None:
        """The language of the whole archive; None if it has several or an unknown one."""
        return self.key_archive.view().language

    async def check(self) -> tuple[IndexStatus, bool]:
        """Search and read the archive, once for all who ask meanwhile.

        Returns the status of its index and whether its folder can be written.
        Raises OverloadedError, TimeoutError, ArchiveError, SearchIndexError.
        """
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._search_and_read())
        return await asyncio.shield(self._checking)  # a cancelled caller does not cancel it for the others

    async def _search_and_read(self) -> tuple[IndexStatus, bool]:
        await self.run_on_retriever(lambda retriever: retriever.search("", 1))
        return await self.run_on_store(lambda store: (self._present_status(store), can_write(store)))

    def _present_status(self, store: Archive) -> IndexStatus:
        """Return the status of its index.

        Raises ArchiveError if its file is not in its place, SearchIndexError if an index has vanished.
        """
        store.require_in_place()
        if not is_present(self.ranker, store.view()):
            raise SearchIndexError(f"{store.path}: the files of an index have vanished; the indexer rebuilds it")
        return index_status(store, self.ranker)

    async def reload_when_stale(self) -> None:
        """Switch to a newly deployed ranker or calibration once its index is built; run until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                if self._served_retriever.is_stale(self.key_archive):
                    await self._reload_retriever()
                    log_event("ranker", archive=self.name, model=self.model)
            except AskalikeError as error:
                log_event("ranker", archive=self.name, model=self.model, error=str(error))
                await asyncio.sleep(RETRY_S)

    async def _reload_retriever(self) -> None:
        """Open the retriever of the deployed ranker for the next searches; running searches finish on the old one."""
        new_retriever = await asyncio.to_thread(ServedRetriever.open, self.settings, self._archive.path)
        old_retriever, old_executor = self._served_retriever, self._retriever_executor
        self._served_retriever = new_retriever
        self._retriever_executor = BoundedExecutor(new_retriever.retriever, self.settings)
        await asyncio.to_thread(old_executor.close)
        old_retriever.retriever.close()

    def close(self) -> None:
        """Finish running work and close the archive."""
        executors: list[BoundedExecutor[Any] | None] = [
            self._retriever_executor, self._archive_executor, self._note_executor, self.encoders, self.endpoint,
        ]  # fmt: skip
        for executor in filter(None, executors):
            executor.close()
        self._served_retriever.retriever.close()
        for archive in (self._archive, self._note_archive, self.key_archive):
            archive.close()


@asynccontextmanager
async def hot_reload(archives: Iterable[ServedArchive]) -> AsyncIterator[None]:
    """Reload the retriever of each archive whenever it is stale, during the block."""
    tasks = [asyncio.create_task(archive.reload_when_stale()) for archive in archives]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
