#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants one defect after the other into the protocol and lets the simulator find it.

The sources stay as they are: a changed copy of one file is compiled into a folder of its own and linked before the
built libraries, whose own object of that file is then not taken. A rule whose text is no longer found, once, is an
error: the rule is to be mended with the code. Needs a built tree; prints a table; ends with 1 when a defect stays
unnoticed within --seeds.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# name: (file, [(text, instead)...])
MUTANTS = {
    "no duplicate window": ("datagram/duplicate_window.cpp", [
        ("    if (seen != Seen::fresh) return seen;\n    if (dsn != base_)",
         "    if (seen != Seen::fresh) return seen == Seen::duplicate ? Seen::fresh : seen;\n    if (dsn != base_)")]),
    "no replay window": ("datagram/packet_protection.cpp", [
        ("if (peer.received.came.look(outer.number) != AckRanges::Seen::fresh) {",
         "if (peer.received.came.look(outer.number) != AckRanges::Seen::fresh && outer.number == 0) {")]),
    # Nonces and key pairs each suffice: a defect takes the loss of both.
    "keys that hold nothing fresh": ("datagram/key_schedule.cpp", [
        ("    std::copy(shared.begin(), shared.end(), secret.begin() + 32);\n", ""),
        ("    suite.derive(Bytes(secret).first(32 + shared.size()), salt,\n",
         "    salt.fill({});\n    suite.derive(Bytes(secret).first(32 + shared.size()), salt,\n")]),
    "acknowledges what it did not receive": ("datagram/ack_ranges.cpp", [
        ("return static_cast<std::uint32_t>(run == 0 ? 0 : run - 1);",
         "return static_cast<std::uint32_t>(run == 0 ? 0 : std::min(run, number));")]),
    "credit never returned": ("datagram/send_credit.cpp", [
        ("if (is_stale(now) || distance(limit, limit_) > 0) limit_ = limit;", "static_cast<void>(limit);"),
        ("return is_stale(now) ? cumulative_ + unscheduled_ : limit_;",
         "static_cast<void>(now);\n    return limit_;")]),
    "buffer kept after its acknowledgement": ("datagram/loss_recovery.cpp", [
        ("    buffers_.release(peer, record.buffer);\n",
         "    if (record.dsn % 64 != 7) buffers_.release(peer, record.buffer);\n")]),
    "loses what a probe should send again": ("datagram/loss_recovery.cpp", [
        ("        give_up(peer, record, now);\n        return true;",
         "        if (!record.has_dsn) give_up(peer, record, now);\n        return true;")]),
    "probes never back off": ("datagram/probe_timer.cpp", [
        ("first << doublings", "first << (doublings & 0U)")]),
    "probes never fire": ("datagram/probe_timer.cpp", [
        ("    deadline_ = now + timeout(rtt);", "    static_cast<void>(now + timeout(rtt));\n    deadline_ = ~0ULL;")]),
    "severed node resumed": ("datagram/handshake.cpp", [
        ("    if (parts_.peers.is_severed(node) || parts_.severing.is_closing()) {\n        // WIRE-80",
         "    if (parts_.severing.is_closing()) {\n        // WIRE-80")]),
    "END before placement": ("router/placer.cpp", [
        ("        activity_.note_move();\n    } else {\n        keep(frame, bytes, from);",
         "        activity_.note_move();\n        ends_.finish(frame.initiator, frame.token);\n    } else {\n"
         "        keep(frame, bytes, from);")]),
    "END forgotten when another initiator's comes": ("router/ends.cpp", [
        ("        flush_run(run);\n    }\n    run = {", "        --runs_open_;\n    }\n    run = {")]),
    "atomic run twice": ("router/command_runner.cpp", [
        ("    if (ran.progress == SettlementState::refused) {\n        backlog_.park(index, nodes_.where(operation.source));",
         "    if (ran.progress == SettlementState::settled && !command.is_copy() && operation.token % 32 == 2) {\n"
         "        (void)placement_.run(command, is_value_wanted, old, operations_.ticket_of(index));\n    }\n"
         "    if (ran.progress == SettlementState::refused) {\n        backlog_.park(index, nodes_.where(operation.source));")]),
    "REFUSED forgotten": ("router/answers.cpp", [
        ("    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;\n"
         "    const std::uint32_t index = own_.find_involved(from, frame.initiator, frame.token);\n"
         "    if (index == no_index) return Fault::none;\n"
         "    const Outstanding& record = own_[index];\n"
         "    const bool is_command",
         "    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;\n"
         "    const std::uint32_t index = own_.find_involved(from, frame.initiator, frame.token);\n"
         "    if (frame.is_command < 2) return Fault::none;\n"
         "    const Outstanding& record = own_[index];\n"
         "    const bool is_command")]),
    "a run of copies counted as one": ("router/placer.cpp", [
        ("i < frame.count; ++i, each.token += 2)", "i < frame.count; ++i)")]),
    "DEAD not gossiped": ("router/losses.cpp", [
        ("    news.token = dead.token;\n    pass_on(news);\n", "    news.token = dead.token;\n")]),
    "table gathered in a wrong order": ("router/meeting.cpp", [
        ("            std::memcpy(&heard.table[at], values.data() + std::size_t{i} * 4, 4);",
         "            std::memcpy(&heard.table[at], values.data() + std::size_t{part.count - 1 - i} * 4, 4);")]),
    "nobody watches for another": ("router/scanner.cpp", [("        in_.watch_list.ask(source, target.node);\n", "")]),
    "lost after two key changes": ("datagram/key_schedule.cpp", [
        ("        if (now < may_skip_) return nullptr;", "        if (now < ~0ULL) return nullptr;")]),
    "a copied INIT moves a node": ("datagram/peer_addresses.cpp", [
        ("    if (!is_busy && is_listed(init.outer.source, from)) return true;", "    if (!is_busy) return true;"),
        ("    if (is_listed(peer.node, from)) {", "    if (from.family != 0) {"),
        ("    if (is_listed(peer.node, from) || (from == peer.shown && from.family != 0)) {",
         "    if (peer.address.family == 0) {")]),
    "a copied RESPONSE or COOKIE moves a node": ("datagram/handshake.cpp", [
        ("    if (!parts_.addresses.is_listed(outer.source, from)) {\n        ++parts_.counters.wrong_source;\n"
         "        return;\n    }\n    peer->handshake.cookie",
         "    peer->handshake.cookie"),
        ("    if (!parts_.addresses.is_listed(outer.source, from)) {\n        ++parts_.counters.wrong_source;\n"
         "        return;\n    }\n    const Parties",
         "    const Parties")]),
    "copied data moves a node": ("datagram/peer_addresses.cpp", [
        ("    if (is_listed(peer.node, from) || (from == peer.shown && from.family != 0)) {",
         "    if (from.family != 0 || peer.node == credentials_.node()) {")]),
    "a copied INIT keeps a dead node waited for": ("datagram/handshake.cpp", [
        ("        parts_.addresses.note_source(peer, from);\n        ++parts_.counters.init_repeated;",
         "        parts_.addresses.note_source(peer, from);\n        peer.handshake.began = now;\n"
         "        ++parts_.counters.init_repeated;")]),
    "forged data of an idle peer costs keys": ("datagram/receiver.cpp", [
        ("    if (!parts_.protection.open_idle(folded, outer, datagram, plain, now)) return;\n",
         "    std::unique_ptr<Peer> first = parts_.peers.wake(folded, outer.source, now);\n"
         "    if (!parts_.protection.open_idle(folded, outer, datagram, plain, now)) return;\n")]),
    "one CLOSE allowance for all": ("datagram/severing.cpp", [
        ("    if (!closes_.take(now, data.source, parts_.addresses.is_listed(data.source, to))) {",
         "    if (!closes_.take(now, data.source, false)) {")]),
    "a forged ICMP error costs a burst": ("base/left_over_error.cpp", [
        ("        case ENETUNREACH:\n", ""), ("        case EHOSTUNREACH:\n", ""), ("        case ENOPROTOOPT:\n", "")]),
    "watches nobody": ("router/watch_list.cpp", [
        ("    nodes_.endpoint().watch(node);\n", ""), ("        nodes_.endpoint().unwatch(held.node);\n", "")]),
}

