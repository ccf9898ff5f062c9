"""The command line, the service and Python with `--engine`: the same output as with local indexes."""

import json
import shutil

import pytest

import askalike
from askalike.store import Archive
from calibration.riverside import import_riverside
from commands import run_command
from service.serving import Service
from waiting import wait_for

RANKER = ("-r", "lm_jelinek_mercer")


def run(*words: object) -> str:
    code, printed, said = run_command(*words)
    assert code == 0, said
    return printed


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return import_riverside(tmp_path_factory.mktemp("commands") / "library")


def test_output_is_the_same_with_and_without(cluster_url, library, tmp_path, monkeypatch):
    here = run("search", library, "my card was stolen", *RANKER, "--explain")  # it saves the threshold of silence
    shutil.rmtree(library / "index")
    assert "questions indexed for lm_jelinek_mercer" in run(
        "index", library, *RANKER, "--engine", f"opensearch+{cluster_url}"
    )
    assert not (library / "index").exists()
    assert (
        run("search", library, "my card was stolen", *RANKER, "--explain", "--engine", f"opensearch+{cluster_url}")
        == here
    )
    monkeypatch.setenv("ASKALIKE_ENGINE", f"opensearch+{cluster_url}")
    assert run("search", library, "my card was stolen", *RANKER, "--explain") == here
    queries = tmp_path / "queries.jsonl"
    queries.write_text(json.dumps({"id": "q", "title": "opening hours"}) + "\n")
    run("rank", library, "--queries", queries, "-o", tmp_path / "run", *RANKER)
    with askalike.load(library, "lm_jelinek_mercer", engine=f"opensearch+{cluster_url}") as desk:
        assert desk.search("opening hours")[0].id == (tmp_path / "run").read_text().split()[2]


@pytest.mark.long
def test_evaluation_calibration_and_dedupe_agree_with_local(cluster_url, tmp_path):
    path = import_riverside(tmp_path / "library")
    results = []
    for engine in ((), ("--engine", f"opensearch+{cluster_url}")):
        measured = json.loads(run("evaluate", path, *RANKER, *engine, "--json"))["measures"]
        calibrated = json.loads(run("calibrate", path, *RANKER, *engine, "--json"))
        (path / "index" / "neighbours-lm_jelinek_mercer.jsonl").unlink(missing_ok=True)
        run("dedupe", path, *RANKER, *engine, "-o", tmp_path / "clusters.csv")
        first = {name: calibrated["first_hits"][name] for name in ("n", "clusters", "base_rate", "error", "skill")}
        results.append((measured, (tmp_path / "clusters.csv").read_text(), first))
    (here, clusters, first), (there, *others) = results
    assert there == here
    assert others == [clusters, pytest.approx(first, rel=1e-3)]
    settings = tmp_path / "experiment.toml"
    settings.write_text(
        f'title = "There"\narchive = "{path}"\nsplit = "duplicates"\nengine = "opensearch+{cluster_url}"\n'
        '[[system]]\nranker = "lm_jelinek_mercer"\n'
    )
    run("experiment", settings, "-o", tmp_path / "run")
    [system] = json.loads((tmp_path / "run" / "report.json").read_text())["systems"]
    assert system["measures"]["AP"]["mean"] == here["AP"]["mean"]


@pytest.mark.long
def test_status_tells_lag_and_drop_removes_everything(cluster_url, tmp_path):
    path = import_riverside(tmp_path / "library")
    engine = ("--engine", f"opensearch+{cluster_url}")
    assert (
        "run: askalike index" in json.loads(run("opensearch", "status", path, *RANKER, *engine, "--json"))[0]["advice"]
    )
    run("index", path, *RANKER, *engine)
    [status] = json.loads(run("opensearch", "status", path, *RANKER, *engine, "--json"))
    with Archive.open(path) as archive:
        assert (status["behind"], status["advice"]) == (0, "")
        assert status["documents"] >= len(archive.view())
        archive.upsert([askalike.Question("new", "Is there a samovar?")])
    assert json.loads(run("opensearch", "status", path, *RANKER, *engine, "--json"))[0]["behind"] == 1
    run("index", path, *RANKER, *engine, "--rebuild")
    [status] = json.loads(run("opensearch", "status", path, *RANKER, *engine, "--json"))
    assert (status["behind"], len(status["generations"])) == (0, 1)
    assert status["generations"][0].endswith("-000002")
    assert run("opensearch", "drop", path, *engine, "--yes") == "1 index removed\n"
    assert json.loads(run("opensearch", "status", path, *RANKER, *engine, "--json"))[0]["health"] == "absent"


@pytest.mark.long
def test_two_services_share_an_archive_and_its_cluster(cluster_url, tmp_path):
    path = import_riverside(tmp_path / "library")
    services = [Service(path, options=("--engine", f"opensearch+{cluster_url}")) for _ in range(2)]
    try:
        first, second = services
        body = {"title": "Is there a samovar in the reading room?"}
        assert first.send("PUT", "/v1/library/questions/new", body).status in (200, 201)
        for service in services:
            wait_for(lambda service=service: "new" in service.get("/v1/library/similar?title=samovar").body.decode())
        first.end()
        assert second.get("/v1/library/similar?title=samovar").json["results"][0]["id"] == "new"
    finally:
        for service in services:
            if service.process.poll() is None:
                service.end()
    assert not list(path.glob("index/terms*"))
