#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources written for ACP 3.0 compile unchanged by `acpcc -compat3` and run, and each function on sets, multisets, maps, channels and
segmented buffers has the signature that 3.0 gave it.

Usage: compat3_test.py FOLDER_OF_PROGRAMS
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path()
SOURCE = pathlib.Path(__file__).with_name("hashed_of_3_0.c")
FAILURES = pathlib.Path(__file__).with_name("failures_of_3_0.c")
CHANNELS = SOURCE.with_name("channels")
SEGMENTED = SOURCE.with_name("segbuf_of_3_0.c")
RANKS = 2
TIMEOUT_S = 120

# As acp.h of 3.0 declares them, K standing for set, multiset and map. (Its acp_clear_local_set and acp_clear_local_multiset are in
# the library only.)
OF_EACH = """acp_K_t acp_create_K(int num_ranks, const int* ranks, int num_slots, int rank);
void acp_destroy_K(acp_K_t one);
void acp_clear_K(acp_K_t one);
void acp_clear_local_K(acp_K_t one);
void acp_assign_K(acp_K_t one, acp_K_t other);
void acp_assign_local_K(acp_K_t one, acp_K_t other);
void acp_merge_K(acp_K_t one, acp_K_t other);
void acp_merge_local_K(acp_K_t one, acp_K_t other);
void acp_move_K(acp_K_t one, acp_K_t other);
void acp_move_local_K(acp_K_t one, acp_K_t other);
void acp_swap_K(acp_K_t one, acp_K_t other);
int acp_empty_K(acp_K_t one);
int acp_empty_local_K(acp_K_t one);
size_t acp_size_K(acp_K_t one);
size_t acp_size_local_K(acp_K_t one);
acp_K_it_t acp_begin_K(acp_K_t one);
acp_K_it_t acp_begin_local_K(acp_K_t one);
acp_K_it_t acp_end_K(acp_K_t one);
acp_K_it_t acp_end_local_K(acp_K_t one);
acp_K_it_t acp_increment_K_it(acp_K_it_t it);
acp_K_it_t acp_find_K(acp_K_t one, acp_element_t key);
void acp_remove_K(acp_K_t one, acp_element_t key);
"""
OF_SOME = """int acp_insert_set(acp_set_t set, acp_element_t key);
acp_element_t acp_dereference_set_it(acp_set_it_t it);
int acp_insert_multiset(acp_multiset_t set, acp_element_t key);
void acp_remove_all_multiset(acp_multiset_t set, acp_element_t key);
uint64_t acp_retrieve_multiset(acp_multiset_t set, acp_element_t key);
acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);
int acp_insert_map(acp_map_t map, acp_pair_t pair);
size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair);
acp_pair_t acp_dereference_map_it(acp_map_it_t it);
"""
# acp_waitall_ch was declared there only. The buffer of acp_nbsend_ch is const today, which takes whatever 3.0's took.
OF_MESSAGES = """acp_ch_t acp_create_ch(int sender, int receiver);
int acp_free_ch(acp_ch_t ch);
acp_request_t acp_nbfree_ch(acp_ch_t ch);
acp_request_t acp_nbrecv_ch(acp_ch_t ch, void* buf, size_t size);
size_t acp_wait_ch(acp_request_t request);
int acp_waitall_ch(acp_request_t* requests, int count, size_t* sizes);
acp_segbuf_t acp_create_src_segbuf(int dst_rank, void* buf, size_t segsize, size_t segnum);
acp_segbuf_t acp_create_dst_segbuf(int src_rank, void* buf, size_t segsize, size_t segnum);
int acp_connect_segbuf(acp_segbuf_t segbuf);
int acp_isconnected_segbuf(acp_segbuf_t segbuf);
int acp_ready_segbuf(acp_segbuf_t segbuf);
int acp_ack_segbuf(acp_segbuf_t segbuf);
int acp_isready_segbuf(acp_segbuf_t segbuf);
int acp_isacked_segbuf(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);
int acp_disconnect_segbuf(acp_segbuf_t segbuf);
int acp_free_segbuf(volatile acp_segbuf_t segbuf);
"""


def declarations_of_3_0() -> list[str]:
    each = [line.replace("_K", f"_{kind}") for kind in ("set", "multiset", "map") for line in OF_EACH.splitlines()]
    return each + OF_SOME.splitlines() + OF_MESSAGES.splitlines()


def of_ranks(text: str, ranks: int) -> list[str]:
    return [text.format(rank=rank) for rank in range(ranks)]


