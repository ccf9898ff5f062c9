"""A connection to an OpenSearch cluster: its address, retried requests, and searches sent in one request."""

import json
import logging
import random
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from threading import Lock, local
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit
from weakref import WeakValueDictionary

import opensearchpy
import urllib3

from askalike import SettingsError
from askalike.plugin.index import EngineError, ReadOnlyIndexError, hide_login
from askalike_opensearch.hedging import HedgeDelay, RoundRobinSelector, first_answer
from askalike_opensearch.state import SharedIndex

DEFAULT_PORT = 9200
RETRY_S, FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, 0.05, 1.0
"""Time for retrying a request while the cluster is unavailable, and the first and longest wait between retries."""
CONNECT_S, DEAD_S = 1.0, 2.0
"""Time for a node to accept a connection, and the time for which it is first skipped if it did not."""
READS = ("/_msearch", "/_mtermvectors", "/_mget")
READ_WAIT_S, WRITE_WAIT_S = 0.1, 2.0
"""Minimum time without an answer after which another node is asked as well, for reads and for writes."""
CONNECTIONS_PER_NODE = 32
"""Number of connections per node that are kept open for the threads of a process."""
CREATED, CONFLICT = 201, 409
RETRIED_STATUSES = (429, 502, 503, 504)
LOST_NODE_ERRORS = (
    "node_disconnected_exception",
    "node_not_connected_exception",
    "node_closed_exception",
    "receive_timeout_transport_exception",
    "operation primary term",
)
"""Errors with status 500 of a node that has lost its own shard, or the node it forwarded a request to."""
SEARCHES_PER_REQUEST = 50
SEARCH_HEADER = {
    "search_type": "dfs_query_then_fetch",
    "preference": "_local",
    "allow_partial_search_results": False,
    "ignore_unavailable": True,
}
"""Scores use the term statistics of all shards; a node prefers its own copies of shards; partial results are errors;
indexes may be missing, as for an empty archive."""
WRITTEN_PARTS = "items.*.status,items.*.error"
ANSWER_PARTS = "took," + ",".join(
    f"responses.{part}" for part in ("hits.hits", "aggregations", "suggest", "error", "status", "_shards")
)
ADVICE = (
    "free space on its nodes, or lift the block; the archive has every change, and the next index or search sends them"
)
ResultT = TypeVar("ResultT")
T = TypeVar("T")
Line = tuple[Mapping[str, Any], Mapping[str, Any]]
"""An action of a bulk request, and its document."""


