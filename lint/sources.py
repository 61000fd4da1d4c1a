# SPDX-License-Identifier: BSD-3-Clause
"""Which files the checks read, what each of them includes, and what was found clean before.

A result is remembered under build/lint by a hash of the command, the tool and the text of the file and of all
project headers it reaches, so that a check repeats only what can have changed.
"""
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys
import zlib

FOLDERS = ("include", "src", "bindings", "tools", "examples", "bench", "tests")
CODE = {".h", ".hpp", ".c", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)


def root_given() -> pathlib.Path:
    """The root of the tree to check: the first argument of the command, or else the current folder."""
    return pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def code_files(root: pathlib.Path, folders=FOLDERS) -> list[pathlib.Path]:
    """Every C and C++ file of the given folders, sorted."""
    return sorted(p for folder in folders for p in (root / folder).rglob("*") if p.suffix in CODE)


def share_of(root: pathlib.Path, share: int):
    """Whether it is a file's turn: one in `share`, others with the next commit."""
    counted = subprocess.run(["git", "-C", str(root), "rev-list", "--count", "HEAD"], capture_output=True, text=True)
    turn = int(counted.stdout) % share if counted.returncode == 0 else 0
    return lambda file: zlib.crc32(str(file.relative_to(root)).encode()) % share == turn


class Closure:
    """The project files a file includes, directly or not."""

    def __init__(self, search: list[pathlib.Path]):
        self._search = search
        self._direct: dict[pathlib.Path, list[pathlib.Path]] = {}

    def _includes(self, file: pathlib.Path) -> list[pathlib.Path]:
        if file not in self._direct:
            found = []
            for name in INCLUDE.findall(file.read_text(errors="replace")):
                for folder in (file.parent, *self._search):
                    if (folder / name).is_file():
                        found.append((folder / name).resolve())
                        break
            self._direct[file] = found
        return self._direct[file]

    def of(self, file: pathlib.Path) -> list[pathlib.Path]:
        """The file itself and all it reaches, sorted."""
        reached, todo = set(), [file.resolve()]
        while todo:
            here = todo.pop()
            if here not in reached:
                reached.add(here)
                todo.extend(self._includes(here))
        return sorted(reached)


class Remembered:
    """Runs commands about files in parallel, except those whose inputs were found clean before."""

    def __init__(self, folder: pathlib.Path, closure: Closure, jobs: int, salt: str):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._closure, self._jobs, self._salt = folder, closure, jobs, salt

    def _key(self, file: pathlib.Path, command: list[str]) -> str:
        digest = hashlib.sha256((self._salt + "\0" + "\0".join(command)).encode())
        for part in self._closure.of(file):
            digest.update(str(part).encode() + b"\0" + part.read_bytes())
        return digest.hexdigest()

    def run(self, work: list[tuple[pathlib.Path, list[str]]], findings=str.strip) -> tuple[int, int]:
        """Runs each (file, command) that is not known clean; prints the findings of those that fail.

        findings turns a command's output into what is printed; the same text is printed once.
        Returns (how many ran, how many failed).
        """
        due = [(self._key(file, command), command) for file, command in work]
        due = [(key, command) for key, command in due if not (self._folder / key).exists()]

        def one(item):
            key, command = item
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode == 0:
                (self._folder / key).touch()
            return done

        failed, printed = 0, set()
        with concurrent.futures.ThreadPoolExecutor(max(1, self._jobs)) as pool:
            for done in pool.map(one, due):
                if done.returncode != 0:
                    failed += 1
                    for finding in findings(done.stdout).split("\n\n"):
                        if finding not in printed:
                            printed.add(finding)
                            print(finding)
        return len(due), failed
