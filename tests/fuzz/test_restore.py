"""Random damage to a backup: it is refused in one line, or restores what was saved. `make fuzz` sets FUZZ_S."""

import random
import shutil
from pathlib import Path

import pytest
from damage import damage, seeds

from askalike.core.errors import ArchiveError
from askalike.core.records import Question
from askalike.store.archive import Archive
from askalike.store.backup import backup, restore

pytestmark = pytest.mark.fuzz


def test_damaged_backup_restores_all_or_nothing(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "a") as archive:
        archive.upsert(Question(f"q{n}", f"Question {n}", "b" * 100) for n in range(50))
    (tmp_path / "a" / "models" / "m").mkdir(parents=True)
    (tmp_path / "a" / "models" / "m" / "model.toml").write_text("name = 'm'\n")
    manifest = backup(tmp_path / "a", tmp_path / "good.tar")
    content, target = (tmp_path / "good.tar").read_bytes(), tmp_path / "restored"
    for seed in seeds():
        dice = random.Random(seed)
        head = 4096 if dice.random() < 0.5 else len(content)  # the manifest and the first headers are read most
        (tmp_path / "bad.tar").write_bytes(damage(content[:head], dice) + content[head:])
        try:
            restored = restore(tmp_path / "bad.tar", target)
        except ArchiveError as error:
            told = str(error)
            assert "\n" not in told, f"seed {seed}"
            assert not target.exists(), f"seed {seed}"
            continue
        assert restored.content_hash == manifest.content_hash, f"seed {seed}"
        shutil.rmtree(target)
