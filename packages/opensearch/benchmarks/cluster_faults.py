"""One of three nodes is killed, or cut off from the network, under 50 searches and 20 writes per second.

    python packages/opensearch/benchmarks/cluster_faults.py  # all four events
    python packages/opensearch/benchmarks/cluster_faults.py --events "kill the manager"

Each event has a new cluster with the settings of docs/operators/docker-compose.yml, an archive of 200 questions, and
all copies on every node. The load runs for `--warm-up` seconds, until the nodes' code is compiled, and the row has the
rates of the last 15. Then the node is away for `--seconds`. Needs a JDK and Maven, and, to cut a node off, Linux, root
and iproute2, as each node has its own network. The results are also in bench-data/cluster_faults.json.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from _rows import add_row, make_parser
from cluster.jars import NoClusterError
from cluster.load import Load, find_samovars, health, make_archive, manager_index, operators_settings
from cluster.network import open_network
from cluster.nodes import Cluster

from askalike import rankers
from askalike.store import Archive
from askalike_opensearch.maintenance import init_cluster

EVENTS = ("kill the manager", "kill another node", "cut off the manager", "cut off another node")
BEFORE_S, GREEN_S, AFTER_S = 15.0, 300.0, 5.0


def measure(event: str, seconds: float, warm_up: float) -> dict[str, Any]:
    """Return measurements of a load while a node is away, until shortly after the cluster is green again."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(open_network(3)) if event.startswith("cut") else None
        cluster = Cluster(3, operators_settings(), places=network.places if network else ())
        stack.enter_context(cluster)
        init_cluster(cluster.url, shards=1, replicas=2)
        folder = Path(tempfile.mkdtemp())
        stack.callback(shutil.rmtree, folder)
        path = make_archive(folder / "desk", 200)
        archive = stack.enter_context(Archive.open(path, f"opensearch+{cluster.url}"))
        rankers.create("bm25").build(archive.view())
        wait_until(lambda: health(cluster.url) == "green")
        victim = (manager_index(cluster.url, 3) + (not event.endswith("the manager"))) % 3
        with Load(archive) as load:
            time.sleep(max(warm_up - BEFORE_S, 0.0))
            before = rates(load, BEFORE_S)
            load.forget_gaps()
            (network.cut_off(victim) if network else cluster.nodes[victim].kill())
            time.sleep(seconds)
            away = {"searches_meanwhile": len(load.gaps), "writes_meanwhile": len(load.write_gaps)}
            (network.heal(victim) if network else cluster.start())
            wait_until(lambda: load.errors or health(cluster.url) == "green")
            time.sleep(AFTER_S)
        return {
            **before,
            **away,
            "longest_s_without_search": round(max(load.gaps), 2),
            "longest_s_without_write": round(max(load.write_gaps), 2),
            "errors": len(load.errors),
            "lost": len(load.written_ids - find_samovars(archive)),
            "searches": len(load.gaps),
            "writes": len(load.write_gaps),
        }


def rates(load: Load, seconds: float) -> dict[str, float]:
    """Return the number of searches and writes per second over some seconds."""
    load.forget_gaps()
    time.sleep(seconds)
    searches, writes = len(load.gaps), len(load.write_gaps)
    return {"searches_per_s_before": round(searches / seconds, 1), "writes_per_s_before": round(writes / seconds, 1)}


def wait_until(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + GREEN_S
    while not condition():
        if time.monotonic() > until:
            raise NoClusterError(f"the cluster is not green after {GREEN_S:.0f} s")
        time.sleep(0.1)


def main() -> int:
    parser = make_parser(__doc__, "cluster_faults.json")
    parser.add_argument("--events", nargs="*", default=EVENTS, choices=EVENTS)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the node is away")
    parser.add_argument("--warm-up", type=float, default=90.0, help="seconds of load before the event")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; all nodes and the client share them")
    for event in options.events:
        try:
            row = measure(event, options.seconds, options.warm_up)
        except NoClusterError as error:
            print(f"{event}: {error}", file=sys.stderr)
            return 2
        row["load_average"] = round(os.getloadavg()[0], 1)
        print(f"{event:22}", *(f"{name} {value}" for name, value in row.items()), flush=True)
        add_row(
            options.output,
            {"event": event, "seconds": options.seconds, "warm_up_s": options.warm_up, **row},
            ("event",),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
