"""`embeddings` and `models` as in OpenAI's API: an archive's encoders for other programs."""

import base64
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, HTTPException
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from askalike.encoders import Role
from askalike.service.authorization import GuardedRoute, OnlyReadableArchive, ReadableArchive
from askalike.service.schema import MAX_BODY_LENGTH
from askalike.service.served_archive import ArchiveEncoders, DimensionsError

MAX_INPUTS = 2_048
"""OpenAI's own limit."""

router = APIRouter(route_class=GuardedRoute, tags=["embeddings"])
only_archive_router = APIRouter(route_class=GuardedRoute, tags=["embeddings"])
"""The same at `/v1`, for a service of one archive and programs that cannot name an archive."""
InputText = Annotated[str, Field(min_length=1, max_length=MAX_BODY_LENGTH)]


class EncodingRequest(BaseModel):
    """Texts to be encoded. Other fields of OpenAI's API (`user`) are ignored."""

    model: Annotated[str, Field(min_length=1, max_length=200, description="the encoder's name")]
    input: InputText | Annotated[list[InputText], Field(min_length=1, max_length=MAX_INPUTS)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None
    input_type: Literal["query", "document"] = Field(
        "document", description="whether the texts are queries or documents; some encoders encode them differently"
    )


class TextVector(BaseModel):
    """The vector of one text: numbers, or the base64 of little-endian float32."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EncodingUsage(BaseModel):
    """Number of encoded words instead of tokens, which encoders count differently."""

    prompt_tokens: int
    total_tokens: int


class EncodingResponse(BaseModel):
    """The texts' vectors in the order of the request. Dot products are the encoder's scores."""

    object: Literal["list"] = "list"
    data: list[TextVector]
    model: str
    usage: EncodingUsage


class ListedEncoder(BaseModel):
    """An encoder by its name."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "askalike"


class ListedEncoders(BaseModel):
    """The archive's encoders."""

    object: Literal["list"] = "list"
    data: list[ListedEncoder]


@router.post("/embeddings", summary="Encode texts")
@router.post("/v1/embeddings", include_in_schema=False)  # for programs that append it to their base URL
async def post_embeddings(archive: ReadableArchive, request: EncodingRequest) -> EncodingResponse:
    """Return the vectors of texts by one of the archive's encoders, in the shape of OpenAI's API."""
    texts = [request.input] if isinstance(request.input, str) else request.input
    role: Role = request.input_type
    try:
        vectors = await archive.encoders.run(lambda e: e.encode(request.model, texts, role, request.dimensions))
    except DimensionsError as error:
        raise HTTPException(422, f"body.{error}") from None
    words = sum(len(text.split()) for text in texts)
    return EncodingResponse(
        data=_to_data(vectors, request.encoding_format),
        model=request.model,
        usage=EncodingUsage(prompt_tokens=words, total_tokens=words),
    )


@router.get("/models", summary="List the encoders")
async def get_models(archive: ReadableArchive) -> ListedEncoders:
    """Return the archive's encoders, in the shape of OpenAI's API."""
    names = await archive.encoders.run(ArchiveEncoders.names)
    return ListedEncoders(data=[ListedEncoder(id=name) for name in names])


@only_archive_router.post("/v1/embeddings", summary="Encode texts, with one archive")
async def post_embeddings_of_only_archive(archive: OnlyReadableArchive, request: EncodingRequest) -> EncodingResponse:
    """Return the same for the only archive that is served."""
    return await post_embeddings(archive, request)


@only_archive_router.get("/v1/models", summary="List the encoders, with one archive")
async def get_models_of_only_archive(archive: OnlyReadableArchive) -> ListedEncoders:
    """Return the same for the only archive that is served."""
    return await get_models(archive)


def _to_data(vectors: NDArray[np.float32], encoding_format: str) -> Sequence[TextVector]:
    if encoding_format == "base64":
        rows: Sequence[list[float] | str] = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    else:
        rows = vectors.tolist()
    return [TextVector.model_construct(object="embedding", index=n, embedding=row) for n, row in enumerate(rows)]
