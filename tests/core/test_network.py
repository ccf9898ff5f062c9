"""Where a server cannot listen, one line says so; both servers use the same function."""

import re
import socket

import pytest

from askalike.core.errors import SettingsError
from askalike.core.network import base_url, listen


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_port_in_use_is_named_in_one_line(host: str) -> None:
    try:
        first = listen(host, 0)
    except SettingsError:
        pytest.skip("needs IPv6")
    with first:
        url, port = base_url(first), first.getsockname()[1]
        assert url == f"http://{'[::1]' if host == '::1' else host}:{port}"
        with pytest.raises(SettingsError) as error:
            listen(host, port)
    address = url.removeprefix("http://")
    expected = f"cannot listen at {address}: Address already in use; choose another --host or --port"
    assert str(error.value) == expected


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(SettingsError, match=re.escape("cannot listen at 192.0.2.1:0: ")):
        listen("192.0.2.1", 0)


def test_a_server_can_listen_again_at_once() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), first.accept()[0]:
            pass
    with listen("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port
