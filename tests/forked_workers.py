"""`--workers N`: N processes that are forked once all tests are collected run them, each a file at a time.

Processes that import and collect for themselves, as those of pytest-xdist do, spend a sixth of the run on it.
"""

import atexit
import itertools
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest

INTERRUPT_S = 10
Files = list[Sequence[pytest.Item]]
Queue = deque[tuple[int, int]]
"""Stretches of tests: the file, and the first test in it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run the tests in N forked processes")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in workers if there are to be any; what they report is reported here."""
    options = session.config.option
    if not options.workers or options.collectonly or session.testsfailed:
        return None
    files: Files = [list(items) for _, items in itertools.groupby(session.items, lambda item: item.path)]
    queue = deque((number, 0) for number in range(len(files)))
    capture = session.config.pluginmanager.getplugin("capturemanager")
    capture.suspend_global_capture(in_=True)
    workers = [Worker(session, files) for _ in range(min(options.workers, len(files)))]
    try:
        while workers:
            for worker in wait(workers):
                if worker.receive(queue):
                    workers.remove(worker)
                    workers += [Worker(session, files)] if queue else []  # it was killed
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
    finally:
        for worker in workers:
            worker.kill()
        capture.resume_global_capture()
    return True


class Worker:
    """A process that runs the files of tests that it is given, as the first process sees it."""

    def __init__(self, session: pytest.Session, files: Files) -> None:
        self._session, self._files = session, files
        self._given: deque[tuple[int, int]] = deque()
        """File and position of each test that it was given and has not begun."""
        self._running: Any = None
        self._connection, other = Pipe()
        self._pid = os.fork()
        if not self._pid:
            self._connection.close()
            _work(session, files, other)
        other.close()

    def fileno(self) -> int:
        return self._connection.fileno()

    def receive(self, queue: Queue) -> bool:
        """Take one message of it, and give it tests of the queue if it asks for that; return whether it has ended."""
        hook, config = self._session.config.hook, self._session.config
        try:
            name, arguments = self._connection.recv()
        except EOFError:
            self._end(queue)
            return True
        if name == "next":
            self._connection.send(stretch := queue.popleft() if queue else None)
            if stretch:
                number, start = stretch
                self._given.extend((number, n) for n in range(start, len(self._files[number])))
        elif name == "pytest_warning_recorded":
            hook.pytest_warning_recorded.call_historic(kwargs=arguments)
        elif name == "pytest_runtest_logreport":
            report = hook.pytest_report_from_serializable(config=config, data=arguments["report"])
            hook.pytest_runtest_logreport(report=report)
        else:
            self._running = arguments if name == "pytest_runtest_logstart" else None
            if self._running:
                self._given.popleft()
            getattr(hook, name)(**arguments)
        return False

    def _end(self, queue: Queue) -> None:
        """Report the test that it was killed at, and give those that it has left to others."""
        exit_code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if self._running:
            message = f"its process ended with exit code {exit_code}"
            report = pytest.TestReport(**self._running, keywords={}, outcome="failed", longrepr=message, when="call")
            self._session.config.hook.pytest_runtest_logreport(report=report)
        for number, group in itertools.groupby(self._given, lambda place: place[0]):
            queue.append((number, next(group)[1]))

    def kill(self) -> None:
        """Interrupt it, so that it ends what it has started; kill it where it does not."""
        os.kill(self._pid, signal.SIGINT)
        until = time.monotonic() + INTERRUPT_S
        while not os.waitpid(self._pid, os.WNOHANG)[0]:
            if time.monotonic() > until:
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.05)


class Reporter:
    """The plugin of a worker that sends everything it would show."""

    def __init__(self, connection: Connection, config: pytest.Config) -> None:
        self._connection, self._config, self.ready = connection, config, False

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._connection.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._connection.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("pytest_runtest_logreport", {"report": data}))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: Any, nodeid: str) -> None:
        if not self.ready:  # the first process has shown it
            return
        one = warning_message
        plain = warnings.WarningMessage(str(one.message), one.category, one.filename, one.lineno)
        arguments = {"warning_message": plain, "when": when, "nodeid": nodeid, "location": None}
        self._connection.send(("pytest_warning_recorded", arguments))


def _work(session: pytest.Session, files: Files, connection: Connection) -> NoReturn:
    """Run tests until there are no more, in a process of its own, which ends with that."""
    exit_code = 1
    try:
        atexit._clear()  # what the first process has registered
        manager = session.config.pluginmanager
        _capture_separately(manager.getplugin("capturemanager"))
        manager.unregister(name="terminalreporter")
        manager.register(reporter := Reporter(connection, session.config))
        reporter.ready = True
        tests = _receive_tests(files, connection)
        item = next(tests, None)
        while item:
            following = next(tests, None)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following
        exit_code = 0
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        atexit._run_exitfuncs()
        os._exit(exit_code)


def _capture_separately(manager: Any) -> None:
    """Capture output into files of this process's own. What was imported may hold the streams, so these stay."""
    for stream in (manager._global_capturing.out, manager._global_capturing.err):
        if hasattr(stream, "targetfd"):  # files, rather than memory
            with tempfile.TemporaryFile() as file:
                os.dup2(file.fileno(), stream.tmpfile.fileno())
    manager.resume_global_capture()


def _receive_tests(files: Files, connection: Connection) -> Iterator[pytest.Item]:
    """Yield the tests of one file after the other, each asked for when those of the one before have been yielded."""
    while True:
        connection.send(("next", {}))
        if (stretch := connection.recv()) is None:
            return
        number, start = stretch
        yield from files[number][start:]