@dataclass(frozen=True, slots=True)
class OpenSearchAddress:
    """`http[s]://[USER:PASSWORD@]HOST[:PORT][,HOST…][?ca=FILE&timeout=SECONDS]`."""

    hosts: tuple[tuple[str, int], ...]
    secure: bool = False
    credentials: tuple[str, str] | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_s: float = 30.0

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse an address. Raises SettingsError if it has another form."""
        parts = urlsplit(url)
        login, _, hosts = parts.netloc.rpartition("@")
        options = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        try:
            if parts.scheme not in ("http", "https") or not hosts or parts.path.strip("/"):
                raise ValueError
            pairs = tuple(_split_port(host) for host in hosts.split(","))
            timeout_s = float(options.pop("timeout", "30"))
            ca_file = options.pop("ca", None)
            if options:
                raise ValueError
        except ValueError:
            expected = "expected http[s]://[USER:PASSWORD@]HOST[:PORT][,HOST…][?ca=FILE&timeout=SECONDS]"
            raise SettingsError(f"{hide_login(url)}: not the address of an OpenSearch cluster; {expected}") from None
        user, _, password = login.partition(":")
        credentials = (unquote(user), unquote(password)) if login else None
        return cls(pairs, parts.scheme == "https", credentials, ca_file, timeout_s)

    def __str__(self) -> str:
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{'https' if self.secure else 'http'}://{hosts}"


class PendingSearch:
    """A search that is sent together with the others of its queue, as soon as the result of one is needed."""

    def __init__(self, queue: "SearchQueue", index: str, body: Mapping[str, Any]) -> None:
        self._queue, self.index, self.body = queue, index, body
        self.answer: Mapping[str, Any] | None = None

    @property
    def result(self) -> Mapping[str, Any]:
        """The cluster's answer."""
        if self.answer is None:
            self._queue.send()
        if self.answer is None:
            raise EngineError("the cluster did not answer this search; repeat it")
        return self.answer

    @property
    def hits(self) -> Sequence[Mapping[str, Any]]:
        """The hits, best first."""
        hits: Sequence[Mapping[str, Any]] = self.result.get("hits", {}).get("hits", ())
        return hits

    def buckets(self, aggregation: str) -> Sequence[Mapping[str, Any]]:
        """Return the buckets of an aggregation: none if the index is being created and has no shard yet."""
        found: Sequence[Mapping[str, Any]] = self.result.get("aggregations", {}).get(aggregation, {}).get("buckets", ())
        return found


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`; the last may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


class SearchQueue:
    """The searches of one thread that have not been sent yet. Another thread may need their answers."""

    def __init__(self, send: Callable[[Sequence[PendingSearch]], None]) -> None:
        self._send, self._lock = send, Lock()
        self._searches: list[PendingSearch] = []

    def add(self, index: str, body: Mapping[str, Any]) -> PendingSearch:
        """Return a search that the next `send` will send."""
        with self._lock:
            self._searches.append(PendingSearch(self, index, body))
            return self._searches[-1]

    def send(self) -> None:
        """Send the pending searches, and store the answers."""
        with self._lock:
            searches, self._searches = self._searches, []
            for some in batches(searches, SEARCHES_PER_REQUEST):
                self._send(some)


class OpenSearchConnection:
    """Requests to a cluster; thread-safe. Every failure is raised as an EngineError with a one-line message."""

    def __init__(self, address: OpenSearchAddress) -> None:
        logging.getLogger("opensearch").addHandler(logging.NullHandler())  # failures are raised once
        try:
            ssl.create_default_context(cafile=address.ca_file)
        except OSError as error:
            problem = error.strerror or "it holds no certificates"
            raise SettingsError(f"{address.ca_file}: {problem}; expected ?ca=FILE, certificates in PEM") from None
        self.address = address
        self._errors = opensearchpy.exceptions
        self._client = opensearchpy.OpenSearch(
            hosts=[{"host": host, "port": port} for host, port in address.hosts],
            http_auth=address.credentials,
            use_ssl=address.secure,
            ca_certs=address.ca_file,
            max_retries=0,  # _repeat retries; it uses the next node, as those with timeouts or 502 to 504 are marked
            retry_on_timeout=True,
            dead_timeout=DEAD_S,
            http_compress=False,
            pool_maxsize=CONNECTIONS_PER_NODE,
            selector_class=RoundRobinSelector,
        )
        self._make_timeout = partial(urllib3.Timeout, connect=min(CONNECT_S, address.timeout_s))
        self._reads, self._writes = HedgeDelay(READ_WAIT_S), HedgeDelay(WRITE_WAIT_S)
        self._local = local()
        self._indexes: WeakValueDictionary[str, SharedIndex[Any]] = WeakValueDictionary()
        self._opening = Lock()
        self.version = self._read_version()

    def request(self, method: str, path: str, body: Any = None, missing: Any = None, **params: Any) -> Any:
        """Return the answer to one request; `missing`, if given, for a 404."""
        return self._repeat(lambda tries: self._send(method, path, body, tries, missing, params))

    def create_index(self, name: str, body: Mapping[str, Any]) -> None:
        """Create an index, unless it was created by another process, or by an earlier attempt whose answer was lost."""

        def send(tries: int) -> None:
            try:
                self._send("PUT", f"/{name}", body, tries)
            except _Unavailable as problem:
                if "already exists" not in problem.reason:
                    raise

        self._repeat(send)

    def shared_index(self, name: str) -> SharedIndex[Any]:
        """Return the state of an index that the threads of this process share."""
        with self._opening:
            return self._indexes.setdefault(name, SharedIndex())

    def search_later(self, index: str, body: Mapping[str, Any]) -> PendingSearch:
        """Return a search that is sent together with the other pending ones of this thread."""
        queue = getattr(self._local, "queue", None)
        if queue is None:
            queue = self._local.queue = SearchQueue(
                lambda searches: self._repeat(partial(self._send_searches, searches))
            )
        return queue.add(index, body)

    def term_vectors(self, documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the term vectors of documents, each with its shard's statistics; none if the index was removed."""

        def send(tries: int) -> list[Mapping[str, Any]]:
            found = self._send("POST", "/_mtermvectors", {"docs": documents}, tries, params={"preference": "_local"})
            errors = [one["error"] for one in found["docs"] if "error" in one]
            if failed := [error for error in errors if "index_not_found" not in str(error)]:
                raise _Unavailable(503, _reason(failed[0]))
            return list(found["docs"])

        return self._repeat(send)

    def bulk(self, index: str, lines: Sequence[Line]) -> set[str]:
        """Write documents: (action, document) pairs. Return the ids of those that are new.

        Documents are sent again if the cluster is overloaded, or if a node does not know the index yet. A document that
        exists in the same or a newer version is left unchanged. A node that reports this may be cut off from the
        others, which continue without it: documents that those lack are sent once more.
        """
        statuses = self._send_documents(index, lines)
        if refused := [line for line in lines if statuses[line[0]["index"]["_id"]] == CONFLICT]:
            self.request("POST", f"/{index}/_refresh")  # answered once all copies have been refreshed, or dropped
            ids = [action["index"]["_id"] for action, _ in refused]
            found = self.request("POST", f"/{index}/_mget", {"ids": ids}, realtime="false", _source="false")["docs"]
            versions = [document["_version"] if document.get("found") else 0 for document in found]
            pairs = zip(refused, versions, strict=True)
            self._send_documents(index, [line for line, version in pairs if version < line[0]["index"]["version"]])
        return {id for id, status in statuses.items() if status == CREATED}

    def _send_documents(self, index: str, lines: Sequence[Line]) -> dict[str, int]:
        """Send documents until each is stored or refused as an old version; return id → the answer's status."""
        remaining = list(lines)
        statuses = dict[str, int]()

        def send(tries: int) -> None:
            nonlocal remaining
            body = _json_lines(line for pair in remaining for line in pair)
            answer = self._send("POST", f"/{index}/_bulk", body, tries, params={"filter_path": WRITTEN_PARTS})
            states = [next(iter(item.values())) for item in answer["items"]]
            statuses.update(
                (line[0]["index"]["_id"], one["status"]) for line, one in zip(remaining, states, strict=True)
            )
            failed = [n for n, state in enumerate(states) if "error" in state and state["status"] != CONFLICT]
            remaining = [remaining[n] for n in failed]
            if failed:
                errors = ((states[n]["status"], states[n]["error"]) for n in failed)
                problems = [_Unavailable.from_answer(503 if status == 404 else status, e) for status, e in errors]
                raise max(problems, key=lambda problem: problem.status not in RETRIED_STATUSES)

        if remaining:
            self._repeat(send)
        return statuses

    def _send_searches(self, searches: Sequence[PendingSearch], tries: int) -> None:
        body = _json_lines(line for one in searches for line in ({"index": one.index, **SEARCH_HEADER}, one.body))
        answers = self._send("POST", "/_msearch", body, tries, params={"filter_path": ANSWER_PARTS})["responses"]
        for answer in answers:
            if "error" in answer:
                raise _Unavailable.from_answer(answer["status"], answer["error"])
            if answer["_shards"].get("failed"):
                raise _Unavailable(503, "some shards did not answer")
        for search, answer in zip(searches, answers, strict=True):
            search.answer = answer

    def _send(
        self, method: str, path: str, body: Any, tries: int, missing: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """tries: how often this request was sent before; each attempt may have used several nodes."""
        is_read = method == "GET" or path.endswith(READS)
        most_s = self.address.timeout_s
        delay = self._reads if is_read else self._writes
        nodes = len(self.address.hosts)
        give_up_s = delay.give_up_s(tries, most_s) if is_read and nodes > 1 else most_s
        timeout: Any = self._make_timeout(read=give_up_s)

        def ask() -> Any:
            started = time.monotonic()
            options = dict(params or {})
            answer = self._client.transport.perform_request(method, path, params=options, body=body, timeout=timeout)
            if answer == "":  # the connection broke within the head of the answer
                raise self._errors.ConnectionError("N/A", "the answer is empty", EOFError())
            if isinstance(answer, str) and path != "/":  # such as the page of a proxy
                raise self._errors.SerializationError(f"expected JSON, got {answer[:60]!r}")
            delay.note(time.monotonic() - started)
            return answer

        try:
            return first_answer(ask, nodes, delay.wait_s, self._errors.ConnectionError)
        except self._errors.NotFoundError as error:
            if missing is not None:
                return missing
            raise EngineError(f"{self.address}: {_reason(error.info)}") from None
        except (self._errors.AuthenticationException, self._errors.AuthorizationException) as error:
            if "block" in str(error.info):
                raise _Unavailable(429, _reason(error.info)) from None
            problem = "the user or password is wrong, or lacks permission; expected http://USER:PASSWORD@HOST"
            raise EngineError(f"{self.address}: {problem} ({error.status_code})") from None
        except self._errors.SSLError as error:
            raise EngineError(f"{self.address}: {_tls_problem(str(error.info))}") from None
        except self._errors.ConnectionError as error:
            reason = f"no node answers ({type(error.info).__name__}); is it running, and is this its address?"
            is_early = isinstance(error, self._errors.ConnectionTimeout) and give_up_s < most_s
            raise _Unavailable(503, reason, is_early) from None
        except self._errors.TransportError as error:
            raise _Unavailable.from_answer(int(error.status_code), error.info or error.error) from None
        except (self._errors.SerializationError, self._errors.OpenSearchException) as error:
            raise EngineError(f"{self.address}: the answer is not from OpenSearch ({error})") from None

    def _repeat(self, attempt: Callable[[int], ResultT], seconds: float | None = None) -> ResultT:
        """Return the result of an attempt, retried with growing waits while the cluster is unavailable.

        attempt: called with the number of earlier attempts. seconds: how long to retry; a read is not given up before a
        node has had the whole timeout of the address for it.
        """
        until = time.monotonic() + (RETRY_S if seconds is None else seconds)
        wait = FIRST_WAIT_S
        tries = 0
        while True:
            try:
                return attempt(tries)
            except _Unavailable as problem:
                tries += 1
                is_over = time.monotonic() + wait > until and not problem.is_early
                if "read-only" in problem.reason:
                    raise ReadOnlyIndexError(f"{self.address}: takes no writes: {problem.reason}; {ADVICE}") from None
                if problem.status not in RETRIED_STATUSES or is_over:
                    raise EngineError(f"{self.address}: {problem.reason} ({problem.status})") from None
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LONGEST_WAIT_S)

    def _read_version(self) -> str:
        """Return the cluster's version. Raises EngineError if there is no cluster, or it is not OpenSearch."""
        information = self._repeat(lambda tries: self._send("GET", "/", None, tries), seconds=0)
        version = information.get("version") if isinstance(information, dict) else None
        if not isinstance(version, dict) or version.get("distribution") != "opensearch":
            raise EngineError(f"{self.address}: answers, but is not an OpenSearch cluster; check the address")
        return str(version["number"])


class _Unavailable(Exception):
    """An answer other than success."""

    def __init__(self, status: int, reason: str, is_early: bool = False) -> None:
        """is_early: whether a node might have answered if given more time."""
        super().__init__(reason)
        self.status, self.reason, self.is_early = status, reason, is_early

    @classmethod
    def from_answer(cls, status: int, error: Any) -> Self:
        """Return the exception for a node's answer. Status 500 of a node that has lost another one becomes 503."""
        is_lost = status == 500 and any(name in str(error) for name in LOST_NODE_ERRORS)
        return cls(503 if is_lost else status, _reason(error))


@lru_cache(maxsize=16)
def connect(url: str) -> OpenSearchConnection:
    """Return this process's connection to the cluster of that address. Raises EngineError, SettingsError."""
    return OpenSearchConnection(OpenSearchAddress.parse(url))


def _split_port(host: str) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    return (name, int(port)) if colon else (host, DEFAULT_PORT)


def _json_lines(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines)


def _tls_problem(reason: str) -> str:
    """Return why the TLS connection failed, and what to do."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        detail = reason.partition("certificate verify failed: ")[2].partition(" (_ssl")[0] or "unknown issuer"
        return f"its certificate is not trusted ({detail}); expected one for this host, and ?ca=FILE with its issuer"
    return f"no secure connection ({' '.join(reason.split())}); without TLS, use an address with http://"


def _reason(error: Any) -> str:
    """Return the reason of the cluster's error, in one line."""
    if isinstance(error, Mapping):
        causes = error.get("root_cause") or ()
        inner = error.get("error") or error.get("caused_by") or (causes[0] if causes else None)
        return _reason(inner) if inner else " ".join(str(error.get("reason") or error).split())
    return " ".join(str(error).split())
