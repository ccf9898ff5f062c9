"""An archive with schema 14, as it was before 0.1.0, is carried over: rows, settings, calibrations and models."""

import json
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from carry_over import OLD_TABLES, carry_over

from askalike import Archive, ArchiveError
from askalike.calibration.calibration import Calibration
from askalike.store import get_served_ranker
from askalike.store.candidate_pairs import get_proposal, load_scan
from askalike.store.drafts import list_drafts
from askalike.store.labels import partition_parts
from askalike.store.query_log import read_unhelped_queries
from askalike.store.revisions import get_revisions

DATA = Path(__file__).parent / "data"


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "old"
    (folder / "calibration").mkdir(parents=True)
    with closing(sqlite3.connect(folder / "archive.sqlite")) as connection:
        connection.executescript((DATA / "schema14.sql").read_text(encoding="utf-8"))
    (folder / "calibration" / "old.json").write_bytes((DATA / "schema14-calibration.json").read_bytes())
    (folder / "models" / "mine").mkdir(parents=True)
    (folder / "models" / "mine" / "model.toml").write_text(
        '[network]\nhidden = 8\n[embeddings]\nstart = "random"\n[trained]\nknows_until = "2024"\n', encoding="utf-8"
    )
    return folder


def test_carry_over_keeps_all_rows(old, tmp_path):
    carry_over(old, tmp_path / "new")
    with closing(sqlite3.connect(old / "archive.sqlite")) as before, Archive.open(tmp_path / "new") as archive:
        after = archive._connection
        names = [name for (name,) in after.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            counts = [c.execute(f"SELECT COUNT(*) FROM {t}").fetchone() for c, t in (
                (before, OLD_TABLES.get(name, name)), (after, name),
            )]  # fmt: skip
            assert counts[0] == counts[1], name
        assert len(archive.view()) == 7
        assert archive.view().sources(["r002"]) == {"r002": "few"}
        assert [r.edited_by for r in get_revisions(archive, "r001")] == ["someone"]
        assert get_served_ranker(archive).settings["static.min_score"] == 0.2
        assert get_served_ranker(archive).selection_query_ids == {"r002"}
        assert (get_proposal(archive, 1).state, get_proposal(archive, 1).decided_by) == ("accepted", "someone")
        assert load_scan(archive, "f" * 8).duplicate_rate == 0.1
        assert [draft.source_ids for draft in list_drafts(archive)] == [("r004",)]
        assert list(partition_parts(archive)) == ["cut/1", "cut/2"]
        assert not list(read_unhelped_queries(archive))
        archive.upsert([next(q for _, q in archive.view().questions())])


def test_carry_over_renames_keys_of_files(old, tmp_path):
    carry_over(old, tmp_path / "new")
    [path] = (tmp_path / "new" / "calibration").glob("*.json")
    calibration = Calibration.model_validate_json(path.read_text(encoding="utf-8"))
    assert calibration.first_hit_curve
    assert calibration.quality
    assert calibration.queries == json.loads((DATA / "schema14-calibration.json").read_text())["queries"]
    model = tomllib.loads((tmp_path / "new" / "models" / "mine" / "model.toml").read_text(encoding="utf-8"))
    assert model == {"network": {"hidden": 8}, "embeddings": {"init": "random"}, "trained": {"trained_until": "2024"}}


def test_carry_over_refuses_other_archives(old, tmp_path):
    with pytest.raises(ArchiveError, match="already exists"):
        carry_over(old, old)
    Archive.create(tmp_path / "today").close()
    with pytest.raises(ArchiveError, match="has schema 1; expected 14"):
        carry_over(tmp_path / "today", tmp_path / "new")