MUTANTS.update({
    "bursts never shortened": ("datagram/pacer.cpp", [("    if (lost_together != 0 || is_much) {", "    if (lost_together != 0 && is_much && acked > 4096) {")]),
    "credit divided by the size of the job": ("datagram/credit_budget.cpp", [
        ("std::min(senders * each, usable / reserve_share)", "std::min(senders * each, usable)")]),
    "probes of a short path back off as those of a long one": ("datagram/probe_timer.cpp", [
        ("if (rtt.has_sample() && single <= short_timeout_ns)", "if (rtt.has_sample() && single == 0)")]),
})

# What no seed shows but an experiment that measures.
EXPERIMENTS = {
    "bursts never shortened": ["share"],
    "credit divided by the size of the job": ["incast", "--senders", "1", "--silent", "998", "--receive-bytes", "425984",
                                              "--milliseconds", "50"],
    "probes of a short path back off as those of a long one": ["chains", "--chains", "1000"],
}

# Mutants that only a rare combination of faults reveals: the number of seeds for them. Here a target's gateway begins
# anew between the first byte of a third-party copy and its end, while nobody else has reason to speak to it.
RARE = {"nobody watches for another": 100_000}


def mutated(name: str) -> tuple[pathlib.Path, str]:
    file, changes = MUTANTS[name]
    text = (ROOT / "src" / file).read_text()
    for old, new in changes:
        if text.count(old) != 1:
            raise SystemExit(f"mutants: \"{name}\": its text stands {text.count(old)} times in src/{file}: mend the rule")
        text = text.replace(old, new)
    return ROOT / "src" / file, text


