"""The API keeps to its own description: schemathesis asks what the description allows, and what it does not."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from serving import Service

import askalike
from askalike.calibration.calibrate import calibrate
from askalike.service.app import create_app
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles
from askalike.store import keys
from random_examples import LONG

if not LONG:
    pytest.skip("many random requests: runs in `make test-long`", allow_module_level=True)
schemathesis = pytest.importorskip("schemathesis")
core = pytest.importorskip("schemathesis.core")

OPTIONS = ("--set", "require_keys=true", "--set", "requests_per_s=0")
ACCEPT_UNKNOWN_PARAMETERS = {
    ("GET", "/v1/{archive}/topics/similar_to"),
    ("GET", "/v1/{archive}/answer/api/v1/question/similar"),
    ("GET", "/v1/{archive}/links"),
    ("GET", "/v1/{archive}/revisions"),
}
"""Discourse adds parameters of its own; OpenAPI cannot say that a route ignores unknown ones."""
EXAMPLES = int(os.environ.get("ASKALIKE_EXAMPLES", 6))  # benchmarks/described.py asks for more


@pytest.fixture(scope="module")
def client(copy) -> Iterator[dict[str, Any]]:
    """The arguments of requests to a service whose archive is calibrated and needs a key."""
    archive = copy()
    with askalike.Archive.open(archive) as opened:
        calibrate(opened, askalike.build("lm_jelinek_mercer")).calibration.save(archive)
        key = keys.create_key(opened, "moderate")
    service = Service(archive, options=OPTIONS)
    yield {"base_url": service.url.geturl(), "headers": {"Authorization": f"Bearer {key}"}}
    assert service.end() == 0
    assert not [line for line in service.lines if "Traceback" in line]


def describe() -> dict[str, Any]:
    described = ServiceSettings(archives=(Path("riverside"),))
    with tempfile.TemporaryDirectory() as folder:
        SharedFiles.create(Path(folder), described)
        return create_app(described, SharedFiles(Path(folder), 1, described)).openapi()


described = describe()
# questions last, as a calibration does not hold for an archive of which they have changed a tenth
described = {**described, "paths": dict(sorted(described["paths"].items(), key=lambda path: "/questions" in path[0]))}
schema = schemathesis.openapi.from_dict(described)


@schema.parametrize()
@settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_the_service_keeps_to_its_description(case: Any, client: dict[str, Any]) -> None:
    if "archive" in case.path_parameters:
        case.path_parameters["archive"] = "riverside"
    if isinstance(case.body, dict) and isinstance(case.body.get("shown_ids"), list) and case.body.get("chosen_id"):
        case.body["shown_ids"] = [*case.body["shown_ids"][:99], case.body["chosen_id"]]  # which no schema can say
    for fields in (case.query, case.body):
        if isinstance(fields, dict) and fields.keys() >= {"after", "before"}:
            del fields["after"]  # no schema can say that it comes first
    items = case.body.get("items") if isinstance(case.body, dict) else None
    for fields in (case.body, *(items if isinstance(items, list) else ())):
        if isinstance(fields, dict) and "source" in fields and fields["source"] == fields.get("target"):
            fields["target"] = "another question"  # no schema can say that they are two
    # numbers in quotes are read as numbers
    accepts_more = case.body is not core.NOT_SET or (case.method, case.path) in ACCEPT_UNKNOWN_PARAMETERS
    lax = [schemathesis.checks.negative_data_rejection] if accepts_more else []
    assert case.call_and_validate(**client, excluded_checks=lax).status_code < 500
