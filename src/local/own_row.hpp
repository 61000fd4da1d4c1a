// SPDX-License-Identifier: BSD-3-Clause
// A process's own row of the node's address table, mapped a second time as the other processes see
// it, because a private window may cover the row in the main mapping (local/space.hpp). The row is
// mapped once, while the descriptor of the node segment certainly belongs to the library, and stays
// mapped as long as the process lives. Later the program may have closed all descriptors and opened
// its own files under their numbers. One thread.
// Tests: tests/unit/local/space_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "memory/address_table.hpp"
#include "node/segment.hpp"
#include "os/mapping.hpp"

namespace acp::local {

class OwnRow {
public:
    static constexpr std::uint64_t bytes =
        sizeof(memory::TableEntry) * memory::granules_per_process;

    // The row in the main mapping.
    [[nodiscard]] static memory::TableEntry* in_table(const node::Segment& segment,
                                                      std::uint32_t slot) noexcept {
        return segment.tables() + std::uint64_t{slot} * memory::granules_per_process;
    }

    //   segment  must still have its file open; its mapping must outlive this
    // Errors: memory, system.
    static base::Result<OwnRow> open(const node::Segment& segment, std::uint32_t slot);

    // The row as the other processes see it.
    [[nodiscard]] memory::TableEntry* shared() const noexcept {
        return reinterpret_cast<memory::TableEntry*>(mapping_.data());
    }

private:
    explicit OwnRow(os::Mapping mapping) noexcept;

    os::Mapping mapping_;
};

}  // namespace acp::local
