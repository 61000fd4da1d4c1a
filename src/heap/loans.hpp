// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a heap that are lent to a process: it was given the block for bytes on their way, and nobody else knows of it. A loan names
// the block and the process; it ends when the block becomes a container's or is free again. Whoever finds the process gone ends
// its loans and frees the blocks. A call on behalf of the process holds the loan while it uses the block, and nobody ends it meanwhile;
// after the loan was ended for a process that was taken for dead, what that one still asks for is refused.
// Written by the gateway of the heap's node on behalf of processes of other nodes, and by whoever finds one of these gone. Zero
// bytes are no loans. Atomic: as heap/heap.hpp. Any thread; nobody waits.
// Tests: tests/unit/heap/loans_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/offset.hpp"
#include "heap/size_classes.hpp"

namespace acp::heap {

template <template <class> class Atomic = std::atomic>
class Loans {
public:
    //   memory  bytes(count), zero at first, aligned to 8
    //   count   the most loans at the same time
    Loans(char* memory, std::uint32_t count) noexcept
        : words_(reinterpret_cast<Atomic<std::uint64_t>*>(memory)), count_(count) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return std::uint64_t{count} * sizeof(Atomic<std::uint64_t>);
    }

    // false: there is no room for another loan.
    //   process  < processes_max
    [[nodiscard]] bool lend(Offset block, std::uint32_t process) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t none = 0;
            // release: partner is end_all(), which frees the block
            if (words_[i].load(std::memory_order_relaxed) == 0 &&
                words_[i].compare_exchange_strong(none, packed(block, process),
                                                  std::memory_order_release,
                                                  std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    // Ends a loan: the block is the caller's. false: the block is not lent to the process, or not any more, or held.
    [[nodiscard]] bool end(Offset block, std::uint32_t process) noexcept {
        return change(packed(block, process), 0);
    }

    // Keeps others from ending a loan until let_go() or end_held(). false: as end().
    [[nodiscard]] bool hold(Offset block, std::uint32_t process) noexcept {
        return change(packed(block, process), packed(block, process) | held);
    }

    void let_go(Offset block, std::uint32_t process) noexcept {
        (void)change(packed(block, process) | held, packed(block, process));
    }

    void end_held(Offset block, std::uint32_t process) noexcept {
        (void)change(packed(block, process) | held, 0);
    }

    // Ends the loans of processes that are gone.
    //   is_gone(process)
    //   free(block)       takes the block of each
    template <typename IsGone, typename Free>
    void end_all(const IsGone& is_gone, const Free& free) {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if (loan == 0 || (loan & held) != 0 || !is_gone(process_in(loan))) continue;
            if (words_[i].compare_exchange_strong(loan, 0, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) {
                free(block_in(loan));
            }
        }
    }

    static constexpr std::uint32_t processes_max = (1U << 27) - 1;  // ranks of a job

private:
    static constexpr std::uint32_t number_bits = 36;  // of a block, in granules
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
    static constexpr std::uint64_t held = std::uint64_t{1} << 63;

    [[nodiscard]] static constexpr std::uint64_t packed(Offset block,
                                                        std::uint32_t process) noexcept {
        return (std::uint64_t{process} + 1) << number_bits | block / granule_bytes;
    }

    [[nodiscard]] static constexpr Offset block_in(std::uint64_t loan) noexcept {
        return (loan & number_mask) * granule_bytes;
    }

    [[nodiscard]] static constexpr std::uint32_t process_in(std::uint64_t loan) noexcept {
        return static_cast<std::uint32_t>(((loan & ~held) >> number_bits) - 1);
    }

    bool change(std::uint64_t loan, std::uint64_t instead) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (words_[i].load(std::memory_order_relaxed) != loan) continue;
            // acq_rel: of several who end a loan one has the block
            return words_[i].compare_exchange_strong(loan, instead, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed);
        }
        return false;
    }

    Atomic<std::uint64_t>* words_;
    std::uint32_t count_;
};

}  // namespace acp::heap
