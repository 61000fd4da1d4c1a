# SPDX-License-Identifier: BSD-3-Clause
"""Small trees of sources for the tests of lint checks."""
import contextlib
import io
import pathlib
import tempfile
import textwrap


def findings_in(files: dict[str, str], check) -> list[str]:
    """What check(root) prints about a tree of these files; it returns 1 if it prints anything, else 0."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = check(pathlib.Path(folder))
    lines = said.getvalue().splitlines()
    assert code == (1 if lines else 0)
    return lines
