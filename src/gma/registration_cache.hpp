// SPDX-License-Identifier: BSD-3-Clause
// Registrations that the library makes for memory of the program that has no global address: the
// end of a long acp_put or acp_get, and a long message that its receiver fetches. A registration
// outlives its use, because making and ending one takes system calls and a barrier on every core: a
// later use of the same memory, or of a part of it, takes the kept registration (a pin-down cache;
// source: Tezuka et al., IPPS 1998). Of the registrations without a use the most recently used ones
// are kept. A registration serves one use at a time, so a failed use revokes no other one.
// A registration names a range of addresses and pins no page. So it stays right when the program
// unmaps, moves or replaces the pages of the range, or forks: a copy reads what is mapped then. If
// nothing is mapped there, a copy by the kernel fails, and the failed use revokes the registration.
// Any thread. No function but end() and those that say so blocks or waits for a thread that copies.
// Tests: tests/unit/gma/registration_cache_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "local/registry.hpp"

namespace acp::gma {

class RegistrationCache {
public:
    static constexpr std::uint32_t kept_max = 256;  // registrations without a use

    // Memory of this process.
    struct OwnRange {
        char* memory = nullptr;
        std::uint64_t bytes = 0;  // >= 1
        bool is_written = false;  // other processes write it; else they only read it
    };

    // The right to use a registration.
    struct Use {
        std::uint32_t number = 0;           // for the functions below; 0: there is none
        memory::GlobalAddress address = 0;  // that of the range's first byte
    };

    //   registry  of this process; must outlive this
    // Throws std::bad_alloc.
    explicit RegistrationCache(local::Registry& registry);

    RegistrationCache(const RegistrationCache&) = delete;
    RegistrationCache& operator=(const RegistrationCache&) = delete;
    ~RegistrationCache() = default;

    // Begins a use of a kept registration that holds the range, else of a new one. Throws
    // std::bad_alloc; then nothing is registered. Blocks while a stopped process is inside a
    // registration that is ended for a new one.
    // Errors: argument (the memory is not mapped, or not as it must be), limit (no room).
    [[nodiscard]] base::Result<Use> begin(const OwnRange& range);

    // Ends a use after which no other process accesses the memory. The registration is kept.
    void keep(std::uint32_t number) noexcept;

    // Ends a use after which a process that was marked dead, and still lives, may access the
    // memory: from now on no process finds it.
    void revoke(std::uint32_t number) noexcept;

    // Ends a use and its registration. Blocks while a thread is inside the memory.
    void end(std::uint32_t number) noexcept;

    // Ends all registrations without a use. Returns how many there were. Blocks as begin().
    std::uint32_t end_kept() noexcept;

private:
    // used, kept: in by_start_. revoked: without a use, and found by no process.
    enum class State : std::uint8_t { free, used, kept, revoked, ending };

    struct Registration {
        OwnRange range;
        local::Key key = 0;
        std::uint64_t kept_at = 0;  // the value of clock_ when it was kept
        State state = State::free;
    };

    // The range of a registration that is used or kept.
    struct Indexed {
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        std::uint32_t number = 0;
    };

    // A registration whose end has begun. Number 0: there is none.
    struct Ending {
        std::uint32_t number = 0;
        local::Key key = 0;
    };

    // How many registrations one search tests, of those that begin before the end of the range.
    static constexpr std::size_t looks_max = 32;

    [[nodiscard]] Registration& at(std::uint32_t number) noexcept {
        return registrations_[number - 1];
    }

    // The place in by_start_ behind all ranges that begin at `start` or before.
    [[nodiscard]] std::vector<Indexed>::iterator behind(std::uintptr_t start) noexcept;
    [[nodiscard]] std::uint32_t take_kept(const OwnRange& range) noexcept;
    [[nodiscard]] std::uint32_t take_place();
    Use put_in_place(std::uint32_t number, const OwnRange& range, local::Key key) noexcept;
    void unindex(std::uint32_t number) noexcept;
    [[nodiscard]] Ending take_least_wanted(std::size_t kept_most) noexcept;
    bool end_one(std::size_t kept_most) noexcept;
    base::Result<local::Key> add(const OwnRange& range);
    void set_free(std::uint32_t number) noexcept;

    local::Registry& registry_;
    std::mutex mutex_;  // guards all below; not held over a call that blocks
    std::vector<Registration> registrations_;
    std::vector<std::uint32_t> free_;  // numbers of free places; has room for all of them
    std::vector<Indexed> by_start_;    // sorted by start; has room for all places
    // how many registrations are in these states
    std::size_t kept_ = 0;
    std::size_t revoked_ = 0;
    std::uint64_t clock_ = 0;
};

}  // namespace acp::gma
