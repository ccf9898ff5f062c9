"""Synchronisation of an index in a cluster with an archive: numbered changes in bulk, and generations behind an alias.

An index is an alias of one generation, which holds the documents and, in a separate document, the number of the archive
change up to which it is synchronised. Every document has its change number as external version: the result is the same
if something is sent twice, late, or by two processes, and an interrupted run resumes after the last acknowledged write.

The state is written after the documents that it describes, and becomes visible with them or after them. It is read by a
search: a real-time get may make a node refresh.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, Generic, TypeVar

from askalike import AllowedDocs
from askalike.plugin.index import MAX_TITLES, Array, DocAttributes, Excluded, LazyMapping, SearchIndexError
from askalike_opensearch.connection import Line, OpenSearchConnection
from askalike_opensearch.state import FORMAT, IndexState, SharedIndex, StoredState

STATE_ID = "state"
GENERATION = re.compile(r"-(\d{6})")
MAX_WINDOW = 100_000
"""Maximum number of documents that one search returns."""
MAX_IDS = 10_000
"""Maximum number of docids in one filter."""
BULK_BYTES = 4 << 20
SHARED_FIELDS = {
    "docid": {"type": "long"},
    "phrasing": {"type": "integer"},
    "change": {"type": "long"},
    "tags": {"type": "keyword"},
    "created_at": {"type": "keyword"},
    "states": {"type": "keyword"},
    "title_key": {"type": "keyword"},
    "state": {"type": "object", "enabled": False},
}
"""docid, phrasing: as in a local index. change: the archive's change number. tags, created_at, states: for filters.
title_key: of the text's title, in hexadecimal, see `text.words.title_key`."""
SHARED_SETTINGS = {
    "index.max_result_window": MAX_WINDOW,
    "index.max_terms_count": 1 << 20,
    "index.max_regex_length": 10_000,
    "index.refresh_interval": -1,
    "index.merge.policy.expunge_deletes_allowed": 0,
}
"""A commit refreshes explicitly. Replaced documents remain in the term statistics until a merge removes them."""
SearcherT = TypeVar("SearcherT")
WriterT = TypeVar("WriterT", bound="OpenSearchWriter[Any]")


