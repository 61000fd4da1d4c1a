// SPDX-License-Identifier: BSD-3-Clause
// The executor's end of a delegated system call: checks a record that the device process has
// written, and makes of it the words that the kernel gets. Whatever the record and the staging
// memory hold, and however the device process changes the latter at the same time, the kernel gets
// no address but of the staging memory, the wall behind it, and fields of this object. Knows no
// ring, and makes no system call. One thread.
// Tests: tests/unit/call/system_call_pack_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "call/ring.hpp"
#include "call/system_call_record.hpp"

namespace acp::call {

class SystemCallWork {
public:
    //   staging  system_call_staging_bytes, then system_call_wall_bytes that cannot be accessed
    explicit SystemCallWork(std::byte* staging) noexcept : staging_(staging) {}

    // Takes a record. false: a field is not as the device process's end makes it; nothing may be
    // done then.
    [[nodiscard]] bool take(const SystemCallRecord& record) noexcept;

    // The number of the call for this machine's Linux.
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

    // The words for the kernel.
    [[nodiscard]] const SystemCallWords& words() const noexcept { return words_; }

    // Writes to the staging memory what the call has left in this object.
    void finish() noexcept;

private:
    struct JoinedVector {  // struct iovec
        std::uint64_t address;
        std::uint64_t bytes;
    };

    [[nodiscard]] bool take_argument(const SystemCallRecord& record, std::size_t i) noexcept;
    [[nodiscard]] bool take_vectors(const SystemCallRecord& record,
                                    std::size_t i,
                                    const ArgumentRow& argument) noexcept;
    [[nodiscard]] bool take_length(std::size_t i, StagedPlace place) noexcept;
    [[nodiscard]] std::uint64_t address_of(StagedPlace place) const noexcept;

    std::byte* staging_;
    std::int64_t number_ = -1;
    SystemCallWords words_{};
    JoinedVector vector_{};         // the list of vectors that the kernel reads
    std::int32_t length_ = 0;       // the length that the kernel reads and writes
    StagedPlace length_place_ = 0;  // 0: length_ is not used
};

}  // namespace acp::call
