#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into device processes: into the rank's side, and into what acp-worker runs."""
import pathlib
import shutil
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/{name}_test.cpp" for name in
         ("offload/worker_process", "offload/device_table", "offload/worker_system_calls", "worker/context_server",
          "worker/libraries", "worker/system_caller", "worker/random_system_calls")]
CHANGED = ("offload", "worker")
LAYERS = ("tool_common", "device_side", "call", "os", "base")

# name: (file, text, instead)
MUTANTS = {
    # The rank's side.
    "a program may take for ever to serve": ("offload/worker_process.cpp", "if (waited >= plan.serving_within_ns) return late(plan);", ""),
    "a late program is not killed": ("offload/worker_process.cpp", "    if (!end_.has_ended()) os::send_signal(process_, SIGKILL);\n    if (watcher_", "    if (watcher_"),
    "an exec is not noticed": ("offload/worker_process.cpp", "os::wait_readable(handle, life_.get(), -1)", "os::wait_readable(handle, -1, -1)"),
    "a program that let go is left alone": ("offload/worker_process.cpp", "    os::send_signal(process_, SIGKILL);\n    while (!os::has_exited(handle))", "    while (!os::has_exited(handle))"),
    "the rank keeps the worker's end of the pipe": ("offload/worker_process.cpp", "    life.value().writing.close();\n", "    (void)life.value().writing.release();\n"),
    "a death wakes no waiter": ("offload/worker_process.cpp", "        if (context != nullptr) context->wake_all();\n", ""),
    "an ended worker is not reaped": ("offload/worker_process.cpp", "    if (ended) os::reap(process_);\n", ""),
    "a seventeenth context": ("offload/worker_process.cpp", "    if (free > contexts_max) {", "    if (free > contexts_max + 9) {"),
    "a number of a closed context is not used again": ("offload/worker_process.cpp", "    contexts_[context.number()] = nullptr;\n", ""),
    "a name without a symbol has address 0": ("offload/worker_process.cpp", "if (!found.is_ok() || found.value() != 0) return found;", "return found;"),
    "calls of a dead worker have no end": ("offload/call_context.cpp", "if (!call.result) call.result = {CallEnd::ended, 0};", "if (call.result) call.result = {CallEnd::ended, 0};"),
    "output stays in the staging memory": ("offload/call_context.cpp", "call.arguments.fetch_output(call.staged);", ""),
    "a result is taken twice": ("offload/call_context.cpp", "    if (result) calls_.erase(found);\n", ""),
    "a closed context takes calls": ("offload/call_context.cpp", "    if (is_closed_ && posting == Posting::of_users) return", "    if (false) return"),
    "the memory of long buffers stays": ("offload/call_context.cpp", "        give_back_staging(staging_kept_bytes);\n", ""),
    "a closed context keeps its memory": ("offload/call_context.cpp", "    give_back_staging(0);\n", ""),
    "the sleeping worker is not woken": ("offload/call_context.cpp", "    if (posted.is_server_asleep)", "    if (false)"),
    "numbers begin anew": ("offload/device_table.hpp", ": numbers_given_(numbers_given) {}", ": numbers_given_(numbers_given * 0) {}"),
    "the table leaves its processes": ("offload/device_table.cpp", "        if (!process->end().has_ended()) os::send_signal(process->process(), SIGKILL);\n", ""),
    "contexts outlive their process": ("offload/device_table.cpp", "            if (is_of_process) open.push_back(entry.second);\n            return is_of_process;", "            return false;"),
    "device memory is anywhere in the worker": ("offload/device_table.cpp", "    plan.device_address = reinterpret_cast<std::uintptr_t>(window_.data());\n", ""),
    "an exit code is a signal": ("offload/worker_end.hpp", "} else if (how->is_exit()) {", "} else if (!how->is_exit()) {"),
    # The worker's side.
    "the pipe outlives an exec": ("worker/worker.cpp", "    if (Status status = os::set_close_on_exec(plan.life); !status.is_ok()) return status;\n", ""),
    "a worker outlives its owner": ("worker/worker.cpp", "    if (Status status = watch_owner(); !status.is_ok()) return status;\n", ""),
    "a context's ring is not cleared": ("worker/worker.cpp", "    std::memset(static_cast<void*>(ring.head), 0, call::ring_bytes(call::worker_slots));\n", ""),
    "a fault ends the process": ("worker/context_server.cpp", "    const int signal = guard_.run(body, &guarded);\n", "    const int signal = 0;\n    body(&guarded);\n"),
    "a fault has no number": ("worker/context_server.cpp", "static_cast<std::uint64_t>(signal), false};", "0, false};"),
    "an exception is a return": ("worker/context_server.cpp", "            inside.done.end = CallEnd::thrown;\n", ""),
    "what cannot be decoded runs": ("worker/context_server.cpp", "        return {CallEnd::refused, 0, false};\n    const auto operation", "        arguments_.count = 0;\n    const auto operation"),
    "a cancelled call runs": ("worker/context_server.cpp", "if (!call.is_cancelled()) done = carry_out(call);", "done = carry_out(call);"),
    "the sleeping rank is not woken": ("worker/context_server.cpp", "if (server_.answer(call, done.end, done.result)) wake_client();", "(void)server_.answer(call, done.end, done.result);"),
    "close does not end the thread": ("worker/context_server.cpp", "if (operation == WorkerOperation::close) return {CallEnd::returned, 0, true};", "if (operation == WorkerOperation::close) return {CallEnd::returned, 0, false};"),
    "an unloaded library has symbols": ("worker/libraries.cpp", "return loaded_.erase(number) != 0;", "return loaded_.count(number) != 0;"),
    "a failure takes a number": ("worker/libraries.cpp", "    if (!opened.is_ok()) return std::move(opened).failure();\n", "    if (!opened.is_ok()) {\n        ++last_number_;\n        return std::move(opened).failure();\n    }\n"),
    # System calls.
    "the executor is not woken": ("worker/system_caller.cpp", "    if (posted->is_server_asleep)\n", "    if (false)\n"),
    "the death of the executor wakes no caller": ("worker/system_calls.cpp", "    for (SystemCaller& caller : callers_) caller.wake();\n", ""),
    "calls wait for a dead executor": ("worker/system_caller.cpp", "return ring_.is_answered(ticket) || has_executor_ended(); };", "return ring_.is_answered(ticket); };"),
    "a handler uses the ring of the call that it interrupts": ("worker/system_caller.cpp", "    if (is_calling_.load(std::memory_order_relaxed))\n", "    if (false)\n"),
    "a long read waits for more of a pipe": ("worker/system_caller.cpp", "        if (done == moved && call == SystemCall::read &&", "        if (false &&"),
    "a short piece counts as a whole one": ("worker/system_caller.cpp", "        done += moved;\n", "        done += pack_.record().words[2];\n"),
    "pieces have one position": ("worker/system_caller.cpp", "        if (has_offset(call)) words[3] += moved;\n", ""),
    "no signal of a broken pipe": ("worker/system_caller.cpp", "    if (signal != 0) os::send", "    if (false) os::send"),
    "signals stay in the executor": ("worker/executor.cpp", "signal = os::take_write_signal();", "signal = 0;"),
    "lengths stay in the executor": ("worker/executor.cpp", "            work.finish();\n", ""),
    "contexts have no caller": ("worker/worker.cpp", "            system_calls_->serve_thread(context - 1, *guard.value());\n", ""),
    "all contexts have one caller": ("worker/worker.cpp", "serve_thread(context - 1,", "serve_thread(0,"),
    "a worker that leaves does not reap": ("worker/worker.cpp", "    system_calls_->end();\n", ""),
    "the program has no symbols": ("worker/libraries.cpp", "    if (number == 0) {", "    if (number == UINT64_MAX) {"),
}