class OpenSearchIndex(ABC, Generic[SearcherT, WriterT]):
    """An index behind an alias in a cluster, with any number of readers and writers."""

    def __init__(self, cluster: OpenSearchConnection, name: str, fingerprint: str) -> None:
        self.cluster, self.name, self._fingerprint = cluster, name, fingerprint
        self._shared: SharedIndex[SearcherT] = cluster.shared_index(name)
        self._was_read = self._is_rebuilding = False

    @abstractmethod
    def schema(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the settings and the fields of a new generation, in addition to the common ones."""

    @abstractmethod
    def make_searcher(self, state: IndexState) -> SearcherT:
        """Return a searcher of the index in a state."""

    @property
    def state(self) -> IndexState:
        """The state last read or committed by any thread of this process."""
        stored = self._shared.stored
        return stored.state if stored else IndexState(self._fingerprint)

    @property
    def change(self) -> int:
        """The archive's change number up to which the index is synchronised; 0 if it must be rebuilt."""
        return 0 if self._is_rebuilding else self.state.change

    @property
    def change_date(self) -> None:
        """Not stored: the date of the archive's first change is in the index's name."""
        return

    @property
    def searcher(self) -> SearcherT:
        """The searcher of the state last read or committed, shared by the threads of this process."""
        empty = IndexState(self._fingerprint)
        return self._shared.searcher(lambda stored: self.make_searcher(stored.state if stored else empty))

    def refresh(self, *, now: bool = False, keep: bool = False) -> None:
        """Read the state again, unless it was read recently. Raises SearchIndexError for another format or layout.

        keep: see ArchiveIndex; it has no effect here, as only files can be damaged.
        """
        if self._is_rebuilding:
            return
        self._shared.refresh(lambda: self._read_state(self.name, realtime="false"), now=now or not self._was_read)
        self._was_read = True
        state, advice = self.state, "build a new generation: askalike index ARCHIVE --rebuild --engine opensearch+URL"
        if state.format != FORMAT:
            raise SearchIndexError(f"{self.name}: format {state.format}, but this askalike uses {FORMAT}; {advice}")
        if state.fingerprint != self._fingerprint:
            raise SearchIndexError(f"{self.name}: built with another analyzer or other settings; {advice}")

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Wait while another thread of this process synchronises the index: it may send this one's changes, too."""
        with self._shared.write_lock():
            self.refresh(now=True)
            yield

    def start_rebuild(self) -> None:
        """Make the next writer build a new generation. Searches use the current one until the new one is complete."""
        self._is_rebuilding = True

    @contextmanager
    def writer(self, change: int) -> Iterator[WriterT]:
        """Yield a writer for the changes up to a number; an unfinished update of another writer is continued."""
        searched = self._shared.stored
        stored = searched if searched and self.change else self._unfinished_generation()
        state = stored.state
        if state.target <= state.change:
            state = replace(state, target=change, docid=0)
        yield self.make_writer(stored.generation, state)

    @abstractmethod
    def make_writer(self, generation: str, state: IndexState) -> WriterT:
        """Return a writer into a generation."""

    def commit(self, generation: str, state: IndexState) -> None:
        """Make a generation the searchable one, with its state; remove earlier ones."""
        self.write_state(generation, state, refresh="true")
        searched = self._shared.stored
        if not searched or searched.generation != generation:
            self._search_generation(generation)
        self._is_rebuilding = False
        self._shared.note(StoredState(generation, state), settled=True)

    def write_state(self, generation: str, state: IndexState, **params: str) -> None:
        """Store the state of a generation."""
        self.cluster.request("PUT", f"/{generation}/_doc/{STATE_ID}", {"state": state.as_json()}, **params)

    def current_generation(self) -> str | None:
        """Return the name of the generation behind the alias; None if nothing is searchable yet."""
        return next(iter(self.cluster.request("GET", f"/_alias/{self.name}", missing={})), None)

    def generations(self) -> list[str]:
        """Return the names of all generations, the oldest first."""
        names = self.cluster.request(
            "GET", f"/{self.name}-*/_settings", missing={}, filter_path="*.settings.index.uuid"
        )
        return sorted(name for name in names if GENERATION.fullmatch(name.removeprefix(self.name)))

    def _read_state(self, index: str, **params: str) -> StoredState | None:
        """Return the state of a generation, or of the one behind an alias; None if there is none."""
        path = f"/{index}/_doc/{STATE_ID}"
        document = self.cluster.request("GET", path, missing={}, preference="_local", **params)
        if not document.get("found"):
            return None
        return StoredState(document["_index"], IndexState.from_json(document["_source"]["state"]))

    def _search_generation(self, generation: str) -> None:
        """Point the alias to another generation; remove earlier ones."""
        current = self.current_generation()
        removed = [{"remove": {"index": current, "alias": self.name, "must_exist": False}}] if current else []
        actions = [*removed, {"add": {"index": generation, "alias": self.name}}]
        self.cluster.request("POST", "/_aliases", {"actions": actions})
        for old in self.generations():
            if old < generation:
                self.cluster.request("DELETE", f"/{old}", missing={})

    def _unfinished_generation(self) -> StoredState:
        """Return the generation that is being built; a new one if there is none that this version can continue."""
        generations = self.generations()
        if generations and (not self._is_rebuilding or generations[-1] != self.current_generation()):
            stored = self._read_state(generations[-1])
            if stored is None:
                return self._empty_generation(generations[-1])
            if (stored.state.format, stored.state.fingerprint) == (FORMAT, self._fingerprint):
                return stored
        number = int(generations[-1][-6:]) + 1 if generations else 1
        settings, fields = self.schema()
        mappings = {"dynamic": "strict", "properties": {**SHARED_FIELDS, **fields}}
        body = {"settings": {**SHARED_SETTINGS, **settings}, "mappings": mappings}
        name = f"{self.name}-{number:06}"
        self.cluster.create_index(name, body)
        return self._empty_generation(name)

    def _empty_generation(self, name: str) -> StoredState:
        """Return the state of an empty generation, with a routing value for each shard."""
        path = f"/{name}/_search_shards"
        routings = dict[int, str]()
        shards = self.cluster.request("GET", path)["shards"]
        numbers = count()
        while len(routings) < len(shards):
            number = str(next(numbers))
            [[copy, *_]] = self.cluster.request("GET", path, routing=number)["shards"]
            routings.setdefault(copy["shard"], number)
        return StoredState(name, IndexState(self._fingerprint, routings=tuple(routings.values())))


IndexT = TypeVar("IndexT", bound=OpenSearchIndex[Any, Any])


class OpenSearchWriter(Generic[IndexT]):
    """Sends changes in bulk. What was sent before an interruption is not sent again."""

    def __init__(self, index: IndexT, generation: str, state: IndexState) -> None:
        self.index, self._generation, self.state = index, generation, state
        self._lines: list[Line] = []
        self._bytes, self._last_docid = 0, state.docid
        self._replaced: list[int] = []
        self._deleted: list[int] = []
        self._new: set[str] = set()

    @property
    def change(self) -> int:
        """The change number up to which everything is in the index already."""
        return self.state.change

    @property
    def sent_docid(self) -> int:
        """Documents up to this docid were sent before an interruption; 0 if nothing was interrupted."""
        return self.state.docid

    def delete(self, docids: Iterable[int]) -> None:
        """Delete all documents of these docids."""
        self._deleted.extend(docids)

    def replace(self, docids: Sequence[int]) -> None:
        """Delete the older versions of documents that this update sends again."""
        if self.state.change:
            self._replaced.extend(dict.fromkeys(docids))

    def put(self, docid: int, phrasing: int, attributes: DocAttributes, fields: Mapping[str, Any], size: int) -> None:
        """Send a document. Docids must ascend. size: its approximate number of bytes."""
        if self._bytes >= BULK_BYTES and docid != self._last_docid:
            self._flush()
        action = {"_id": f"{docid}-{phrasing}", "version": self.state.target, "version_type": "external"}
        shared: dict[str, Any] = {"docid": docid, "phrasing": phrasing, "change": self.state.target}
        if key := attributes.title_key(phrasing):
            shared["title_key"] = _encode_key(key)
        self._lines.append(({"index": action}, {**shared, **attributes.as_fields(), **fields}))
        self._bytes += size
        self._last_docid = docid
        if phrasing >= self.state.phrasings:
            self.state = replace(self.state, phrasings=phrasing + 1)

    def commit(self, change: int, change_date: str | None = None) -> None:
        """Make everything visible at once, as the state of a change, or of the target of an interrupted update."""
        self._flush()
        replaced = [docid for docid in self._replaced if f"{docid}-0" not in self._new]
        if self._deleted or replaced or len(self.state.routings) > 1:
            self.index.cluster.request("POST", f"/{self._generation}/_refresh")
        self._delete_where(self._deleted, None)
        self._delete_where(replaced, self.state.target)
        self.index.commit(self._generation, replace(self.state, change=self.state.target, docid=0))

    def _flush(self) -> None:
        if not self._lines:
            return
        new = self.index.cluster.bulk(self._generation, self._lines)
        self._lines, self._bytes = [], 0
        if self.state.change:
            self._new |= new
        else:  # a later update is small, and starts over
            self.state = replace(self.state, docid=self._last_docid)
            self.index.write_state(self._generation, self.state)

    def _delete_where(self, docids: Sequence[int], older_than: int | None) -> None:
        """Delete the documents of these docids, or only those older than a change."""
        path = f"/{self._generation}/_delete_by_query"
        for start in range(0, len(docids), MAX_IDS):
            filters: list[Mapping[str, Any]] = [{"terms": {"docid": list(docids[start : start + MAX_IDS])}}]
            if older_than is not None:
                filters.append({"range": {"change": {"lt": older_than}}})
            body = {"query": {"bool": {"filter": filters}}}
            self.index.cluster.request("POST", path, body, conflicts="proceed", refresh="true")


def expunge(cluster: OpenSearchConnection, index: str) -> int:
    """Remove replaced and deleted documents from the term statistics; return the number that the cluster still keeps.

    It keeps the latest ones for up to half a minute, for replicas that are being recovered.
    """
    cluster.request("POST", f"/{index}/_flush", force="true")
    cluster.request("POST", f"/{index}/_forcemerge", only_expunge_deletes="true")
    cluster.request("POST", f"/{index}/_refresh")
    return int(cluster.request("GET", f"/{index}/_stats/docs")["_all"]["primaries"]["docs"]["deleted"])


def split_docids(docids: Array, phrasings: int) -> list[Array]:
    """Return docids in slices, each with at most as many documents as one search returns."""
    size = max(1, min(MAX_IDS, MAX_WINDOW // phrasings))
    return [docids[start : start + size] for start in range(0, len(docids), size)]


def search_titles(
    cluster: OpenSearchConnection, index: str, keys: Sequence[int], exclusions: Sequence[Excluded | None]
) -> Mapping[int, Sequence[int]]:
    """Look up the questions with the title of each query, together with the next search; see TitlesSearcher."""
    order = {"size": MAX_TITLES, "sort": [{"docid": "asc"}], "_source": False, "track_total_hits": False}
    pending = []
    for key, excluded in zip(keys, exclusions, strict=True):
        conditions = {"filter": [{"term": {"title_key": _encode_key(key)}}], "must_not": exclusion_clauses(excluded)}
        pending.append(cluster.search_later(index, {"query": {"bool": conditions}, **order}) if key else None)

    def read() -> Mapping[int, Sequence[int]]:
        hits = {row: search.hits for row, search in enumerate(pending) if search}
        return {row: list(dict.fromkeys(hit["sort"][0] for hit in own)) for row, own in hits.items() if own}

    return LazyMapping(read)


def _encode_key(key: int) -> str:
    return f"{key:016x}"


def filter_clauses(allowed: AllowedDocs | None) -> list[Mapping[str, Any]]:
    """Return the filter clauses for the allowed documents."""
    if allowed is None:
        return []
    if allowed.filter is None:
        return [{"terms": {"docid": allowed.docids.tolist()}}]
    filter = allowed.filter
    clauses: list[Mapping[str, Any]] = [{"term": {"tags": tag}} for tag in filter.tags]
    dates = {"gte": filter.after, "lt": filter.before}
    if bounds := {sign: date for sign, date in dates.items() if date}:
        clauses.append({"range": {"created_at": bounds}})
    if "unanswered" in filter.without:
        clauses.append({"term": {"states": "answered"}})
    if left_out := [name for name in filter.without if name != "unanswered"]:
        clauses.append({"bool": {"must_not": {"terms": {"states": left_out}}}})
    return clauses


def exclusion_clauses(excluded: Excluded | None) -> list[Mapping[str, Any]]:
    """Return the clauses for what a query must not find."""
    if excluded is None:
        return []
    if excluded.phrasing is None:
        return [{"term": {"docid": excluded.docid}}]
    return [{"ids": {"values": [f"{excluded.docid}-{excluded.phrasing}"]}}]
