#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report of acpbench: a page of made-up rows, and of those that halo-plan writes.

Usage: acpbench_report_test.py FOLDER_OF_PROGRAMS
"""
import html.parser
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path()
WATCHDOG_S = 300  # far above the time of a run: a longer one hangs

DIRECTIONS = ("remote-to-remote", "remote-to-local", "local-to-remote", "local-to-local")


def run(*command, environment=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACP_")}
    return subprocess.run([str(part) for part in command], env={**kept, **(environment or {})}, text=True,
                          capture_output=True, timeout=WATCHDOG_S, check=False)


def row(**more):
    """A row as acpbench writes it, made up."""
    made = {"experiment": "copy", "case": "remote-to-remote starter", "mode": "old", "distance": "near", "ranks": 3,
            "nodes": 1, "bytes": 4, "iterations": 1000,
            "latency_us": {"min": 1.0, "median": 2.0, "mean": 2.1, "p99": 3.0}, "bandwidth_MBps": 2.0,
            "yardstick": {"name": "memcpy", "value": 0.1, "unit": "us"}, "ratio": 20.0, "paper": None}
    return {**made, **more}


def copies(mode, latency_us, bandwidth):
    """Rows of one implementation in all directions, sizes and kinds of memory."""
    made = []
    for memory in ("starter", "registered"):
        for direction in DIRECTIONS:
            for power in range(2, 23):
                size = 1 << power
                time = latency_us + size / bandwidth
                made.append(row(case=f"{direction} {memory}", mode=mode, bytes=size, bandwidth_MBps=size / time,
                                yardstick={"name": "memcpy", "value": time / 20, "unit": "us"},
                                latency_us={"min": time, "median": time, "mean": time, "p99": time}))
    return made


def file_of(rows):
    header = {"machine": "a machine <of ours>", "kernel": "Linux", "version": "4.0.0", "date": "2026-01-01T00:00:00Z",
              "command": "acpbench copy", "configuration": {"ACP_INTRANODE": "udp"}}
    return json.dumps({"header": header, "rows": rows})


class Page(html.parser.HTMLParser):
    """What a browser would see: well-nested elements, their texts, and what they would load."""

    VOID = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.texts, self.loads = [], {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.loads += [value for name, value in attrs if name in ("src", "href") and not value.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.texts.append(data)


class Report(unittest.TestCase):
    def page(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                pathlib.Path(folder, f"{name}.json").write_text(text)
            finished = run(BIN / "acpbench", "report", "--in", folder)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            text = pathlib.Path(folder, "index.html").read_text()
        page = Page(text)
        self.assertEqual(page.open, [], "elements that are not closed")
        return page, " ".join(page.texts), finished

    def all_modes(self):
        return copies("old", 40, 140) + copies("new", 20, 600) + copies("new+bypass", 2, 600) + copies("auto", 0.01, 9e4)

    def test_every_direction_has_a_latency_and_a_bandwidth_plot(self):
        page, text, _ = self.page(copy=file_of(self.all_modes()))
        self.assertEqual(page.count["svg"], 16)
        for direction in DIRECTIONS:
            self.assertIn(f"{direction}, latency", text)
            self.assertIn(f"{direction}, bandwidth", text)
        for mode in ("old", "new", "new+bypass", "auto"):
            self.assertGreaterEqual(page.texts.count(mode), 16)

    def test_the_papers_figures_stand_beside_ours(self):
        _, text, _ = self.page(copy=file_of(self.all_modes()))
        self.assertIn("paper, old: 43", text)
        self.assertIn("paper, new: 450 MB/s", text)
        self.assertIn("reached", text)

    def test_an_effect_without_its_modes_is_not_claimed(self):
        _, text, _ = self.page(copy=file_of(copies("auto", 0.01, 9e4)))
        self.assertIn("not run", text)
        self.assertNotIn("reached", text)

    def test_the_page_needs_nothing_from_outside(self):
        page, _, _ = self.page(copy=file_of(self.all_modes()))
        self.assertEqual(page.loads, [])

    def test_texts_of_the_machine_cannot_break_the_page(self):
        _, text, _ = self.page(copy=file_of(copies("auto", 1, 100)))
        self.assertIn("a machine <of ours>", text)

    def test_other_experiments_get_a_section_each(self):
        barrier = [row(experiment="sync", case="barrier", mode="", ranks=ranks, bytes=0, bandwidth_MBps=0,
                       extra={"mean_us": ranks * 1.5}) for ranks in (2, 4, 8)]
        page, text, _ = self.page(sync=file_of(barrier))
        self.assertIn("Barrier", text)
        self.assertEqual(page.count["svg"], 1)

    def net(self, **more):
        return row(experiment="net", case="put", mode="auto", ranks=2, nodes=2, bytes=8, bandwidth_MBps=0, **more)

    def test_a_figure_that_cannot_be_true_has_no_verdict(self):
        bare = {"name": "bare UDP round trip", "value": 150.0, "unit": "us"}
        page, _, finished = self.page(net=file_of([self.net(ratio=0.0131, yardstick=bare)]))
        # Each word once where it is explained; disturbed also at the figure and in the table.
        self.assertEqual([page.texts.count(word) for word in ("met", "missed", "disturbed")], [1, 1, 3])
        self.assertIn("disturbed", finished.stdout)

    def test_the_terminal_and_the_page_say_how_fast_it_is_here(self):
        bare = {"name": "bare UDP round trip", "value": 1.8, "unit": "us"}
        page, text, finished = self.page(net=file_of([self.net(ratio=1.1, yardstick=bare)]))
        self.assertIn("8 bytes to another node", text)
        self.assertIn("1.1 \u00d7 the limit", text)
        self.assertIn("1.1 \u00d7 the limit", finished.stdout)
        self.assertRegex(finished.stdout, r"file:///\S+/index\.html")

    def test_puts_of_every_size_are_drawn_beside_bare_datagrams(self):
        made = []
        for size in (8, 512, 65536):
            latency = {"name": "bare UDP, the same bytes", "value": 1.8, "unit": "us"}
            rate = {"name": "bare GSO+GRO stream", "value": 3000.0, "unit": "MB/s"}
            made.append(self.net() | {"experiment": "net-sizes", "bytes": size, "yardstick": latency, "ratio": 1.1})
            made.append(self.net() | {"experiment": "net-sizes", "case": "stream of puts", "bytes": size,
                                      "bandwidth_MBps": 1500.0, "yardstick": rate, "ratio": 0.5})
        page, text, _ = self.page(net=file_of(made))
        self.assertEqual(page.count["svg"], 2)
        self.assertIn("bare UDP, the same bytes", text)
        self.assertIn("bare UDP stream", text)

    def test_newer_rows_replace_older_ones(self):
        old = json.loads(file_of([row(ranks=7, extra={"ns": 111.0}, experiment="resolve")]))
        new = json.loads(file_of([row(ranks=7, extra={"ns": 222.0}, experiment="resolve")]))
        new["header"]["date"] = "2026-02-02T00:00:00Z"
        _, text, _ = self.page(a=json.dumps(new), b=json.dumps(old))
        self.assertIn("ns 222", text)
        self.assertNotIn("ns 111", text)

    def test_the_figures_of_paper_003_are_redrawn(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plan.json"
            self.assertEqual(run(BIN / "acpbench", "halo-plan", "--quick", "--json", path).returncode, 0)
            page, text, _ = self.page(plan=path.read_text())
        # Plans of 7 schedulers for 5 patterns and of 6 for short messages, and for each a figure of curves.
        self.assertEqual(page.count["svg"], 5 * (7 + 1) + (6 + 1))
        for words in ("Figures 3 and 4: east and west", "Figures 13 and 14", "paper 64 \u00b5s", "paper 172 \u00b5s", "RR4", "stairs"):
            self.assertIn(words, text)
        self.assertEqual(page.loads, [])

    def test_figure_5_of_paper_001_and_the_plate_are_drawn(self):
        made = []
        for ranks in (1, 2, 4):
            for case in ("shared pages", "puts by hand"):
                paper = {2: 1.32, 4: 2.57}.get(ranks)
                made.append(row(experiment="laplace", case=case, mode="", ranks=ranks, nodes=ranks, extra={"speedup": ranks * 0.8},
                                paper={"source": "paper 001, figure 5", "value": paper, "unit": "x"} if paper else None))
        made[0]["picture"] = {"width": 2, "values": [1.0, 0.5, 0.0, 0.25]}
        page, text, _ = self.page(laplace=file_of(made))
        self.assertEqual(page.count["svg"], 2)
        for words in ("A node for each rank (figure 5)", "paper 1.32", "paper 2.57", "2 \u00d7 2 points"):
            self.assertIn(words, text)
        self.assertEqual(page.loads, [])

    def test_a_file_that_is_no_result_is_named_and_left_out(self):
        _, _, finished = self.page(copy=file_of([row()]), broken='{"rows": 3}')
        self.assertIn("broken.json", finished.stderr)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main()
