"""`embeddings` in OpenAI's shape, asked by OpenAI's own client."""

import base64
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from serving import Service, create_key

from askalike.encoders import encode_texts

openai = pytest.importorskip("openai", reason="needs OpenAI's client")

V1 = "/v1/riverside"
TEXTS = ["I lost my library card", "Where is the tram to the museum?", "xq"]


@pytest.fixture
def client_of() -> Iterator[Callable[..., "openai.OpenAI"]]:
    """Make clients of a service, which are closed after the test."""
    with ExitStack() as clients:

        def make_client(service: Service, path: str = V1, key: str = "none") -> "openai.OpenAI":
            url = f"{service.url.geturl()}{path}"
            return clients.enter_context(openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=120))

        yield make_client


@pytest.fixture
def client(client_of: Callable[..., "openai.OpenAI"], service: Service) -> "openai.OpenAI":
    return client_of(service)


def test_client_gets_vectors_in_both_formats(client: "openai.OpenAI") -> None:
    expected = encode_texts(TEXTS)
    for encoding_format in ("float", "base64"):
        response = client.embeddings.create(model="static", input=TEXTS, encoding_format=encoding_format)
        rows = [each.embedding for each in response.data]
        if encoding_format == "base64":
            rows = [np.frombuffer(base64.b64decode(row), "<f4") for row in rows]
        np.testing.assert_allclose(np.array(rows), expected, atol=1e-6)
        assert [each.index for each in response.data] == [0, 1, 2]
        assert (response.object, response.model, response.usage.prompt_tokens) == ("list", "static", 13)


def test_fewer_dimensions_are_the_first_of_length_1(client: "openai.OpenAI") -> None:
    [vector] = client.embeddings.create(model="static", input=TEXTS[0], dimensions=64).data
    whole = encode_texts(TEXTS[:1])[0][:64]
    np.testing.assert_allclose(np.array(vector.embedding), whole / np.linalg.norm(whole), atol=1e-6)
    with pytest.raises(openai.UnprocessableEntityError, match="dimensions: static has 256, got 5000"):
        client.embeddings.create(model="static", input="x", dimensions=5_000)


def test_the_only_archive_needs_no_name(client_of, service: Service) -> None:  # type: ignore[no-untyped-def]
    for path in ("/v1", f"{V1}/v1"):
        response = client_of(service, path).embeddings.create(model="static", input=TEXTS[0])
        assert len(response.data[0].embedding) == 256
    assert [model.id for model in client_of(service, "/v1").models.list()] == ["static", "minilm_l6"]
    assert [model.id for model in client_of(service).models.list()] == ["static", "minilm_l6"]


def test_what_cannot_be_encoded_is_refused(client: "openai.OpenAI") -> None:
    with pytest.raises(openai.NotFoundError, match="no encoder 'gpt'; there are: static"):
        client.embeddings.create(model="gpt", input="x")
    for wrong in ("", [], [""], ["x"] * 2_049, [[1, 2, 3]]):
        with pytest.raises(openai.UnprocessableEntityError, match="input"):
            client.embeddings.create(model="static", input=wrong)


def test_a_key_is_needed_where_keys_are(client_of, serve, archive: Path) -> None:  # type: ignore[no-untyped-def]
    key, page_key = create_key(archive), create_key(archive, origin="https://forum.example")
    options = ("--set", "require_keys=true", "--set", "requests_per_s=0.01", "--set", "burst=4")
    service = serve(archive, options=options)
    for path in ("/v1", V1):
        with pytest.raises(openai.AuthenticationError):
            client_of(service, path).embeddings.create(model="static", input="x")
        assert client_of(service, path, key).embeddings.create(model="static", input="x").data
    headers = {"Origin": "https://forum.example"}
    with pytest.raises(openai.PermissionDeniedError):
        client_of(service, "/v1", page_key).embeddings.create(model="static", input="x", extra_headers=headers)
    with pytest.raises(openai.RateLimitError):
        for _ in range(4):
            client_of(service, V1, key).embeddings.create(model="static", input="x")
