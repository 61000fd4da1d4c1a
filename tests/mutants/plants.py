# SPDX-License-Identifier: BSD-3-Clause
"""Plants one defect after the other into a layer and lets its tests find it.

The sources stay as they are: a changed copy of the layer is compiled with its tests in a folder of its own. Of a layer that is
more than headers, the sources that may be changed are compiled too, and linked before the built libraries, whose own objects of
them are then not taken. A rule whose text is no longer found, once, is an error: the rule is to be mended with the code. Prints a table; ends with 1 when a defect
stays unnoticed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Plants:
    """The defects of a layer.

    layer    folder of src
    tests    sources of the test program, besides the support that all have
    mutants  name: (file, text, instead)
    sources  of the layer, by their names in its folder, that may be changed or include what may be
    layers   whose libraries the tests need, from a tree that compiles each file by itself (the preset mutants)
    """

    SECONDS = 200  # a test that takes longer does not end
    SUPPORT = ["tests/support/interleave.cpp", "tests/support/weak_memory.cpp", "tests/support/watchdog.cpp"]
    COMPILE = ["c++", "-O1", "-std=c++20", "-c"]

    def __init__(self, layer: str, tests: list[str], mutants: dict[str, tuple[str, str, str]], sources: tuple[str, ...] = (),
                 layers: tuple[str, ...] = ()) -> None:
        self.layer = layer
        self.tests = tests
        self.mutants = mutants
        self.sources = sources
        self.layers = layers
        self.tree = ROOT / "build/mutants"
        self.shared = tempfile.TemporaryDirectory()  # objects shared by all defects: the support, and GoogleTest's compiled header
        self.has_shared = False

    def source(self, name: str) -> str:
        return (ROOT / "src" / self.layer / self.mutants[name][0]).read_text()

    def misfit(self, name: str) -> str | None:
        """Why a rule cannot be applied; None: it can."""
        file, text, _ = self.mutants[name]
        count = self.source(name).count(text)
        return None if count == 1 else f"{name}: its text stands {count} times in src/{self.layer}/{file}; mend the rule"

    def changed(self, name: str) -> str:
        _, text, instead = self.mutants[name]
        return self.source(name).replace(text, instead)

    @staticmethod
    def run(name: str, commands: list[list[str]]) -> None:
        """Runs them side by side."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in pool.map(lambda command: subprocess.run(command, capture_output=True, text=True, check=False), commands):
                if done.returncode != 0:
                    raise SystemExit(f"{name}: does not compile\n{done.stderr[:2000]}")

    def build_shared(self) -> None:
        if self.has_shared:
            return
        folder = pathlib.Path(self.shared.name)
        (folder / "gtest.hpp").write_text("#include <gtest/gtest.h>\n#include <functional>\n#include <map>\n#include <deque>\n")
        self.run("the support", [[*self.COMPILE, "-x", "c++-header", str(folder / "gtest.hpp")]] +
                 [[*self.COMPILE, f"-I{ROOT}/src", f"-I{ROOT}/tests", str(ROOT / source), "-o", str(folder / f"{pathlib.Path(source).stem}.o")]
                  for source in self.SUPPORT])
        self.has_shared = True

    def compilation(self, source: pathlib.Path, made: pathlib.Path, *includes: str) -> list[str]:
        return [*self.COMPILE, "-include", f"{self.shared.name}/gtest.hpp", *includes, f"-I{ROOT}/src", f"-I{ROOT}/include",
                f"-I{ROOT}/tests", str(source), "-o", str(made)]

    def unchanged(self, sources: list[pathlib.Path]) -> list[pathlib.Path]:
        """The objects of sources that no defect of another source changes; each is compiled once."""
        folder = pathlib.Path(self.shared.name) / "unchanged"
        folder.mkdir(exist_ok=True)
        made = {source: folder / f"{source.stem}.o" for source in sources}
        self.run("the layer", [self.compilation(source, file) for source, file in made.items() if not file.exists()])
        return list(made.values())

    def build(self, name: str, folder: pathlib.Path) -> pathlib.Path:
        self.build_shared()
        changed = self.mutants[name][0]
        shutil.copytree(ROOT / "src" / self.layer, folder / self.layer)
        (folder / self.layer / changed).write_text(self.changed(name))
        program = folder / f"unit_{self.layer}"
        tests = [ROOT / test for test in self.tests]
        if changed in self.sources:  # no other source includes it
            compiled = [folder / self.layer / changed]
            objects = self.unchanged(tests + [ROOT / "src" / self.layer / source for source in self.sources if source != changed])
        else:
            compiled = tests + [folder / self.layer / source for source in self.sources]
            objects = []
        made = [folder / f"{source.stem}.o" for source in compiled]
        self.run(name, [self.compilation(source, file, f"-I{folder}") for source, file in zip(compiled, made)])
        libraries = [str(self.tree / f"lib/libacp_{layer}.a") for layer in self.layers]
        self.run(name, [["c++", "-o", str(program), *map(str, made + objects), *map(str, pathlib.Path(self.shared.name).glob("*.o")),
                         "-Wl,--start-group", *libraries, "-Wl,--end-group", "-lgtest", "-lgtest_main", "-lpthread"]])
        return program

    def finder(self, name: str) -> str | None:
        """The first test that finds a defect; "a test" where none ended; None: it stays unnoticed."""
        with tempfile.TemporaryDirectory() as folder:
            program = self.build(name, pathlib.Path(folder))
            try:
                done = subprocess.run([str(program), "--gtest_brief=1", "--gtest_fail_fast"], capture_output=True, text=True,
                                      errors="replace", timeout=self.SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return "a test that does not end"
        if done.returncode == 0:
            return None
        failed = [line.split("]")[1].split("(")[0].split(",")[0].strip() for line in done.stdout.splitlines()
                  if line.startswith("[  FAILED  ]") and " ms)" in line]
        return failed[0] if failed else "a test that crashed"

    def main(self) -> int:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--check", action="store_true", help="only whether the rules fit the sources")
        parser.add_argument("--only", help="the defects whose names contain this")
        parser.add_argument("--build", type=pathlib.Path, default=self.tree, help="a tree built by the preset mutants, for the libraries")
        options = parser.parse_args()
        self.tree = options.build.resolve()
        names = [name for name in self.mutants if options.only is None or options.only in name]
        misfits = [misfit for name in names if (misfit := self.misfit(name))]
        if misfits:
            raise SystemExit("\n".join(misfits))
        if options.check:
            return 0
        unnoticed = 0
        for number, name in enumerate(names, 1):
            if sys.stderr.isatty():
                print(f"\r\033[K[{number}/{len(names)}] {name}", end="", file=sys.stderr)
            finder = self.finder(name)
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
            print(f"{'found' if finder else 'UNNOTICED':10} {name:42} {finder or ''}", flush=True)
            unnoticed += finder is None
        print(f"{len(names) - unnoticed} of {len(names)} defects found")
        return 1 if unnoticed else 0
