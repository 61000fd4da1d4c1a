// SPDX-License-Identifier: BSD-3-Clause
// The datagrams in flight to one peer: a record per packet number, found and removed in constant
// time. Records lie in blocks of 64 packet numbers, which are taken from a pool that all peers
// share and returned as soon as nothing in a block is in flight; so an idle peer holds none. Only
// ack-eliciting packets have records; the numbers of others leave holes. Bounds: a peer's packets
// in flight lie within 64 consecutive blocks, and the pool has a fixed number of blocks. Does not
// decide what is lost. One thread.
// Tests: tests/unit/datagram/sent_datagrams_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "datagram/ack_frame.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

struct SentDatagram {
    Time sent = 0;
    Dsn dsn = 0;               // serial number of its content, if has_dsn
    std::uint32_t buffer = 0;  // buffer of its content; not interpreted here
    std::uint32_t bytes = 0;   // length on the wire
    bool has_dsn = false;
    // Its loss is a measurement of the path's length, not a sign of congestion.
    bool is_path_probe = false;
};

// Blocks of records for all peers of an endpoint. Allocates only in its constructor.
class SentPool {
public:
    static constexpr std::uint16_t none = 0xFFFF;

    struct Block {
        std::uint64_t in_flight = 0;  // bit i: packet number 64 * block + i
        std::array<SentDatagram, block_packets> records;
    };

    explicit SentPool(std::uint16_t blocks);  // blocks  1 .. 65534

    [[nodiscard]] std::uint16_t take() noexcept;  // `none` if all are in use
    void give_back(std::uint16_t index) noexcept;

    [[nodiscard]] Block& at(std::uint16_t index) noexcept { return blocks_[index]; }

    [[nodiscard]] const Block& at(std::uint16_t index) const noexcept { return blocks_[index]; }

    [[nodiscard]] std::uint32_t free() const noexcept { return free_count_; }

private:
    std::unique_ptr<Block[]> blocks_;
    std::unique_ptr<std::uint16_t[]> free_;
    std::uint32_t free_count_;
};

class SentDatagrams {
public:
    static constexpr std::uint64_t blocks_max = 64;

    explicit SentDatagrams(SentPool& pool) noexcept;
    ~SentDatagrams();
    SentDatagrams(const SentDatagrams&) = delete;
    SentDatagrams& operator=(const SentDatagrams&) = delete;

    // Whether a record for this packet number, which is at least next(), can be added now.
    [[nodiscard]] bool has_room(PacketNumber number) const noexcept;

    // Adds a record; only after has_room() for the same number. Numbers and times never decrease.
    void add(PacketNumber number, const SentDatagram& record) noexcept;

    // Removes the records that an acknowledgement names, newest first, and calls visit(number,
    // const SentDatagram&) for each.
    template <class Visit>
    void take_acked(const AckFrame& ack, Visit&& visit) {
        if (count_ == 0) return;
        const std::uint64_t lowest = std::max(ack.lowest_block(), oldest_block_);
        for (std::uint64_t block = std::min(block_of(ack.largest), newest_block_) + 1;
             block-- > lowest;) {
            take(block, ack.mask_of(block), visit);
        }
        advance();
    }

    // Removes records, oldest first, as long as is_lost(number, const SentDatagram&) returns true;
    // the caller may process them there. Returns the first record that stays, or nullptr.
    template <class IsLost>
    const SentDatagram* take_lost(IsLost&& is_lost) {
        while (count_ != 0) {
            const PacketNumber number = oldest();
            const SentDatagram& record = record_of(number);
            if (!is_lost(number, record)) return &record;
            take(block_of(number), std::uint64_t{1} << (number % block_packets),
                 [](PacketNumber, const SentDatagram&) {});
            advance();
        }
        return nullptr;
    }

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

    // Bytes in flight. Path probes are included: they load the network like all others.
    [[nodiscard]] std::uint64_t bytes_in_flight() const noexcept { return bytes_; }

    // One more than the largest number passed to add() or skip(). Higher numbers were never sent.
    [[nodiscard]] PacketNumber next() const noexcept { return next_; }

    // Notes that a packet that is not ack-eliciting was sent with this number.
    void skip(PacketNumber number) noexcept { next_ = number + 1; }

    [[nodiscard]] PacketNumber oldest() const noexcept;  // count() != 0

private:
    [[nodiscard]] std::uint16_t index_of(std::uint64_t block) const noexcept {
        return directory_[block % blocks_max];
    }

    [[nodiscard]] const SentDatagram& record_of(PacketNumber number) const noexcept {
        return pool_.at(index_of(block_of(number))).records[number % block_packets];
    }

    template <class Visit>
    void take(std::uint64_t block, std::uint64_t mask, Visit&& visit) {
        const std::uint16_t index = index_of(block);
        if (index == SentPool::none) return;
        SentPool::Block& records = pool_.at(index);
        for (std::uint64_t hits = records.in_flight & mask; hits != 0;) {
            const auto bit = static_cast<std::uint64_t>(std::bit_width(hits) - 1);
            hits &= ~(std::uint64_t{1} << bit);
            const SentDatagram& record = records.records[bit];
            --count_;
            bytes_ -= record.bytes;
            visit(block * block_packets + bit, record);
        }
        records.in_flight &= ~mask;
        if (records.in_flight == 0) release(block);
    }

    void release(std::uint64_t block) noexcept;
    void advance() noexcept;  // moves oldest_block_ to the next block with packets in flight

    SentPool& pool_;
    // Index in the pool by block % blocks_max, or none.
    std::array<std::uint16_t, blocks_max> directory_{};
    std::uint64_t oldest_block_ = 0;  // not none in directory_, unless count_ == 0
    std::uint64_t newest_block_ = 0;
    PacketNumber next_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint32_t count_ = 0;
};

}  // namespace acp::datagram
