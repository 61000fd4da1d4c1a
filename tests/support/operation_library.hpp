// SPDX-License-Identifier: BSD-3-Clause
// A library of four numbered operations, as a layer would have them: a bounded add on a word, a
// log to which records are appended, a sum over a range of words, and one that a gateway repeats in later rounds. Each is atomic by its own
// instructions. Its table is given to global memory access and to gateways by unit tests, and is
// the table of ranks and agents that link support/operation_library.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "local/numbered_operation.hpp"

namespace acp::test {

using local::NumberedOperation;
using local::OperationContext;

// Adds to a word unless it would exceed the bound.
inline constexpr std::uint32_t add_below_number = 17;

struct AddBelow {
    std::uint64_t address = 0;  // address of the word
    std::uint64_t value = 0;
    std::uint64_t bound = 0;
};

struct AddedBelow {
    std::uint64_t old = 0;
    std::uint64_t is_added = 0;
};

// Appends a record to a log. Errors: limit (the log is full; nothing was appended).
inline constexpr std::uint32_t append_number = 18;
inline constexpr std::uint64_t log_records = 4096;

struct Log {
    std::uint64_t count;
    std::uint64_t records[log_records];  // 0: not written yet
};

struct Append {
    std::uint64_t address = 0;  // address of the log
    std::uint64_t record = 0;   // not 0
};

// Adds words up and returns the sum and the words: a long result.
inline constexpr std::uint32_t sum_number = 19;
inline constexpr std::uint64_t summed_words_max = 127;

struct Sum {
    std::uint64_t address = 0;
    std::uint64_t words = 0;
};

template <typename Arguments>
[[nodiscard]] bool read(std::span<const std::byte> bytes, Arguments& arguments) noexcept {
    if (bytes.size() != sizeof arguments) return false;
    std::memcpy(&arguments, bytes.data(), sizeof arguments);
    return true;
}

template <typename Result>
NumberedOperation::Ran give(std::span<std::byte> into, const Result& result) noexcept {
    std::memcpy(into.data(), &result, sizeof result);
    return {base::Code::ok, sizeof result};
}

inline NumberedOperation::Ran add_below(OperationContext& context,
                                        std::span<const std::byte> arguments,
                                        std::span<std::byte> result) noexcept {
    AddBelow asked;
    if (!read(arguments, asked) || asked.address % 8 != 0) return {base::Code::argument, 0};
    std::byte* place = context.find(asked.address, 8);
    if (place == nullptr) return {context.refusal(), 0};
    const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(place));
    std::uint64_t old = word.load(std::memory_order_relaxed);
    bool is_added = false;
    while (old + asked.value <= asked.bound && !is_added) {
        // acq_rel: the caller's earlier writes are visible to a thread that reads the new value
        is_added = word.compare_exchange_weak(old, old + asked.value, std::memory_order_acq_rel,
                                              std::memory_order_relaxed);
    }
    return give(result, AddedBelow{old, is_added ? 1ULL : 0ULL});
}

inline NumberedOperation::Ran append(OperationContext& context,
                                     std::span<const std::byte> arguments,
                                     std::span<std::byte> result) noexcept {
    Append asked;
    if (!read(arguments, asked) || asked.record == 0) return {base::Code::argument, 0};
    std::byte* place = context.find(asked.address, sizeof(Log));
    if (place == nullptr) return {context.refusal(), 0};
    Log& log = *reinterpret_cast<Log*>(place);
    const std::atomic_ref<std::uint64_t> count(log.count);
    std::uint64_t at = count.load(std::memory_order_relaxed);
    do {
        if (at >= log_records) return {base::Code::limit, 0};
    } while (!count.compare_exchange_weak(at, at + 1, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    std::atomic_ref<std::uint64_t>(log.records[at]).store(asked.record, std::memory_order_release);
    return give(result, at);
}

inline NumberedOperation::Ran sum(OperationContext& context,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> result) noexcept {
    Sum asked;
    if (!read(arguments, asked) || asked.words > summed_words_max) return {base::Code::argument, 0};
    std::byte* place = context.find(asked.address, 8 * asked.words);
    if (place == nullptr) return {context.refusal(), 0};
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < asked.words; ++i) {
        auto& word = reinterpret_cast<std::uint64_t*>(place)[i];
        const std::uint64_t value =
            std::atomic_ref<std::uint64_t>(word).load(std::memory_order_relaxed);
        total += value;
        std::memcpy(result.data() + 8 * (i + 1), &value, 8);
    }
    std::memcpy(result.data(), &total, 8);
    return {base::Code::ok, static_cast<std::uint32_t>(8 * (asked.words + 1))};
}

// Asks a gateway to run it again in a later round, as often as this variable says.
inline constexpr std::uint32_t repeat_number = 20;
inline std::atomic<std::uint32_t> repeats_left{0};

inline NumberedOperation::Ran repeat(OperationContext& context,
                                     std::span<const std::byte> arguments,
                                     std::span<std::byte> /*result*/) noexcept {
    if (!arguments.empty()) return {base::Code::argument, 0};
    if (repeats_left.load() == 0) return {};
    repeats_left.fetch_sub(1);
    context.run_later(repeat_number);
    return {};
}

inline constexpr std::array<NumberedOperation, 4> operation_rows = {{
    {add_below_number, "add_below", sizeof(AddBelow), sizeof(AddedBelow), add_below},
    {append_number, "append", sizeof(Append), sizeof(std::uint64_t), append},
    {sum_number, "sum", sizeof(Sum), memory::invoke_bytes_max, sum},
    {repeat_number, "repeat", 0, 0, repeat},
}};

inline constexpr local::OperationTable operation_table = [] {
    local::OperationTable table;
    table.add(operation_rows);
    return table;
}();

template <typename Arguments>
[[nodiscard]] std::span<const std::byte> bytes_of(const Arguments& arguments) noexcept {
    return std::as_bytes(std::span(&arguments, 1));
}

template <typename Result>
[[nodiscard]] std::span<std::byte> room_in(Result& result) noexcept {
    return std::as_writable_bytes(std::span(&result, 1));
}

}  // namespace acp::test
