// SPDX-License-Identifier: BSD-3-Clause
// The memory of all simulated processes. For each byte it has the value held, the value expected,
// and whether the expected value is unknown because a command failed halfway. Knows no router. One
// thread. Tests: tests/unit/sim/memory_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "memory/command.hpp"
#include "memory/ga_layout.hpp"
#include "sim/judge.hpp"

namespace acp::sim {

// A range of bytes in the memory of one process.
struct Range {
    std::uint32_t process = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] bool meets(const Range& other) const noexcept {
        return process == other.process && offset < other.offset + other.bytes &&
               other.offset < offset + bytes;
    }
};

class Memory {
public:
    //   bytes  per process: size of its one segment
    Memory(std::uint64_t seed, const std::vector<std::uint64_t>& bytes);

    [[nodiscard]] const memory::GaLayout& layout() const noexcept { return layout_; }

    [[nodiscard]] memory::GlobalAddress address(std::uint32_t process,
                                                std::uint64_t offset) const noexcept;

    // The address of the same byte in an earlier generation of its segment: an owner must refuse
    // it.
    [[nodiscard]] memory::GlobalAddress stale_address(std::uint32_t process,
                                                      std::uint64_t offset) const noexcept;

    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t process) const noexcept {
        return arrays_[process].held.size();
    }

    // Checks an address as its owner does. On ok `range` is set.
    base::Code find(memory::GlobalAddress address,
                    std::uint64_t bytes,
                    Range& range) const noexcept;

    // The bytes held, and the bytes expected. The range lies within the process's memory.
    [[nodiscard]] std::span<std::byte> held(const Range& range) noexcept {
        return std::span(arrays_[range.process].held).subspan(range.offset, range.bytes);
    }

    [[nodiscard]] std::span<std::byte> expected(const Range& range) noexcept {
        return std::span(arrays_[range.process].expected).subspan(range.offset, range.bytes);
    }

    // Marks bytes as unknown: from now on any value of them is accepted.
    void forget(const Range& range);
    [[nodiscard]] bool is_known(const Range& range) const noexcept;

    // Whether all known bytes have the expected values; otherwise describes the first difference.
    [[nodiscard]] bool is_as_expected(const Range& range, std::string& difference);

    // Runs a command on the bytes held. Both ends lie within memory. Returns an atomic's old value.
    std::uint64_t run(const memory::Command& command, bool is_value_wanted);

private:
    struct Array {
        std::vector<std::byte> held;
        std::vector<std::byte> expected;
        std::vector<std::uint8_t> unknown;  // per byte: nonzero if unknown; empty: all is known
    };

    memory::GaLayout layout_;
    std::vector<Array> arrays_;
};

// Returns the value of an atomic's word after the command.
[[nodiscard]] std::uint64_t apply(const memory::Command& command, std::uint64_t old) noexcept;

[[nodiscard]] std::uint64_t load(std::span<const std::byte> word) noexcept;
void store(std::span<std::byte> word, std::uint64_t value) noexcept;

}  // namespace acp::sim
