// SPDX-License-Identifier: BSD-3-Clause
// The memory of all simulated processes, three times: what it holds, what it must hold, and where that cannot be
// known because a command failed half-way. Knows no router. One thread. Tests: tests/unit/sim/memory_test.cpp.
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

// Bytes of one process.
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
    //   bytes  of each process's one segment
    Memory(std::uint64_t seed, const std::vector<std::uint64_t>& bytes);

    [[nodiscard]] const memory::GaLayout& layout() const noexcept { return layout_; }

    [[nodiscard]] memory::GlobalAddress address(std::uint32_t process,
                                                std::uint64_t offset) const noexcept;

    // The same address as it was before the segment was registered again.
    [[nodiscard]] memory::GlobalAddress stale_address(std::uint32_t process,
                                                      std::uint64_t offset) const noexcept;

    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t process) const noexcept {
        return arrays_[process].held.size();
    }

    // Checks an address as an owner does. ok: `range` is set.
    base::Code find(memory::GlobalAddress address,
                    std::uint64_t bytes,
                    Range& range) const noexcept;

    // What is really there.   the range lies within
    [[nodiscard]] std::span<std::byte> held(const Range& range) noexcept {
        return std::span(arrays_[range.process].held).subspan(range.offset, range.bytes);
    }

    [[nodiscard]] std::span<std::byte> expected(const Range& range) noexcept {
        return std::span(arrays_[range.process].expected).subspan(range.offset, range.bytes);
    }

    // Nobody can say any more what these bytes hold.
    void forget(const Range& range);
    [[nodiscard]] bool is_known(const Range& range) const noexcept;

    // Whether what is known is held; the first difference otherwise.
    [[nodiscard]] bool is_as_expected(const Range& range, std::string& difference);

    // Runs a command on what is held, or on what is expected; both ends within.   returns an atomic's old value
    std::uint64_t run(const memory::Command& command, bool is_value_wanted);

private:
    struct Array {
        std::vector<std::byte> held;
        std::vector<std::byte> expected;
        std::vector<std::uint8_t> unknown;  // per byte; empty: all is known
    };

    memory::GaLayout layout_;
    std::vector<Array> arrays_;
};

// The new value of an atomic's word.
[[nodiscard]] std::uint64_t apply(const memory::Command& command, std::uint64_t old) noexcept;

[[nodiscard]] std::uint64_t load(std::span<const std::byte> word) noexcept;
void store(std::span<std::byte> word, std::uint64_t value) noexcept;

}  // namespace acp::sim
