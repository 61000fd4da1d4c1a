// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK=on: whether the memory that an acp_put reads stays as it was at the call until the put
// has ended. A put whose source is changed earlier is right as long as its bytes pass through
// memory of the library, and wrong when it is longer; here it is reported at every length, with the
// place of the call. Once the program has waited for the source by acp_wait_source it may change it,
// and the watch ends there. Only puts with a loan are watched (local_ends.hpp): the others end
// within the call. begin(): the thread that has the loan, before it issues the command; end(): under
// the lock of Commands.
// Tests: tests/conformance/put_source_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/command.hpp"
#include "os/call_site.hpp"

namespace acp::gma {

class SourceWatch {
public:
    //   rank  of this process, for messages
    explicit SourceWatch(std::uint32_t rank) : rank_(rank) {}

    // Notes what the source of a put with this loan holds, and where the program called.
    //   source  `bytes` bytes that can be read; else the put is not watched
    void begin(std::uint32_t loan,
               memory::IssuedBy call,
               const char* source,
               std::uint64_t bytes) noexcept;

    // The put has ended, or the program may change its source. Reports on stderr if the content of its source has changed or is unmapped;
    // once for each place.
    void end(std::uint32_t loan) noexcept;

private:
    static constexpr std::size_t places_told_max = 64;

    struct Watched {
        const char* source = nullptr;  // nullptr: nothing is watched
        std::uint64_t bytes = 0;
        std::uint64_t digest = 0;
        memory::IssuedBy call = memory::IssuedBy::put;
        os::CallSite site;
    };

    void tell(const Watched& put, const char* what);

    std::uint32_t rank_;
    std::array<Watched, memory::Command::loans_max + 1>
        watched_;  // by loan; used by the thread that has the loan
    std::vector<std::uintptr_t> places_told_;
};

}  // namespace acp::gma
