"""`topics/similar_to` as in Discourse: the topics that its composer shows while somebody writes a new one."""

from html import escape
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from askalike.core.records import Question
from askalike.core.values import safe_url
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.service.authorization import GuardedRoute, ReadableArchive
from askalike.service.schema import MAX_BODY_LENGTH, MAX_TITLE_LENGTH

MAX_TOPICS = 5
"""The number that Discourse shows by default."""

router = APIRouter(route_class=GuardedRoute, tags=["drop-in"])
TopicTitle = Annotated[str, Query(max_length=MAX_TITLE_LENGTH, description="the topic's title as typed so far")]
TopicText = Annotated[str, Query(max_length=MAX_BODY_LENGTH, description="its text")]
TopicId = int | str


class Topic(BaseModel):
    """A topic as lists show it. Fields that an archive does not know are empty."""

    id: TopicId
    title: str
    fancy_title: str
    slug: str
    posts_count: int
    reply_count: int
    highest_post_number: int
    image_url: str | None = None
    created_at: str | None
    last_posted_at: str | None = None
    bumped: bool = False
    bumped_at: str | None
    archetype: str = "regular"
    unseen: bool = False
    pinned: bool = False
    unpinned: bool | None = None
    visible: bool = True
    closed: bool
    archived: bool = False
    bookmarked: bool | None = None
    liked: bool | None = None
    tags: list[str]
    views: int = 0
    like_count: int
    has_summary: bool = False
    last_poster_username: str | None = None
    category_id: int | None = None
    pinned_globally: bool = False
    featured_link: str | None = None
    has_accepted_answer: bool
    posters: list[str] = []


class SimilarTopic(BaseModel):
    """The id of a topic, and why it is shown."""

    id: TopicId
    blurb: str
    created_at: str | None
    url: str
    topic_id: TopicId


class SimilarTopics(BaseModel):
    """The similar topics, best first, and the topics themselves."""

    model_config = ConfigDict(populate_by_name=True)
    similar_topics: list[SimilarTopic]
    topics: list[Topic]
    users: list[str] = []
    rest_serializer: str = Field("1", alias="__rest_serializer")


@router.get("/topics/similar_to", summary="Similar topics, for Discourse")
@router.get("/topics/similar_to.json", include_in_schema=False)
@router.get("/similar_topics", include_in_schema=False)
@router.get("/similar_topics.json", include_in_schema=False)
async def similar_to(archive: ReadableArchive, title: TopicTitle, raw: TopicText = "") -> SimilarTopics:
    """Return the questions most similar to a new topic, in the shape of Discourse's own response."""
    return await archive.run_on_retriever(lambda retriever: _search_topics(retriever, title, raw))


def _search_topics(retriever: ArchiveRetriever, title: str, raw: str) -> SimilarTopics:
    hits = retriever.search(title, MAX_TOPICS, body=raw, prefix=True)
    answers = retriever.archive.view().get_answers_to(hit.question.id for hit in hits)
    topics = [_to_topic(hit.question, len(answers[hit.question.id])) for hit in hits]
    similar_topics = [
        SimilarTopic(
            id=topic.id,
            blurb=hit.snippet,
            created_at=topic.created_at,
            url=safe_url(hit.question.url) or f"/t/{topic.id}",
            topic_id=topic.id,
        )
        for hit, topic in zip(hits, topics, strict=True)
    ]
    return SimilarTopics(similar_topics=similar_topics, topics=topics)


def _to_topic(question: Question, n_answers: int) -> Topic:
    return Topic(
        id=to_topic_id(question.id),
        title=question.title,
        fancy_title=escape(question.title),
        slug=slug_from_url(question.url),
        posts_count=1 + n_answers,
        reply_count=n_answers,
        highest_post_number=1 + n_answers,
        created_at=question.created_at,
        bumped_at=question.created_at,
        closed=not {"closed", "locked"}.isdisjoint(question.states),
        tags=list(question.tags),
        like_count=max(question.votes or 0, 0),
        has_accepted_answer="answered" in question.states,
    )


def to_topic_id(id: str) -> TopicId:
    """Return the archive's id, as a number if it is one, as in Discourse."""
    return int(id) if id.isascii() and id.isdigit() and len(id) < 16 else id


def slug_from_url(url: str | None) -> str:
    """Return the part of a topic's URL (`…/t/SLUG/ID`) that is made from its title; `-` without one."""
    parts = (safe_url(url) or "").split("/")
    return parts[parts.index("t") + 1] if "t" in parts[:-2] else "-"
