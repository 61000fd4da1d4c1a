// SPDX-License-Identifier: BSD-3-Clause
// Hazard pointers of one layer: words in which a thread names the records of shared memory that it
// reads, so that a reclaimer does not free a record while a thread reads it. Each thread has
// `count` words beside its hazard line (local/hazards.hpp), in a range of the node segment that the
// layer claims (node/claims.hpp, with `bytes` below); the gateway has them too.
//
// A reader names a record, then checks that the record is still in use, and only then reads it.
// Where the kernel offers membarrier, naming is a store without a fence. A thread that has made a
// record unreachable calls for_each_named() and keeps the named records for later. It does not wait
// for stopped threads, and ignores the words of dead processes. Source: M. Michael, Hazard
// pointers, IEEE TPDS 15 (2004). Any thread.
// Tests: tests/unit/local/hazard_words_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "local/hazards.hpp"
#include "memory/hazard.hpp"
#include "node/claims.hpp"
#include "node/death.hpp"
#include "node/segment.hpp"

namespace acp::local {

//   count  number of words of each thread
template <std::uint32_t count>
class HazardWords {
public:
    using Record = std::uint64_t;  // any number that identifies a record, except 0

    // Bytes for each process.
    static constexpr std::uint64_t bytes =
        std::uint64_t{memory::hazard_lines_per_slot} * count * sizeof(Record);

    // Where the words of all processes lie.
    struct HazardRange {
        char* first = nullptr;     // words of the process on slot 0; zero at the start of the job
        std::uint64_t stride = 0;  // bytes from one slot's words to the next slot's
    };

    [[nodiscard]] static HazardRange range_in(const node::Segment& segment,
                                              node::Claim claim) noexcept {
        return {segment.claimed(0, claim), segment.layout().claim_stride};
    }

    //   segment, hazards and the memory of the range must outlive this
    HazardWords(const node::Segment& segment, Hazards& hazards, HazardRange range) noexcept
        : segment_(segment),
          hazards_(hazards),
          range_(range),
          slot_(hazards.slot()),
          is_fence_paid_by_others_(hazards.has_membarrier()) {}

    // The calling thread's words while this object lives; its destructor clears them. A thread has
    // at most one Names of a layer at a time.
    class Names {
    public:
        [[gnu::always_inline]] explicit Names(HazardWords& words) : words_(words) {
            memory::HazardLine* line = words.hazards_.own_line();
            if (line == nullptr) [[unlikely]] {
                lease_.emplace(words.hazards_);
                line = &lease_->line();
            }
            first_ =
                words.words_of(words.slot_) + std::size_t{words.hazards_.index_of(*line)} * count;
        }

        ~Names() {
            // release: the reads of the named records are over; partner: for_each_named()
            for (std::uint32_t i = 0; i < count; ++i) first_[i].store(0, std::memory_order_release);
        }

        Names(const Names&) = delete;
        Names& operator=(const Names&) = delete;

        // After this call, either a thread that takes the record out of use sees the name, or the
        // caller, if it checks again, sees that the record is out of use.
        //   word < count; the word no longer names the record that it named before
        [[gnu::always_inline]] void name(std::uint32_t word, Record record) noexcept {
            if (words_.is_fence_paid_by_others_) [[likely]] {
                // release: the reads of the record that the word named before are over, as in the
                // destructor
                first_[word].store(record, std::memory_order_release);
                // a compiler barrier; order_with_readers() in the other thread makes it a full
                // fence
                std::atomic_signal_fence(std::memory_order_seq_cst);
            } else {
                first_[word].exchange(record, std::memory_order_seq_cst);
            }
        }

    private:
        HazardWords& words_;
        std::atomic<Record>* first_;
        std::optional<Hazards::Lease> lease_;  // set if the thread has no own line
    };

    // Calls look(record) for every record that a living thread of the node names. It finds each
    // name that a thread set before it saw the caller's earlier writes. Takes 1 to 10 us.
    template <typename Look>
    void for_each_named(const Look& look) const {
        hazards_.order_with_readers();
        for (std::uint32_t slot = 0; slot < node::slots_of(segment_.shape()); ++slot) {
            if (node::is_dead(segment_, slot)) continue;
            const std::uint32_t used =
                segment_.slot(slot).hazard_lines_used.load(std::memory_order_seq_cst);
            const std::atomic<Record>* words = words_of(slot);
            for (std::uint32_t i = 0; i < used * count; ++i) {
                // seq_cst: partner is the exchange in name()
                if (const Record record = words[i].load(std::memory_order_seq_cst); record != 0) {
                    look(record);
                }
            }
        }
    }

private:
    [[nodiscard]] std::atomic<Record>* words_of(std::uint32_t slot) const noexcept {
        return reinterpret_cast<std::atomic<Record>*>(range_.first + slot * range_.stride);
    }

    const node::Segment& segment_;
    Hazards& hazards_;
    HazardRange range_;
    std::uint32_t slot_;
    bool is_fence_paid_by_others_;
};

}  // namespace acp::local
