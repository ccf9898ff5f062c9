"""A separate network for each node, so that nodes can be cut off from each other; needs Linux, root and iproute2.

Each node has a network namespace, connected with the others by a bridge, over which this machine reaches all of them. A
node that is cut off has no route to the others: packets between them are lost silently.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cluster.jars import NoClusterError

BRIDGE, SUBNET = "askalike0", "10.203.117"
LOCK = Path(tempfile.gettempdir()) / "askalike-network.lock"
Place = tuple[str, Sequence[str]]
"""A node's address, and the prefix of commands that run there."""


class Network:
    """The places of some nodes, numbered from 0."""

    def __init__(self, nodes: int) -> None:
        self._names = [f"askalike{n}" for n in range(1, nodes + 1)]
        self._addresses = [f"{SUBNET}.{n}" for n in range(1, nodes + 1)]

    @property
    def places(self) -> list[Place]:
        """The place of each node."""
        prefixes = [("ip", "netns", "exec", name) for name in self._names]
        return list(zip(self._addresses, prefixes, strict=True))

    def cut_off(self, node: int) -> None:
        """Block traffic between a node and the others."""
        self._route(node, "add")

    def heal(self, node: int) -> None:
        """Allow all traffic again."""
        self._route(node, "del")

    def _route(self, node: int, action: str) -> None:
        for other in self._addresses[:node] + self._addresses[node + 1 :]:
            _ip("-n", self._names[node], "route", action, "blackhole", f"{other}/32")

    def _open(self) -> None:
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{SUBNET}.254/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        for n, (name, address) in enumerate(zip(self._names, self._addresses, strict=True), 1):
            _ip("netns", "add", name)
            _ip("link", "add", f"{BRIDGE}-{n}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", f"{BRIDGE}-{n}", "master", BRIDGE, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")

    def _close(self) -> None:
        for arguments in [("link", "del", BRIDGE), *(("netns", "del", name) for name in self._names)]:
            with contextlib.suppress(NoClusterError):
                _ip(*arguments)


@contextlib.contextmanager
def open_network(nodes: int) -> Iterator[Network]:
    """Yield a network of this number of nodes. Raises NoClusterError if this process may not create one."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        raise NoClusterError("a network of its own for each node needs root and the command ip (iproute2)")
    network = Network(nodes)
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time per machine, as its parts have fixed names
        network._close()  # remove the remains of a killed process
        try:
            network._open()
            yield network
        finally:
            network._close()


def _ip(*arguments: str) -> None:
    """Run `ip`. Raises NoClusterError with its message."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoClusterError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
