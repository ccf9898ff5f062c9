"""The class path of an OpenSearch node: Maven artifacts in the user's cache, and the compiled launcher."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

HERE = Path(__file__).parent
MIN_JDK = 21
KNN_PLUGIN = "org.opensearch.plugin:opensearch-knn:3.5.0.0:zip"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
DOWNLOAD_TIMEOUT_S = 600
JDK_FOLDERS = (Path("/usr/lib/jvm"), Path("/opt"), Path.home() / ".sdkman/candidates/java")


class NoClusterError(Exception):
    """The reason why no node can be started on this machine."""


def find_jdk() -> Path:
    """Return the home of a JDK of at least MIN_JDK: `JAVA_HOME`, else the newest one in the usual folders."""
    homes = [Path(home)] if (home := os.environ.get("JAVA_HOME")) else []
    homes += [path.parent.parent for folder in JDK_FOLDERS for path in folder.glob("*/bin/javac")]
    versions = {home: version for home in homes if (version := _jdk_version(home)) >= MIN_JDK}
    if not versions:
        raise NoClusterError(f"no JDK from {MIN_JDK} on; install one, or set JAVA_HOME to it")
    return max(versions, key=lambda home: (home == homes[0] and "JAVA_HOME" in os.environ, versions[home]))


def class_path(jdk: Path) -> str:
    """Return the class path of the launcher. Downloads the jars (76 MB) if they are not in the user's cache."""
    digest = hashlib.sha256((HERE / "pom.xml").read_bytes() + KNN_PLUGIN.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askalike" / "opensearch"
    folder = cache / digest
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _download(folder)
        source = HERE / "Launcher.java"
        launcher = folder / f"launcher-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
        if not launcher.exists():
            _run(str(jdk / "bin" / "javac"), "-cp", f"{folder}/*", "-d", str(launcher), str(source))
    return f"{launcher}:{folder}/*"


def _jdk_version(home: Path) -> int:
    """Return the JDK's major version from its file `release`; 0 if it has none."""
    try:
        match = re.search(r'JAVA_VERSION="(\d+)', (home / "release").read_text())
    except OSError:
        return 0
    return int(match[1]) if match else 0


def _download(folder: Path) -> None:
    if not shutil.which("mvn"):
        raise NoClusterError("Maven (mvn) is not on the PATH, and the jars of OpenSearch are not cached yet")
    partial = folder.with_suffix(".new")
    shutil.rmtree(partial, ignore_errors=True)
    maven, into = ("mvn", "-q", "-B", "-f", str(HERE / "pom.xml")), f"-DoutputDirectory={partial}"
    _run(*maven, f"{DEPENDENCY_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", into)
    _run(*maven, f"{DEPENDENCY_PLUGIN}:copy", f"-Dartifact={KNN_PLUGIN}", into)
    for archive in partial.glob("*.zip"):
        with ZipFile(archive) as plugin:
            for name in plugin.namelist():
                if name.endswith(".jar") and not (partial / Path(name).name).exists():
                    (partial / Path(name).name).write_bytes(plugin.read(name))
        archive.unlink()
    partial.rename(folder)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S)
    except (subprocess.SubprocessError, OSError) as error:
        output = getattr(error, "stdout", "") or str(error)
        raise NoClusterError(f"{' '.join(command[:1])} failed: {str(output).strip()[-500:]}") from None
