// SPDX-License-Identifier: BSD-3-Clause
// Memory that other processes can address, for the end of an acp_put or acp_get that is a plain
// pointer, where the calling thread cannot move the bytes itself. There are two kinds of loans,
// each for one command:
//   a block         library memory of this process that every process of the job can address
//                   (node/claims.hpp), through which the bytes pass (a bounce buffer): up to
//                   block_bytes_max bytes
//   a registration  of the caller's own memory, for longer ones, and while no block is free
//                   (registration_cache.hpp)
// A loan has a number, which its command carries (Command::loan), so that the thread that ends the
// command returns it.
// After a failure a registration is revoked before the command has ended, and a block is not given
// back before the next epoch: a process that was marked dead, and still lives, may read or write
// there.
// take_block(), add_registration() and give_back(): any thread. on_end(): under the lock of
// Commands; a thread of the library may then write a get's bytes to the caller's memory.
// Tests: tests/unit/gma/local_ends_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "gma/registration_cache.hpp"
#include "gma/source_watch.hpp"
#include "memory/command.hpp"
#include "node/segment.hpp"

namespace acp::gma {

inline constexpr node::ClaimedRange local_ends_range{
    .name = "bytes of acp_put and acp_get on their way",
    .bytes = [](const node::Shape&) -> std::uint64_t { return 256 * 256 + 32 * 4096; }};

class LocalEnds {
public:
    static constexpr std::uint32_t small_bytes = 256;
    // More short puts than a round trip between nodes lasts: a put without a block registers memory.
    static constexpr std::uint32_t small_count = 256;
    static constexpr std::uint32_t large_count = 32;
    static constexpr std::uint64_t block_bytes_max = 4096;
    static constexpr std::uint32_t block_count = small_count + large_count;
    static constexpr std::uint32_t registered_max = 160;

    // The caller's end of a copy.
    struct End {
        char* memory = nullptr;  // the caller's; of a put it is only read
        std::uint64_t bytes = 0;
        bool is_get = false;
    };

    struct Loan {
        std::uint32_t number = 0;  // 0: there is no loan
        memory::GlobalAddress address = 0;
        char* block = nullptr;  // nullptr: it is a registration
    };

    //   memory    as many bytes as local_ends_range has, on a line's boundary; must outlive this
    //   address   the global address of the first of them
    //   registry  of this process; must outlive this
    //   watch     is notified of the end of each command with a loan; nullptr: none
    // Throws std::bad_alloc.
    LocalEnds(char* memory,
              memory::GlobalAddress address,
              local::Registry& registry,
              std::unique_ptr<SourceWatch> watch = nullptr);
    LocalEnds(const LocalEnds&) = delete;
    LocalEnds& operator=(const LocalEnds&) = delete;
    ~LocalEnds() = default;

    // Loans a block, if one is free that is long enough. The caller writes a put's bytes there
    // before it issues the command; a get's bytes are copied to the end's memory when the command
    // has succeeded.
    [[nodiscard]] Loan take_block(const End& end) noexcept;

    // Whether a short end without a block had better wait for one than take a registration. Not after a
    // wait in vain (note_vain_wait), until a block was given back.
    [[nodiscard]] bool is_block_worth_waiting(const End& end) const noexcept {
        return end.bytes <= small_bytes && !was_wait_vain_.load(std::memory_order_relaxed);
    }

    void note_vain_wait() noexcept { was_wait_vain_.store(true, std::memory_order_relaxed); }

    // Loans a registration of the end's memory. Number 0: all are on loan, and one is free when one
    // of their commands has ended. Blocks while a stopped process is inside a registration that is
    // ended for this one.
    // Errors: argument (the memory is not mapped, or not as it must be), limit (no room for a
    // registration).
    [[nodiscard]] base::Result<Loan> add_registration(const End& end);

    // Whether a loan is a block, so that no process reads the end's own memory.
    [[nodiscard]] static constexpr bool is_block(std::uint32_t number) noexcept {
        return number != 0 && number <= block_count;
    }

    // The memory of the end for which an address of a loan stands. Under the lock of Commands.
    [[nodiscard]] const char* memory_at(std::uint32_t number, memory::GlobalAddress address);

    [[nodiscard]] SourceWatch* watch() noexcept { return watch_.get(); }

    // The registrations that are on loan or kept, for other users of registrations too.
    [[nodiscard]] RegistrationCache& cache() noexcept { return registrations_; }

    // Takes back a loan that no command will use: the command never ran, or got no number.
    void give_back(std::uint32_t number) noexcept;

    // A command with a loan ends; it is outstanding still. Under the lock of Commands.
    void on_end(const memory::Command& command, bool is_ok) noexcept;

private:
    struct Registered {
        End end;
        RegistrationCache::Use use;
    };

    [[nodiscard]] static constexpr std::uint64_t offset_of(std::uint32_t block) noexcept {
        return block < small_count ? std::uint64_t{block} * small_bytes
                                   : std::uint64_t{small_count} * small_bytes +
                                         (block - small_count) * block_bytes_max;
    }

    [[nodiscard]] Registered& registered(std::uint32_t number) noexcept {
        return registered_[number - block_count - 1];
    }

    static constexpr std::uint32_t blocks_per_word = 64;

    [[nodiscard]] static std::uint32_t take_bit(std::atomic<std::uint64_t>& free) noexcept;
    [[nodiscard]] std::uint32_t take_small() noexcept;
    void free_block(std::uint32_t block) noexcept;
    [[nodiscard]] std::uint32_t take_number() noexcept;
    [[nodiscard]] std::uint32_t free_number(std::uint32_t number) noexcept;

    char* memory_;
    memory::GlobalAddress address_;
    RegistrationCache registrations_;
    std::unique_ptr<SourceWatch> watch_;
    // A bit for each small block that is free.
    std::array<std::atomic<std::uint64_t>, small_count / blocks_per_word> free_small_;
    std::atomic<std::uint64_t> free_large_{(1ULL << large_count) - 1};
    std::atomic<bool> was_wait_vain_{false};  // a hint
    std::array<End, block_count>
        ends_;          // the ends of blocks on loan; written by the borrowing thread
    std::mutex mutex_;  // guards the members below
    std::vector<Registered> registered_;       // registered_max, by number
    std::vector<std::uint32_t> free_numbers_;  // of registrations; has room for registered_max
};

static_assert(LocalEnds::small_count % 64 == 0, "a bit for each small block");
static_assert(LocalEnds::block_count + LocalEnds::registered_max <= memory::Command::loans_max);

}  // namespace acp::gma
