"""Files that hold no text are refused by what they are, and not by their first byte that is not UTF-8."""

import gzip
import io
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from askalike.core.errors import InputError
from askalike.readers import import_archive


def test_files_without_text_are_named_with_advice(tmp_path: Path) -> None:
    contents = {
        "faq.csv.gz": (gzip.compress(zipped("xl/workbook.xml")), "an Excel file; read it, unpacked, with:"),
        "faq.ods": (zipped("mimetype"), "a LibreOffice spreadsheet; save it as .xlsx"),
        "faq.zip": (zipped("faq.csv"), "a ZIP archive; unpack it"),
        "faq.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "a file of an old Office program"),
        "faq.pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF; "),
        "faq.parquet": (b"PAR1\x15\0", "askalike import parquet"),
        "faq.7z": (b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive; unpack it"),
    }
    for name, (content, advice) in contents.items():
        (tmp_path / name).write_bytes(content)
        for encoding in (None, "cp1252"):
            with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path / name))}: is not text but .*{advice}"):
                import_archive("table", [tmp_path / name], tmp_path / "out", encoding=encoding)
    with closing(sqlite3.connect(tmp_path / "faq.db")) as database:
        database.execute("CREATE TABLE faq (question, answer)")
    with pytest.raises(InputError, match=r"faq\.db: is not text but an SQLite database; export"):
        import_archive("table", [tmp_path / "faq.db"], tmp_path / "out")


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "application/vnd.oasis.opendocument.spreadsheet" if name == "mimetype" else "<x/>")
    return file.getvalue()
