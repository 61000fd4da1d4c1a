// SPDX-License-Identifier: BSD-3-Clause
// The shared pool of blocks, and a peer's directory of its blocks. One thread.
#include "datagram/sent_datagrams.hpp"

#include "base/assert.hpp"

namespace acp::datagram {

SentPool::SentPool(std::uint16_t blocks)
    : blocks_(std::make_unique<Block[]>(blocks)),
      free_(std::make_unique<std::uint16_t[]>(blocks)),
      free_count_(blocks) {
    ACP_ASSERT(blocks != 0 && blocks != none);
    for (std::uint16_t i = 0; i < blocks; ++i) {
        free_[i] = static_cast<std::uint16_t>(blocks - 1 - i);
    }
}

std::uint16_t SentPool::take() noexcept {
    return free_count_ == 0 ? none : free_[--free_count_];
}

void SentPool::give_back(std::uint16_t index) noexcept {
    blocks_[index].in_flight = 0;
    free_[free_count_++] = index;
}

SentDatagrams::SentDatagrams(SentPool& pool) noexcept : pool_(pool) {
    directory_.fill(SentPool::none);
}

SentDatagrams::~SentDatagrams() {
    for (const std::uint16_t index : directory_) {
        if (index != SentPool::none) pool_.give_back(index);
    }
}

bool SentDatagrams::has_room(PacketNumber number) const noexcept {
    const std::uint64_t block = block_of(number);
    if (count_ != 0) {
        // The directory is a ring of blocks_max entries.
        if (block - oldest_block_ >= blocks_max) return false;
        if (index_of(block) != SentPool::none) return true;
    }
    return pool_.free() != 0;
}

void SentDatagrams::add(PacketNumber number, const SentDatagram& record) noexcept {
    ACP_ASSERT(number >= next_ && has_room(number));
    const std::uint64_t block = block_of(number);
    if (count_ == 0) oldest_block_ = block;
    std::uint16_t& index = directory_[block % blocks_max];
    if (index == SentPool::none) index = pool_.take();
    SentPool::Block& records = pool_.at(index);
    records.in_flight |= std::uint64_t{1} << (number % block_packets);
    records.records[number % block_packets] = record;
    newest_block_ = block;
    next_ = number + 1;
    ++count_;
    bytes_ += record.bytes;
}

PacketNumber SentDatagrams::oldest() const noexcept {
    const std::uint64_t in_flight = pool_.at(index_of(oldest_block_)).in_flight;
    return oldest_block_ * block_packets + static_cast<std::uint64_t>(std::countr_zero(in_flight));
}

void SentDatagrams::release(std::uint64_t block) noexcept {
    std::uint16_t& index = directory_[block % blocks_max];
    pool_.give_back(index);
    index = SentPool::none;
}

void SentDatagrams::advance() noexcept {
    if (count_ == 0) return;
    while (index_of(oldest_block_) == SentPool::none) ++oldest_block_;
}

}  // namespace acp::datagram
