"""Starts and stops OpenSearch nodes on this machine's loopback address.

`python packages/opensearch/tools/cluster/nodes.py --nodes 3 --seconds 600` runs a cluster until then, or until Ctrl-C.
"""

import argparse
import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster.jars import NoClusterError, class_path, find_jdk

START_TIMEOUT_S, STOP_TIMEOUT_S, POLL_S = 300.0, 20.0, 0.1
JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "--enable-native-access=ALL-UNNAMED")
HEAP = "512m"


class Node:
    """One node: a process with its own ports and folder, which ends with the process that started it.

    settings: may be changed until it is launched. host: where it listens. prefix: the prefix of its command.
    """

    def __init__(
        self, name: str, folder: Path, settings: Mapping[str, str], heap: str = HEAP,
        host: str = "127.0.0.1", prefix: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name, self.folder, self.host = name, folder, host
        self.port, self.transport_port = free_port(), free_port()
        self.settings = dict(settings)
        self._heap, self._prefix = heap, prefix
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of its HTTP interface."""
        return f"http://{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether its process is running."""
        return self._process is not None and self._process.poll() is None

    def launch(self, others: Sequence[str], managers: Sequence[str]) -> None:
        """Start the process. others: transport addresses to join. managers: names of nodes that elect the first one."""
        jdk = find_jdk()
        (self.folder / "config").mkdir(parents=True, exist_ok=True)
        settings = {
            "node.name": self.name,
            "cluster.name": "askalike-test",
            "path.home": str(self.folder),
            "network.host": self.host,
            "http.port": str(self.port),
            "transport.port": str(self.transport_port),
            "http.type": "netty4",
            "transport.type": "netty4",
            "discovery.seed_hosts": ",".join(others),
            "cluster.initial_cluster_manager_nodes": ",".join(managers),
            "cluster.routing.allocation.disk.threshold_enabled": "false",
            "node.processors": "1",
            **self.settings,
        }
        java = [*self._prefix, str(jdk / "bin" / "java"), f"-Xms{self._heap}", f"-Xmx{self._heap}", *JVM_OPTIONS]
        command = [*java, "-cp", class_path(jdk), "Launcher", *(f"{k}={v}" for k, v in settings.items())]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self.folder)

    def wait(self) -> None:
        """Wait until it responds. Raises NoClusterError if it does not."""
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until and self.is_running:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/_cluster/health", timeout=5):
                return
            time.sleep(POLL_S)
        log = (self.folder / "log").read_text(errors="replace")[-1_000:]
        raise NoClusterError(f"{self.name} did not start within {START_TIMEOUT_S:.0f} s: {log}")

    def stop(self) -> None:
        """End the process by closing its standard input."""
        if self._process is None:
            return
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process at once, like `kill -9`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()


class Cluster:
    """Nodes that form a cluster, in a temporary folder or a permanent one."""

    def __init__(
        self, nodes: int = 1, settings: Mapping[str, str] | None = None, heap: str = HEAP,
        places: Sequence[tuple[str, Sequence[str]]] = (), folder: Path | None = None,
    ) -> None:  # fmt: skip
        """places: the host of each node and the prefix of its command, if they are not this machine's.

        folder: where the nodes' data is kept for the next cluster of the same size.
        """
        self._stays = folder is not None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="askalike-opensearch-"))
        at = places or [("127.0.0.1", ())] * nodes
        self.nodes = [
            Node(f"node{n}", self._folder / f"node{n}", settings or {}, heap, host, prefix)
            for n, (host, prefix) in enumerate(at, 1)
        ]

    @property
    def url(self) -> str:
        """The addresses of all its nodes, in the format of `--engine`."""
        return "http://" + ",".join(f"{node.host}:{node.port}" for node in self.nodes)

    def start(self) -> Self:
        """Start the nodes that are not running, and wait for them. Raises NoClusterError if that fails."""
        try:
            for node in self.nodes:
                if not node.is_running:
                    others = [f"{other.host}:{other.transport_port}" for other in self.nodes if other is not node]
                    node.launch(others, [other.name for other in self.nodes])
            for node in self.nodes:
                node.wait()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the nodes and remove their data, unless the folder is permanent."""
        for node in self.nodes:
            node.stop()
        if not self._stays:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def free_port() -> int:
    """Return a free port on the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _runs(process: int) -> bool:
    return Path(f"/proc/{process}").exists() if Path("/proc").exists() else True


def main(arguments: Sequence[str] | None = None) -> Any:
    """Run a cluster until the time is over, or another process has ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 2, 3))
    parser.add_argument("--seconds", type=float, default=600.0, help="how long at most")
    parser.add_argument("--while", type=int, dest="process", help="end with this process, given by its id")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end as with Ctrl-C, which removes the folder
    try:
        with Cluster(options.nodes) as cluster:
            print(f"{cluster.url}  (ends after {options.seconds:.0f} s, or with Ctrl-C)", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                until = time.monotonic() + options.seconds
                while time.monotonic() < until and (options.process is None or _runs(options.process)):
                    time.sleep(1)
    except NoClusterError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
