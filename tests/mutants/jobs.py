# SPDX-License-Identifier: BSD-3-Clause
"""Plants one defect after the other into a layer and lets the ranks of a job find it.

For defects that only real nodes show: in the tree of the tests a changed copy of one source is compiled as that tree compiles it, and
linked into a copy of libacp.so in a folder of its own. Programs of the tests run with that library, after they have passed with the
library of the tree; the agents are those of the tree. Prints the table of plants.py.
"""
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

from plants import ROOT, Plants


class JobPlants(Plants):
    """The defects of a layer that jobs find.

    mutants  name: (file, text, instead, job): `file` is a source, not a header, below src/ or of the layer
    jobs     name: (program, arguments of acprun or None, filter of its tests, variables)
    """

    def __init__(self, layer: str, mutants: dict[str, tuple[str, str, str, str]],
                 jobs: dict[str, tuple[str, list[str] | None, str, dict[str, str]]]) -> None:
        super().__init__(layer, [], {name: rule[:3] for name, rule in mutants.items()})
        self.job_of = {name: rule[3] for name, rule in mutants.items()}
        self.jobs = jobs
        self.tests_tree = ROOT / "build/release"  # of the preset test
        self.sound: set[str] = set()  # jobs that pass without a defect

    def path(self, name: str) -> str:
        file = self.mutants[name][0]
        return file if "/" in file else f"{self.layer}/{file}"

    def source(self, name: str) -> str:
        return (ROOT / "src" / self.path(name)).read_text()

    def unit(self, path: str) -> pathlib.Path:
        """What the tree compiles for a source: several sources at once, or that one."""
        folder = self.tests_tree / f"CMakeFiles/acp_{path.split('/')[0]}.dir/Unity"
        for unity in sorted(folder.glob("*.cxx")):
            if f"/src/{path}" in unity.read_text():
                return unity
        return ROOT / "src" / path

    def compilation_of(self, unit: pathlib.Path, room: str) -> list[str]:
        """The command by which the tree compiles it for its layer."""
        for entry in json.loads((self.tests_tree / "compile_commands.json").read_text()):
            if entry["file"] == str(unit) and f"acp_{room}.dir/" in entry["command"]:
                return shlex.split(entry["command"])
        raise SystemExit(f"{unit} is not compiled in {self.tests_tree}")

    def linking(self, library: str) -> list[str]:
        """The command by which the tree links libacp.so, made by Ninja or by make."""
        made = self.tests_tree / "CMakeFiles/acp.dir/link.txt"
        if made.exists():
            return shlex.split(made.read_text())
        done = subprocess.run(["ninja", "-C", str(self.tests_tree), "-t", "commands", library], capture_output=True, text=True, check=True)
        return shlex.split(done.stdout.splitlines()[-1].removeprefix(": && ").removesuffix(" && :"))

    def build_library(self, name: str, folder: pathlib.Path) -> None:
        """libacp.so with the defect, in the folder."""
        path = self.path(name)
        changed = folder / pathlib.Path(path).name
        changed.write_text(self.changed(name))
        unit = self.unit(path)
        compiled = changed
        if unit.suffix == ".cxx":
            compiled = folder / unit.name
            compiled.write_text(unit.read_text().replace(str(ROOT / "src" / path), str(changed)))
        compilation = self.compilation_of(unit, path.split("/")[0])
        target = compilation[compilation.index("-o") + 1]
        made = folder / "changed.o"
        library = next(path.name for path in (self.tests_tree / "lib").glob("libacp.so.*.*"))
        replaced = {str(unit): str(compiled), target: str(made), f"{target}.d": f"{made}.d", f"lib/{library}": str(folder / library)}
        # Without warnings: a parameter may be unused.
        for command in ([*compilation, "-w"], self.linking(f"lib/{library}")):
            done = subprocess.run([replaced.get(word, word) for word in command], cwd=self.tests_tree, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{name}: does not build\n{done.stderr[:2000]}")
        (folder / ".".join(library.split(".")[:3])).symlink_to(library)

    def run_job(self, job: str, library_folder: pathlib.Path) -> str | None:
        """The first test of a job that fails with the library of a folder; None: all pass."""
        program, arguments, test_filter, variables = self.jobs[job]
        launcher = [] if arguments is None else [str(self.tests_tree / "bin/acprun"), *arguments]
        command = [*launcher, str(self.tests_tree / "tests" / program),
                   f"--gtest_filter={test_filter}", "--gtest_brief=1", "--gtest_fail_fast"]
        environment = {**os.environ, "ACP_ON_ERROR": "return", **variables, "LD_LIBRARY_PATH": str(library_folder)}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=200, check=False)
        except subprocess.TimeoutExpired:
            return "a job that does not end"
        if done.returncode == 0:
            return None
        failed = [line.split("]", 1)[1].split("(")[0].split(",")[0].strip() for line in done.stdout.splitlines()
                  if "[  FAILED  ]" in line and " ms)" in line]
        return failed[0] if failed else f"a job that ended with {done.returncode}"

    def finder(self, name: str) -> str | None:
        job = self.job_of[name]
        if job not in self.sound:
            if failure := self.run_job(job, self.tests_tree / "lib"):
                raise SystemExit(f"{job} fails without a defect: {failure}")
            self.sound.add(job)
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            self.build_library(name, folder)
            return self.run_job(job, folder)