# The output of each program on channels for a number of ranks, in any order of the lines.
PRINTED = {
    "one_message": lambda ranks: ["received 7 bytes: a text"],
    "ping_pong": lambda ranks: of_ranks("rank {rank}: 0 wrong", 2),
    "ring": lambda ranks: [f"rank {rank}: sum {ranks * (ranks + 1) // 2}, own number {rank + 1}" for rank in range(ranks)],
    "lengths": lambda ranks: ["10 of 10 bytes: right", "10 of 100 bytes: right", "0 of 0 bytes: right", "5 of 5 bytes: right",
                              "3000000 of 3000000 bytes: right", "5000 of 20000 bytes: right"],
    "several_channels": lambda ranks: of_ranks("rank {rank}: 40 right", 2),
    "all_to_all": lambda ranks: of_ranks(f"rank {{rank}}: {100 * (ranks - 1)} right", ranks),
}


def acpcc(folder: str, name: str, text: str, *options: str) -> subprocess.CompletedProcess:
    source = pathlib.Path(folder) / f"{name}.c"
    source.write_text(text)
    return subprocess.run([BIN / "acpcc", *options, "-Wall", "-Wextra", "-Werror", source, "-o", source.with_suffix("")],
                          capture_output=True, text=True, check=False)


class Compat3(unittest.TestCase):
    def setUp(self):
        owner = tempfile.TemporaryDirectory(prefix="compat3.")
        self.addCleanup(owner.cleanup)
        self.folder = owner.name

    def outputs_of(self, source: pathlib.Path, ranks: int = RANKS):
        """Compiles a source of 3.0 and runs it on one node and on two; what it prints there."""
        compiled = acpcc(self.folder, "program", source.read_text(), "-compat3")
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        for nodes in (1, 2):
            with self.subTest(source=source.name, ranks=ranks, nodes=nodes):
                job = subprocess.run([BIN / "acprun", "-n", str(ranks), "--nodes", str(nodes), "--timeout", str(TIMEOUT_S),
                                      pathlib.Path(self.folder) / "program"], capture_output=True, text=True, check=False)
                self.assertEqual((job.returncode, job.stderr), (0, ""), job.stdout)
                yield job.stdout

    def test_programs_with_channels_compile_unchanged_and_run(self):
        self.assertEqual(sorted(PRINTED), sorted(source.stem for source in CHANNELS.glob("*.c")))
        for name, printed in PRINTED.items():
            for ranks in (2, 3, 4):
                for output in self.outputs_of(CHANNELS / f"{name}.c", ranks):
                    self.assertEqual(sorted(output.splitlines()), sorted(printed(ranks)))

    def test_a_program_with_segmented_buffers_compiles_unchanged_and_runs(self):
        for ranks in (2, 3, 4):
            for output in self.outputs_of(SEGMENTED, ranks):
                self.assertEqual(sorted(output.splitlines()), of_ranks("rank {rank}: 50 right", ranks))

    def test_a_source_of_3_0_compiles_unchanged_and_runs_on_one_node_and_on_two(self):
        for output in self.outputs_of(SOURCE):
            self.assertRegex(output, r"rank 0: \d{3,} checks\n")
            self.assertIn("rank 1: 0 checks\n", output)

    def test_bad_addresses_and_containers_and_keys_of_all_sizes(self):
        self.assertEqual(list(self.outputs_of(FAILURES)), ["", ""])

    def test_a_3_0_program_does_not_compile_without_the_option(self):
        self.assertNotEqual(acpcc(self.folder, "program", SOURCE.read_text()).returncode, 0)

    def test_the_page_names_every_function(self):
        page = (SOURCE.parents[2] / "docs/man/acp3.7.md").read_text()
        for line in declarations_of_3_0():
            name = line.split("(", 1)[0].rsplit(" ", 1)[1].lstrip("*")
            if not name.startswith(("acp_clear_local_set", "acp_clear_local_multiset")):
                self.assertRegex(page, rf"\b{name}\b")

    def test_every_function_has_the_signature_of_3_0(self):
        checks = []
        for number, line in enumerate(declarations_of_3_0()):
            before, arguments = line.rstrip(";").split("(", 1)
            result, name = before.rsplit(" ", 1)
            checks.append(f"{result} (*const pointer{number})({arguments} = {name};\n")
        uses = "".join(f"    (void)pointer{number};\n" for number in range(len(checks)))
        text = ("#include <stddef.h>\n#include <stdint.h>\n#include <acp.h>\n" + "".join(f"static {check}" for check in checks)
                + f"int main(void) {{\n{uses}    return 0;\n}}\n")
        compiled = acpcc(self.folder, "signatures", text, "-compat3")
        self.assertEqual(compiled.returncode, 0, compiled.stderr)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