class DevicePlants(Plants):
    """Builds the tests of both sides, and an acp-worker, with one defect in either."""

    SECONDS = 60
    SUPPORT = ["tests/support/watchdog.cpp"]

    def source(self, name: str) -> str:
        return (ROOT / "src" / self.mutants[name][0]).read_text()

    def misfit(self, name: str) -> str | None:
        return (super().misfit(name) or "").replace("src/device/", "src/") or None

    def compilation(self, source: pathlib.Path, made: pathlib.Path, *includes: str) -> list[str]:
        folder = self.shared.name
        return super().compilation(source, made, f'-DACP_TEST_BIN_DIR="{folder}/bin"',
                                   f'-DACP_TEST_DEVICE_FUNCTIONS="{folder}/device_functions.so"',
                                   f'-DACP_TEST_DEVICE_SYSTEM_CALLS="{folder}/device_system_calls.so"', *includes,
                                   f"-I{ROOT}/tools", f"-I{self.tree}/generated")

    def build_shared(self) -> None:
        if self.has_shared:
            return
        super().build_shared()
        folder = pathlib.Path(self.shared.name)
        (folder / "bin").mkdir()
        self.run("the libraries of the tests", [["c++", "-O1", "-std=c++20", "-fPIC", "-shared", f"-I{ROOT}/include",
                                                 str(ROOT / f"tests/unit/offload/library/{library}.cpp"),
                                                 "-o", str(folder / f"{library}.so")]
                                                for library in ("device_functions", "device_system_calls")])

    def link(self, name: str, program: pathlib.Path, objects: list[pathlib.Path], *libraries: str) -> None:
        archives = [str(self.tree / f"lib/libacp_{layer}.a") for layer in self.layers]
        self.run(name, [["c++", "-o", str(program), *map(str, objects), "-Wl,--start-group", *archives, "-Wl,--end-group",
                         *libraries, "-rdynamic", "-lpthread", "-ldl"]])

    def build(self, name: str, folder: pathlib.Path) -> pathlib.Path:
        self.build_shared()
        changed = self.mutants[name][0]
        for layer in CHANGED:
            shutil.copytree(ROOT / "src" / layer, folder / layer)
        (folder / changed).write_text(self.changed(name))
        tool = ROOT / "tools/acp-worker/main.cpp"
        tests = [ROOT / test for test in self.tests]
        sources = {layer: sorted((ROOT / "src" / layer).glob("*.cpp")) for layer in CHANGED}
        objects: dict[pathlib.Path, pathlib.Path] = {}
        if changed.endswith(".cpp"):
            mutant = [ROOT / "src" / changed]
        else:  # all that may include it
            mutant = [*tests, *sources["offload"], *sources["worker"], tool]
        whole = [source for source in [*tests, tool, *sources["offload"], *sources["worker"]] if source not in mutant]
        objects.update(zip(whole, self.unchanged(whole)))
        objects.update({source: folder / f"{source.stem}.o" for source in mutant})
        self.run(name, [self.compilation(folder / source.relative_to(ROOT / "src") if source.is_relative_to(ROOT / "src") else source,
                                         objects[source], f"-I{folder}") for source in mutant])
        worker = [objects[source] for source in sources["worker"]]
        self.link(name, pathlib.Path(self.shared.name) / "bin/acp-worker", [objects[tool], *worker])
        program = folder / "unit_devices"
        support = list(pathlib.Path(self.shared.name).glob("*.o"))
        self.link(name, program, [*[objects[test] for test in tests], *[objects[source] for source in sources["offload"]], *worker, *support],
                  "-lgtest", "-lgtest_main")
        return program


if __name__ == "__main__":
    sys.exit(DevicePlants("device", TESTS, MUTANTS, layers=LAYERS).main())
