import json
import subprocess
import sys
from pathlib import Path

import pytest
import Stemmer
from hypothesis import given, strategies as st

from askalike.text import language as _language_model
from askalike.text.language import LANGUAGES, detect_foreign_language, detect_language

TEXTS = {
    "en": "How do I reset the password of my account?",
    "de": "Wie kann ich das Passwort meines Kontos zurücksetzen?",
    "fr": "Comment puis-je réinitialiser le mot de passe de mon compte ?",
    "es": "¿Cómo puedo restablecer la contraseña de mi cuenta?",
    "ru": "Как мне сбросить пароль от моей учётной записи?",
    "zh": "如何重置我的帐户密码？",
    "ja": "アカウントのパスワードを再設定する方法は？",
    "ko": "계정 비밀번호를 재설정하려면 어떻게 해야 하나요?",
}


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_told_apart(language: str) -> None:
    assert detect_language(TEXTS[language]) == language
    assert detect_language(TEXTS[language], candidates=list(TEXTS)) == language


def test_latin_names_do_not_hide_a_script() -> None:
    assert detect_language("在 Ubuntu 上如何安装 Python 和 pip") == "zh"


@pytest.mark.parametrize("text", ["", "   ", "123 + 456?", "\0\x01", "OK", "\ud800"])
def test_too_little_text_is_not_certain(text: str) -> None:
    assert detect_language(text) is None


def test_only_the_languages_asked_for_are_answered() -> None:
    assert detect_language(TEXTS["zh"], candidates=["en", "de"]) is None
    assert detect_language(TEXTS["ru"], candidates=["en", "de"]) is None
    assert detect_language(TEXTS["en"], candidates=[]) is None


@pytest.mark.parametrize(
    ("text", "own", "foreign"),
    [
        ("comment annuler une réservation de salle", ["en"], "fr"),
        ("COMMENT ANNULER UNE RÉSERVATION DE SALLE", ["en"], "fr"),
        ("¿dónde puedo aparcar mi barco?", ["en", "de"], "es"),
        ("¿dónde puedo aparcar mi barco?", ["en", "es"], None),
        ("где мой читательский билет", ["en"], "ru"),
        ("予約を取り消したい", ["zh"], "ja"),
        ("予約", ["ja"], None),
        ("Debian apt", ["en"], None),
        ("tasksel", ["en"], None),
        ("can i cancel", ["en"], None),
        ("42", ["en"], None),
        ("my boat", ["xx"], None),
    ],
)
def test_few_words_tell_what_they_are_not(text: str, own: list[str], foreign: str | None) -> None:
    assert detect_foreign_language(text, own) == foreign


def test_every_stemmer_named_is_there() -> None:
    assert {name for name in LANGUAGES.values() if name} <= set(Stemmer.algorithms())


@given(st.text(max_size=50))
def test_any_text_is_taken(text: str) -> None:
    assert detect_language(text) in {None, *LANGUAGES}


def test_russian_questions(shared_data: Path) -> None:
    rows = json.loads((shared_data / "rubq-ru/RuBQ_1.0_dev.json").read_text(encoding="utf-8"))
    languages = [detect_language(row["question_text"]) for row in rows]
    assert languages.count("ru") > 0.9 * len(languages)
    assert len(languages) - languages.count("ru") - languages.count(None) < 0.01 * len(languages)


def test_the_model_is_loaded_only_when_needed() -> None:
    code = "import sys, askalike.text.analyzer; sys.exit('py3langid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.long
def test_unpacked_model_agrees_with_the_packed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    def rank_texts(identifier):
        return [identifier.rank(text) for text in TEXTS.values()]

    load = _language_model._load_identifier.__wrapped__
    expected = rank_texts(LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert rank_texts(load()) == rank_texts(load()) == expected
    (folder,) = (tmp_path / "askalike").iterdir()
    file = folder / "nextmove.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:-40_000] + bytes([whole[-40_000] ^ 1]) + whole[-39_999:])
    assert rank_texts(load()) == expected
    assert file.read_bytes() == whole, "it is made again"
    file.chmod(0o666)
    assert rank_texts(load()) == expected
    assert not file.stat().st_mode & 0o022, "one that others could have written is replaced"
    assert rank_texts(load()) == expected
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert rank_texts(load()) == expected
