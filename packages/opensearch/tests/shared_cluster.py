"""One OpenSearch node for all processes of a test run: the first that needs it starts it, and it ends with the run."""

import fcntl
import subprocess
import sys
import time
from pathlib import Path

from cluster import nodes
from cluster.jars import NoClusterError, class_path, find_jdk

SECONDS = 3_000
START_TIMEOUT_S = 180


def shared_cluster(folder: Path, process: int) -> str:
    """Return the cluster's address. folder: shared by the run. process: the cluster ends when this one has ended."""
    address = folder / "opensearch-address"
    with open(folder / "opensearch-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            address.write_text(_start(folder, process))
    text = address.read_text()
    if not text.startswith("http"):
        raise NoClusterError(text)
    return text


def _start(folder: Path, process: int) -> str:
    """Return the address of a new cluster, or why there is none."""
    try:
        class_path(find_jdk())
    except NoClusterError as error:
        return str(error)
    command = [sys.executable, nodes.__file__, "--seconds", str(SECONDS), "--while", str(process)]
    with open(folder / "opensearch-output", "w") as output:
        starting = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        starting.returncode = 0  # nobody waits for it: it ends when the run has ended
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        if (text := (folder / "opensearch-output").read_text()).startswith("http"):
            return text.split()[0]
        time.sleep(0.2)
    return (folder / "opensearch-output").read_text().strip()[-300:] or "the cluster did not start"
