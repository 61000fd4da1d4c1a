#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into calls of functions of another process."""
import sys

from plants import Plants

FOLDER = "tests/unit/call/"
TESTS = [FOLDER + name for name in ("ring_test.cpp", "ring_kill_test.cpp", "staging_test.cpp", "arguments_test.cpp",
                                    "function_call_test.cpp")]
SOURCES = ("arguments.cpp", "decode_arguments.cpp", "function_call_x86_64.cpp")
LAYERS = ("base",)

COUNT = "        count_answer();\n        return view_.head->client_bell.ring();\n"

# name: (file, text, instead)
MUTANTS = {
    # The ring.
    "a slot is used again before its answer is taken": ("ring.hpp", "posted_ - taken_ == view_.slot_count", "posted_ - taken_ == view_.slot_count + 1"),
    "a call is posted before its words": ("ring.hpp",
        "        slot.state.exchange(CallState::word(ticket, CallPhase::posted), std::memory_order_seq_cst);\n",
        "        slot.state.exchange(CallState::word(ticket, CallPhase::posted), std::memory_order_relaxed);\n"),
    "the last word is not posted": ("ring.hpp", "i < request.word_count; ++i)", "i + 1 < request.word_count; ++i)"),
    "an answer is read without order": ("ring.hpp",
        "        return CallState::is_answered(view_.slot_of(ticket).state.load(std::memory_order_acquire),",
        "        return CallState::is_answered(view_.slot_of(ticket).state.load(std::memory_order_relaxed),"),
    "an answer is given before its words": ("ring.hpp", "        slot.state.exchange(CallState::word(claimed.ticket_, CallPhase::answered),\n                            std::memory_order_seq_cst);",
        "        slot.state.exchange(CallState::word(claimed.ticket_, CallPhase::answered),\n                            std::memory_order_relaxed);"),
    "a claim does not read the words in order": ("ring.hpp", "        std::uint64_t state = slot.state.load(std::memory_order_acquire);\n",
        "        std::uint64_t state = posted;\n        if (slot.state.load(std::memory_order_relaxed) != posted) state = slot.state.load(std::memory_order_relaxed);\n"
        "        if (state == posted) {\n            slot.state.exchange(CallState::word(next_, CallPhase::claimed), std::memory_order_relaxed);\n"
        "            return Claimed(slot, next_, false);\n        }\n"),
    "a call is claimed by a store": ("ring.hpp", "        if (state == posted && slot.state.compare",
        "        if (state == posted) {\n            slot.state.store(CallState::word(next_, CallPhase::claimed), std::memory_order_relaxed);\n"
        "            return Claimed(slot, next_, false);\n        }\n        if (state == posted && slot.state.compare"),
    "a claimed call is cancelled": ("ring.hpp", "        if (CallState::is_answered(state, ticket)) return Cancel::over;\n",
        "        if (state == CallState::word(ticket, CallPhase::claimed)) return Cancel::cancelled;\n"
        "        if (CallState::is_answered(state, ticket)) return Cancel::over;\n"),
    "a cancelled call runs": ("ring.hpp", "            return Claimed(slot, next_, true);", "            return Claimed(slot, next_, false);"),
    "a cancelled call holds up the ring": ("ring.hpp",
        "        if (state == CallState::word(next_, CallPhase::cancelled))\n            return Claimed(slot, next_, true);\n", ""),
    "a cancelled call has returned": ("ring.hpp", "        if (claimed.is_cancelled_) outcome = CallEnd::cancelled;\n", ""),
    "a second cancel fails": ("ring.hpp", "        if (state == CallState::word(ticket, CallPhase::cancelled)) return Cancel::cancelled;\n        if",
        "        if"),
    "the wish to end is of another call": ("ring.hpp", "asked_to_end.store(ticket + 1,", "asked_to_end.store(ticket,"),
    "the server is not woken": ("ring.hpp", "return Posted{ticket, view_.head->server_bell.ring()};", "return Posted{ticket, false};"),
    "the client is not woken": ("ring.hpp", COUNT, "        count_answer();\n        return false;\n"),
    "the server's sleep is looked at too early": ("ring.hpp", "        CallSlot<Atomic>& slot = view_.slot_of(ticket);\n        // relaxed: the exchange",
        "        const bool is_early = view_.head->server_bell.ring();\n        CallSlot<Atomic>& slot = view_.slot_of(ticket);\n"
        "        if (is_early || !is_early) {\n            slot.target.store(request.target, std::memory_order_relaxed);\n"
        "            slot.shape.store(request.shape, std::memory_order_relaxed);\n"
        "            for (std::uint32_t i = 0; i < request.word_count; ++i) slot.words[i].store(request.words[i], std::memory_order_relaxed);\n"
        "            slot.state.exchange(CallState::word(ticket, CallPhase::posted), std::memory_order_seq_cst);\n"
        "            return Posted{ticket, is_early};\n        }\n        // relaxed: the exchange"),
    "an answer is counted before it is given": ("ring.hpp", "        if (claimed.is_cancelled_) outcome",
        "        view_.head->answered.store(next_ + 1, std::memory_order_release);\n        if (claimed.is_cancelled_) outcome"),
    "answers are not counted": ("ring.hpp", "view_.head->answered.store(++next_, std::memory_order_release);", "++next_;"),
    "an answer that was not counted is given again": ("ring.hpp", "        if (CallState::is_answered(state, next_)) count_answer();  // it died before it counted\n", ""),
    "another server runs what the dead one had begun": ("ring.hpp", "        if (state != CallState::word(next_, CallPhase::claimed)) return false;\n",
        "        if (state == CallState::word(next_, CallPhase::claimed)) view_.slot_of(next_).state.store(CallState::word(next_, CallPhase::posted), std::memory_order_release);\n"
        "        if (state != CallState::word(next_, CallPhase::claimed) || true) return false;\n"),
    "what a dead server had begun is not ended": ("ring.hpp", "        if (state != CallState::word(next_, CallPhase::claimed)) return false;\n", "        return false;\n"),
    "servers are not counted": ("ring.hpp", "epoch.load(std::memory_order_relaxed) + 1,", "epoch.load(std::memory_order_relaxed),"),
    "a later call of the slot is no answer": ("ring_layout.hpp", "return word >= CallState::word(ticket, CallPhase::answered);", "return word == CallState::word(ticket, CallPhase::answered);"),
    "a posted call has begun": ("ring.hpp", "return state == CallState::word(ticket, CallPhase::claimed) ||", "return state >= CallState::word(ticket, CallPhase::posted) ||"),
    # Staging.
    "a piece goes beyond the end": ("staging.hpp", "if (rounded > bytes_ - offset) {", "if (rounded > bytes_ - offset + staging_alignment) {"),
    "the rest before the end is not counted": ("staging.hpp", "            begin += bytes_ - offset;\n", ""),
    "a full circle takes one more": ("staging.hpp", "if (begin + rounded - released_ > bytes_)", "if (begin + rounded - released_ > bytes_ + staging_alignment)"),
    "an empty circle keeps its place": ("staging.hpp", "        if (is_empty()) released_ =", "        if (bytes_ == 0) released_ ="),
    "pieces are not aligned": ("staging.hpp", "            (bytes + staging_alignment - 1) / staging_alignment * staging_alignment;", "            bytes;"),
    # CallArguments.
    "an index too many": ("arguments.cpp", "if (index >= arguments_max) return", "if (index > arguments_max) return"),
    "an old buffer stays": ("arguments.cpp", "    drop_buffer(index);\n", ""),
    "buffers are as long as they like": ("arguments.cpp", "round_up(bytes) > buffer_bytes_max - others", "round_up(bytes) > buffer_bytes_max"),
    "a replaced buffer counts": ("arguments.cpp", "if (other.index != index) others", "others"),
    "output is sent": ("arguments.cpp", "if (buffer.intent != Intent::out)", "if (buffer.intent != Intent::in || true)"),
    "in-out buffers are not sent": ("arguments.cpp", "if (buffer.intent != Intent::out)", "if (buffer.intent == Intent::in)"),
    "input comes back": ("arguments.cpp", "if (buffer.intent != Intent::in)", "if (buffer.intent != Intent::out || true)"),
    "buffers lie on the list of arguments": ("arguments.cpp", "    std::uint64_t place = round_up(list_bytes());\n    for (const Buffer& buffer : buffers_) {\n        words",
        "    std::uint64_t place = 0;\n    for (const Buffer& buffer : buffers_) {\n        words"),
    "a float is a double": ("arguments.cpp", "std::bit_cast<std::uint32_t>(value));", "std::bit_cast<std::uint64_t>(double{value}));"),
    "kinds beside the slot are lost": ("decode_arguments.cpp", "        kinds = Kinds(list + bytes_of_words, shape.count);\n", ""),
    "the count is believed": ("decode_arguments.cpp", "if (shape.count > arguments_max) {", "if (shape.count > arguments_max + 1) {"),
    "the result's kind is believed": ("decode_arguments.cpp", "if (shape.result > ResultKind::single) {", "if (false) {"),
    "an offset one past the end is believed": ("decode_arguments.cpp", "if (word >= range.size()) {", "if (word > range.size()) {"),
    "addresses are offsets of staging memory": ("decode_arguments.cpp", "kind == ArgumentKind::address ? memory.device : memory.staging;", "kind == ArgumentKind::integer ? memory.device : memory.staging;"),
    "the place of a list is believed": ("decode_arguments.cpp", "            slot[0] > memory.staging.size() - bytes) {", "            slot[0] > memory.staging.size()) {"),
    "the length of a list is believed": ("decode_arguments.cpp", "if (slot[1] != bytes || bytes", "if (bytes"),
    # Functions.
    "reals and integers share registers": ("register_call.hpp", "reals[real_count++] = std::bit_cast<double>(word);", "reals[real_count++] = std::bit_cast<double>(word), ++integer_count;"),
    "seven integers in registers": ("function_call_x86_64.cpp", "call_with_registers<6>", "call_with_registers<7>"),
    "the stack holds no more than eight words": ("register_call.hpp", "if (places.stack_count <= 8)", "if (places.stack_count <= 9)"),
    "a float is returned as a double": ("register_call.hpp", "        case ResultKind::single:\n            return std::bit_cast<std::uint32_t>(\n                RegisterCall<IntegerRegisters, float>",
        "        case ResultKind::single:\n            return std::bit_cast<std::uint64_t>(\n                RegisterCall<IntegerRegisters, double>"),
}

if __name__ == "__main__":
    sys.exit(Plants("call", TESTS, MUTANTS, SOURCES, LAYERS).main())
