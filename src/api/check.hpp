// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK=1: reports on stderr, with the place of the call, mistakes of the program that
// otherwise stay undetected: a command whose source and target overlap, a list whose ranges do, a
// signal inside the bytes it announces, a handle that no call has returned. The forms acp_fetch_*
// have neither a target nor a handle, so there is nothing to check. Called on the slow path only,
// which every command takes then (open_inline_path); the inline path has no instruction for it.
// Each place is reported once. Any thread. Tests: tests/unit/api/checked_calls_test.cpp,
// tests/tools/acprun_doings_test.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/library.hpp"
#include "api/overlap.hpp"
#include "gma/pointer_issuer.hpp"
#include "local/space.hpp"

#include "lock/locks.hpp"

namespace acp::api {

[[nodiscard]] inline bool is_checking() noexcept {
    return library().config.is_check_on;
}

// Reports a command whose two ranges share a byte. A copy onto itself may.
void check_overlap(const local::Space& space, const memory::Command& command);

// Does so for a put or a get, one end of which is a plain pointer.
void check_overlap(const local::Space& space, const gma::PointerCopy& copy);

// Reports an acp_put_signal whose signal word lies in its target or in its source.
void check_signal(const local::Space& space,
                  const gma::PointerCopy& put,
                  const gma::Signal& signal);

// Reports a list of copies in which a target overlaps another target or any source: the first such
// pair that it finds. A range is compared with those that stand in the same 65536 of the list.
class ListCheck {
public:
    //   call  "acp_copy_v"; it and the space must outlive this
    ListCheck(const local::Space& space, std::string_view call) noexcept
        : space_(space), call_(call) {}

    void add(memory::GlobalAddress target, memory::GlobalAddress source, std::uint64_t bytes);

    // Called after all ranges were added.
    void finish();

private:
    static constexpr std::uint64_t ranges_at_once_max = 65536;

    const local::Space& space_;
    std::string_view call_;
    ListExtents extents_;
    std::uint64_t first_ = 0;  // index in the list of the first range in extents_
    bool is_told_ = false;
};

// Reports that a call has waited for long, and its condition.   what  "its word of 8 bytes at
// 0x7f03a040 is at least 3 (it held 2)"
void tell_long_wait(const char* call, std::int64_t waited_ns, const std::string& what);

// That report for a call which takes a lock; empty where ACP_CHECK is off.
[[nodiscard]] lock::LongWait report_of_long_wait(const char* call);

// Reports a handle that is newer than any that was returned.   what  "acp_wait", "the order of
// acp_copy"
void check_handle(const char* what, std::int64_t given);

}  // namespace acp::api
