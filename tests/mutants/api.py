#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the argument checks and the errors of the public calls."""
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/api/{name}_test.cpp" for name in
         ("arguments", "boundary", "copy_list", "error", "heap_calls", "life", "lists", "lock_calls", "memory", "refused_access",
          "refused_hashed", "refused_sequences", "refused_together")]
# The other files of the layer are taken from its library.
SOURCES = ("arguments.cpp", "boundary.cpp", "heap.cpp", "life.cpp", "list.cpp", "list_access.cpp", "lock.cpp", "memory.cpp",
           "sequence_calls.cpp")
# Every layer up to this one, but those of headers alone.
ALL = [line.split(":")[0] for line in (ROOT / "src/LAYERS").read_text().splitlines() if ":" in line and not line.startswith("#")]
LAYERS = tuple(layer for layer in ALL[:ALL.index("api") + 1] if any((ROOT / "src" / layer).glob("*.cpp")))

# name: (file, text, instead)
MUTANTS = {
    "a name at the end of the arguments is taken": ("arguments.cpp", "} else if (i + 1 < *argc) {", "} else if (i < *argc) {"),
    "the arguments of the program after -- are taken": ("arguments.cpp", 'if (argument == "--") {', "if (false) {"),
    "the first of two values wins": ("arguments.cpp", "    std::erase_if(environment,\n"
        "                  [&](const std::string& entry) { return entry.starts_with(name + \"=\"); });\n", ""),
    "a variable is erased with those that begin like it": ("arguments.cpp", 'starts_with(name + "=")', "starts_with(name)"),
    "a failure has no name of its call": ("boundary.cpp", 'return std::string(name).append(by).append(": ").append(message);',
        "return std::string(message);"),
    "a failure has the name of its call twice": ("boundary.cpp", "message.remove_prefix(name.size() + 2);", ""),
    "a call in a wrong state has no code": ("boundary.cpp", "    last_error().set(code, text.data());\n", ""),
    "a rank of -1 is taken": ("heap.cpp", "if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {\n        return base::Status(\n",
        "if (static_cast<std::int64_t>(rank) >= procs) {\n        return base::Status(\n"),
    "the rank behind the last one is taken": ("heap.cpp",
        "if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {", "if (rank < 0 || static_cast<std::uint32_t>(rank) > procs) {"),
    "an alignment of 3 is taken": ("heap.cpp", "!std::has_single_bit(alignment) ||", "alignment == 0 ||"),
    "the longest alignment is refused": ("heap.cpp", "alignment > allocator::alignment_most", "alignment >= allocator::alignment_most"),
    "a product of 2^64 is taken": ("heap.cpp", "if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size) {", "if (false) {"),
    "memory of acp_calloc is not cleared": ("heap.cpp", "library().allocator->clear(block.value(), count * size);", "base::Status();"),
    "sizes may be NULL": ("heap.cpp", "if (count != 0 && (sizes == nullptr || addresses == nullptr)) {",
        "if (count != 0 && addresses == nullptr) {"),
    "stat may be NULL": ("heap.cpp", 'if (stat == nullptr) return named(call, {base::Code::argument, "stat is NULL"});', ""),
    "the addresses to free may be NULL": ("heap.cpp", "if (count != 0 && addresses == nullptr) {", "if (false) {"),
    "any number of blocks may be freed": ("heap.cpp", "if (count <= blocks_most) return {};", "return {};"),
    "a block that shrinks stays": ("heap.cpp", "if (size <= room && size >= room / 2) return ga;", "if (size <= room) return ga;"),
    "a second acp_init is a call in the wrong order": ("life.cpp", "if (is_init && (now == in_use || now == meeting)) {", "if (false) {"),
    "a forked child has the code of a wrong order": ("life.cpp", "            return base::Code::forked;", "            return base::Code::state;"),
    "a long reason loses a byte more": ("life.cpp", "std::min(text.size(), reason_.size() - 1)", "std::min(text.size(), reason_.size() - 2)"),
    "the bytes of an element may be NULL": ("list.cpp", "    if (ptr == nullptr && size != 0) {\n        return Status(",
        "    if (false) {\n        return Status("),
    "ranges may be NULL": ("list_access.cpp", "if (ranges == nullptr && count != 0) {", "if (false) {"),
    "counts may be NULL": ("list_access.cpp", "(counts == nullptr || target_strides", "(target_strides"),
    "source strides may be NULL": ("list_access.cpp", " || source_strides == nullptr)", ")"),
    "the rank of a starter memory is not checked": ("memory.cpp",
        "if (rank < 0 || static_cast<std::uint32_t>(rank) >= library().member->procs()) {", "if (rank < 0) {"),
    "a colour of -1 is registered": ("memory.cpp", "if (color < 0 || static_cast<std::uint32_t>(color) >= base::color_count(library().config)) {",
        "if (color >= static_cast<int>(base::color_count(library().config))) {"),
    "an address without a generation has a rank": ("memory.cpp", "layout.generation(address) == 0 || ", ""),
    "a key that ended is not a failure": ("memory.cpp", "        if (status.is_ok()) return status;\n",
        "        if (status.code() != base::Code::system) return base::Status();\n"),
    "bytes of a sequence may be NULL": ("sequence_calls.cpp", "if (memory != nullptr || bytes == 0) return refuse_shared(",
        "return refuse_shared("),
}

if __name__ == "__main__":
    sys.exit(Plants("api", TESTS, MUTANTS, SOURCES, LAYERS).main())
