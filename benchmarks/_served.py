"""An archive of synthetic questions, and a service of it in separate processes."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import islice
from pathlib import Path

from _synthetic import made_archive, phrase, texts

import askalike

DEFAULT = "default"  # the archive's own ranker
LIMIT_S = 3600  # the index is updated before the first request is accepted


def archive(questions: int) -> Path:
    """Return the path of an archive of synthetic questions with titles and bodies; create it if missing."""
    made = (
        askalike.Question(f"s{n}", f"{phrase(title).capitalize()}?", f"{phrase(body).capitalize()}?", language="en")
        for n, (title, body) in enumerate(texts(questions))
    )
    return made_archive(f"served-{questions}", made)


def named(ranker: str) -> tuple[str, ...]:
    """Return the option that names a ranker; none for the archive's own one."""
    return () if ranker == DEFAULT else ("--ranker", ranker)


def titles(path: Path, most: int = 5_000) -> list[str]:
    """Return titles at equal distances in an archive."""
    with askalike.Archive.open(path) as opened:
        step = max(1, len(opened.view()) // most)
        with closing(opened.view().titles()) as rows:
            return list(islice((title for docid, id, title in rows if docid % step == 0 and id[:1] not in "wW"), most))


class Served:
    """`askalike serve` of one archive; it ends with the block."""

    def __init__(self, path: Path, ranker: str, *options: str) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 it is closed with the block
        command = [sys.executable, "-m", "askalike", "serve", path, *named(ranker), "--port", "0", *options]
        started = time.perf_counter()
        self.process = subprocess.Popen(list(map(str, command)), stderr=self._log, start_new_session=True)
        self.port = self._port()
        self.seconds_to_start = time.perf_counter() - started

    def _port(self) -> int:
        for _ in range(LIMIT_S * 100):
            if found := re.search(r"serving at http://127.0.0.1:(\d+)", self.log()):
                return int(found[1])
            if self.process.poll() is not None:
                raise SystemExit(self.log())
            time.sleep(0.01)
        raise SystemExit(f"not served within {LIMIT_S} s")

    def log(self) -> str:
        """Return its log so far."""
        return os.pread(self._log.fileno(), 1 << 20, 0).decode()

    def processor_s(self) -> float:
        """Return the processor time of all its processes so far, in seconds."""
        return sum(map(_processor_s, (self.process.pid, *_children(self.process.pid))))

    def memory_mb(self) -> float:
        """Return the memory of all its processes, with what they share counted once."""
        pids = self.process.pid, *_children(self.process.pid)
        texts = (Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in pids)
        return sum(int(kb) for text in texts for kb in re.findall(r"^Pss: +(\d+)", text, re.MULTILINE)) / 1024

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self._log.close()

    def kill(self) -> None:
        """Kill all its processes, which have their own session, as with kill -9."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