def build(name: str, tree: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    file, text = mutated(name)
    slug = re.sub(r"\W+", "_", name)
    source, made, program = (folder / f"{slug}{end}" for end in (".cpp", ".o", ""))
    source.write_text(text)
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]) == file:
            words = entry["command"].split()
            break
    else:
        raise SystemExit(f"mutants: {tree} does not compile {file}")
    words = [made if word == words[words.index("-o") + 1] else word for word in words]
    words = [str(source) if word == str(file) else str(word) for word in words]
    words = [word for word in words if not re.fullmatch(r"-MD|-Werror", word)]
    for flag in ("-MT", "-MF"):
        if flag in words:
            at = words.index(flag)
            del words[at:at + 2]
    subprocess.run(words, check=True, cwd=tree)
    objects = sorted(str(path) for path in (tree / "CMakeFiles/acpsim.dir/tools/acpsim").glob("*.o"))
    layers = [str(tree / f"lib/libacp_{layer}.a") for layer in ("tool_common", "sim", "router", "datagram", "memory", "os", "base")]
    present = [library for library in layers if pathlib.Path(library).exists()]
    subprocess.run([words[0], "-pthread", *objects, str(made), *present,
                    *present, "-o", str(program)], check=True)
    return program


def hunt(program: pathlib.Path, name: str, seeds: int, jobs: int) -> tuple[int | None, str]:
    """The seed that found the defect, and what was violated."""
    seeded = ["run", "--seeds", f"0..{seeds - 1}", "--jobs", str(jobs), "--once", "--quiet"]
    done = subprocess.run([program, *EXPERIMENTS.get(name, seeded)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output = done.stdout + done.stderr
    found = re.search(r"seed (\d+): (?:[\d.]+ s: )?([^\n]*)", output)
    if done.returncode == 0 or not found:
        return None, output.strip().splitlines()[-1] if done.returncode else ""
    broken = re.search(r"broken invariant: ([^\n(]*)", output)
    return int(found.group(1)), f"assertion {broken.group(1)}" if broken else found.group(2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build/mutants"), help="a tree built by the preset mutants")
    parser.add_argument("--seeds", type=int, default=10_000, help="within so many each must be found")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only mutants whose name holds this text")
    parser.add_argument("--check", action="store_true", help="only see whether every rule still fits the sources")
    arguments = parser.parse_args()
    for name in MUTANTS:
        mutated(name)
    if arguments.check:
        print(f"{len(MUTANTS)} rules fit the sources")
        return 0
    tree = pathlib.Path(arguments.build).resolve()
    folder = tree / "mutants"
    folder.mkdir(exist_ok=True)
    missed = 0
    print(f"{'planted defect':46} {'found by seed':>13} {'seconds':>8}  as")
    for name in MUTANTS:
        if arguments.only not in name:
            continue
        program = build(name, tree, folder)
        start = time.monotonic()
        seed, violation = hunt(program, name, max(arguments.seeds, RARE.get(name, 0)), arguments.jobs)
        missed += seed is None
        print(f"{name:46} {'NOT FOUND' if seed is None else seed:>13} {time.monotonic() - start:8.1f}  "
              f"{violation[:90]}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
