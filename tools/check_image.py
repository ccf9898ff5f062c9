"""Runs deploy/Dockerfile in an empty root, on a machine without Docker: python tools/check_image.py BASE ROOT

BASE is a Debian with Python, in place of the image that the file begins from; ROOT becomes the image. As root:

    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm BASE
    python tools/check_image.py BASE ROOT
    chroot --userspec=askalike ROOT /opt/askalike/bin/askalike --help
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1]
IGNORED = ("VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD")
"""Instructions that say how a container runs, and change nothing in the image."""


def read_steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile with their arguments; lines that end in a backslash go on."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n", " ", lines).splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name, arguments.strip()


def is_in_context(path: str, ignored: str) -> bool:
    """Return whether .dockerignore lets a path into the build."""
    kept = True
    for pattern in filter(None, ignored.split()):
        if any(fnmatch.fnmatch(part, pattern.lstrip("!")) for part in (path, path.partition("/")[0])):
            kept = pattern.startswith("!")
    return kept


class Image:
    """The stages of a build, each in a folder of its own."""

    def __init__(self, base: Path, root: Path) -> None:
        self.base, self.root = base, root
        self.stages: dict[str, Path] = {}
        self.ignored = (SOURCE / ".dockerignore").read_text()

    def build(self, text: str) -> None:
        """Run all steps; the last stage is in `root`. Raises CalledProcessError."""
        steps = list(read_steps(text))
        n_stages = sum(name == "FROM" for name, _ in steps)
        for name, arguments in steps:
            if name == "FROM":
                self._begin(arguments.split(), is_last=len(self.stages) == n_stages - 1)
            elif name not in IGNORED:
                print(name, arguments, flush=True)
                getattr(self, f"_{name.lower()}")(arguments)

    def _begin(self, words: list[str], is_last: bool) -> None:
        name = words[2] if len(words) > 2 else str(len(self.stages))
        self.folder = self.root if is_last else self.root.with_name(f"{self.root.name}-{name}")
        subprocess.run(["cp", "-a", self.base, self.folder], check=True)
        (self.folder / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        for file in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
            shutil.copy(f"/{file}", self.folder / file)
        self.stages[name], self.workdir, self.user, self.env = self.folder, "/", "root", {}

    def _workdir(self, path: str) -> None:
        self.workdir = path
        (self.folder / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _copy(self, arguments: str) -> None:
        *sources, target = shlex.split(arguments)
        origin = SOURCE
        if sources[0].startswith("--from="):
            origin = self.stages[sources.pop(0).partition("=")[2]]
        place = self.folder / (target if target.startswith("/") else f"{self.workdir}/{target}").lstrip("/")
        for source in sources:
            if origin == SOURCE and not is_in_context(source, self.ignored):
                raise SystemExit(f"COPY {source}: .dockerignore leaves it out")
            file = origin / source.lstrip("/")
            is_merged = file.is_dir() and place.exists()  # a folder's content, as Docker copies it
            subprocess.run(["cp", "-a", f"{file}/." if is_merged else file, place], check=True)

    def _env(self, arguments: str) -> None:
        for word in shlex.split(arguments):
            name, _, value = word.partition("=")
            self.env[name] = value.replace("$PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")

    def _user(self, name: str) -> None:
        self.user = name

    def _run(self, command: str) -> None:
        """Run a command as Docker does, with the network settings of this machine's pip."""
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "proxy" in name.lower()}
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/tmp", **pip, **self.env}
        inside = f"cd {shlex.quote(self.workdir)} && {command}"
        subprocess.run(["chroot", f"--userspec={self.user}", self.folder, "/bin/sh", "-c", inside], env=env, check=True)


def main() -> None:
    """Build, then say which command the image runs."""
    base, root = map(Path, sys.argv[1:3])
    text = (SOURCE / "deploy" / "Dockerfile").read_text()
    Image(base, root).build(text)
    words = [word for name in ("ENTRYPOINT", "CMD") for word in json.loads(dict(read_steps(text))[name])]
    print(f"{root}: built; it runs {shlex.join(words)}")


if __name__ == "__main__":
    main()
