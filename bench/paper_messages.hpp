// SPDX-License-Identifier: BSD-3-Clause
// Messages by the scheme of paper 001, to compare PM messages with: a send buffer and a receive
// buffer for each rank of the job, and three remote writes for each message: its bytes, the pointer
// behind them, and, once it was read, the pointer to the released part. Built on acp_copy alone. It
// has the scheme's limits: memory that grows with the job, and no recovery once two pointers differ.
// Nobody is woken, so receivers poll. One object per rank; one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <acp.h>

namespace acp::bench {

class PaperMessages {
public:
    static constexpr std::uint64_t buffer_bytes = 32768;

    // A call of all ranks, which uses the first 8 bytes of their starter memory. is_open() tells
    // whether it has succeeded.
    PaperMessages() : peers_(static_cast<std::size_t>(acp_procs())) {
        const std::size_t bytes = peers_.size() * sizeof(PeerPlace);
        address_ = acp_aligned_alloc(alignof(PeerPlace), bytes, acp_rank());
        if (address_ == ACP_GA_NULL) return;
        places_ = static_cast<PeerPlace*>(acp_query_address(address_));
        std::memset(static_cast<void*>(places_), 0, bytes);
        std::memcpy(acp_query_address(acp_query_starter_ga(acp_rank())), &address_,
                    sizeof address_);
        if (acp_sync() != 0) return;
        for (int rank = 0; rank < acp_procs(); ++rank) {
            acp_ga_t& block = peer(rank).block;
            const acp_handle_t got =
                acp_get(&block, acp_query_starter_ga(rank), sizeof block, ACP_HANDLE_NULL);
            if (got == ACP_HANDLE_NULL || acp_complete(got) != 0) return;
            block += static_cast<std::uint64_t>(acp_rank()) * sizeof(PeerPlace);
        }
        is_open_ = acp_sync() == 0;
    }

    PaperMessages(const PaperMessages&) = delete;
    PaperMessages& operator=(const PaperMessages&) = delete;
    ~PaperMessages() = default;

    [[nodiscard]] bool is_open() const { return is_open_; }

    // Sends a message; false without room for it.
    bool try_send(int rank, const void* bytes, std::uint64_t count) {
        PeerEnd& to = peer(rank);
        PeerPlace& mine = place(rank);
        std::uint64_t at = to.sent % buffer_bytes;
        const std::uint64_t skipped = at + bytes_of(count) > buffer_bytes ? buffer_bytes - at : 0;
        // acquire: the receiver has finished reading; partner: release() there
        const std::uint64_t released = mine.released.load(std::memory_order_acquire);
        if (to.sent + skipped + bytes_of(count) - released > buffer_bytes) return false;
        if (skipped != 0) {
            std::memcpy(mine.to_send.data() + at, &skip, word_bytes);
            write(to, to.block + to_receive_offset + at, mine.to_send.data() + at, word_bytes);
            to.sent += skipped;
            at = 0;
        }
        char* const message = mine.to_send.data() + at;
        char* const pointer = message + bytes_of(count) - word_bytes;
        to.sent += bytes_of(count);
        std::memcpy(message, &count, word_bytes);
        std::memcpy(message + word_bytes, bytes, count);
        std::memcpy(pointer, &to.sent, word_bytes);
        write(to, to.block + to_receive_offset + at, message, bytes_of(count) - word_bytes);
        write(to, to.block + received_offset, pointer, word_bytes);
        return true;
    }

    // Copies a message to `room` and releases it; 0 without a message, else its bytes.
    std::uint64_t try_receive(void* room) {
        for (int i = 0; i < acp_procs(); ++i, next_ = (next_ + 1) % acp_procs()) {
            PeerEnd& from = peer(next_);
            PeerPlace& mine = place(next_);
            // acquire: makes the message visible; partner: the copy of the pointer, ordered after it
            const std::uint64_t received = mine.received.load(std::memory_order_acquire);
            std::uint64_t count = 0;
            while (from.used != received) {
                std::memcpy(&count, mine.to_receive.data() + from.used % buffer_bytes, word_bytes);
                if (count != skip) break;
                from.used += buffer_bytes - from.used % buffer_bytes;
            }
            if (from.used == received) continue;
            std::memcpy(room, mine.to_receive.data() + from.used % buffer_bytes + word_bytes,
                        count);
            from.used += bytes_of(count);
            mine.used = from.used;
            write(from, from.block + released_offset, reinterpret_cast<const char*>(&mine.used),
                  word_bytes);
            next_ = (next_ + 1) % acp_procs();
            return count;
        }
        return 0;
    }

    // Whether all writes have ended. Call it before the object's end too.
    bool flush() {
        bool is_done = true;
        for (PeerEnd& to : peers_) {
            if (to.last != ACP_HANDLE_NULL) is_done = acp_complete(to.last) == 0 && is_done;
            to.last = ACP_HANDLE_NULL;
        }
        return is_done;
    }

    // A call of all ranks. False after a failed write.
    bool close() {
        const bool is_done = flush() && acp_sync() == 0;
        return acp_free(address_) == 0 && is_done;
    }

private:
    // The memory of a rank for one other rank, its peer. Pointers count bytes; modulo buffer_bytes
    // they are offsets in the buffers.
    struct alignas(64) PeerPlace {
        // end of the last message received; writer: the peer
        alignas(64) std::atomic<std::uint64_t> received;
        // end of the sent bytes that were released; writer: the peer
        alignas(64) std::atomic<std::uint64_t> released;
        alignas(64) std::uint64_t used;  // end of the received bytes that were released
        alignas(64) std::array<char, buffer_bytes> to_receive;
        std::array<char, buffer_bytes> to_send;
    };

    static constexpr std::uint64_t received_offset = 0;
    static constexpr std::uint64_t released_offset = 64;
    static constexpr std::uint64_t to_receive_offset = 192;

    // A message: its length, its bytes up to a multiple of 8, and in the send buffer the pointer
    // behind it.
    static constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
    // In place of a length: the next message is at the start of the buffer.
    static constexpr std::uint64_t skip = ~std::uint64_t{0};

    struct PeerEnd {
        acp_ga_t block = ACP_GA_NULL;  // this rank's place in the peer's block
        std::uint64_t sent = 0;
        std::uint64_t used = 0;
        acp_handle_t last = ACP_HANDLE_NULL;  // of the last write to the peer
    };

    [[nodiscard]] static constexpr std::uint64_t bytes_of(std::uint64_t payload_bytes) {
        return 2 * word_bytes + (payload_bytes + word_bytes - 1) / word_bytes * word_bytes;
    }

    [[nodiscard]] PeerEnd& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

    [[nodiscard]] PeerPlace& place(int rank) { return places_[rank]; }

    // Copies from this rank's block, after the last copy to the same rank: a pointer must not overtake
    // its message, nor an older pointer a newer one.
    void write(PeerEnd& to, acp_ga_t target, const char* source, std::uint64_t bytes) {
        const auto offset =
            static_cast<std::uint64_t>(source - reinterpret_cast<const char*>(places_));
        to.last = acp_copy(target, address_ + offset, bytes, to.last);
    }

    std::vector<PeerEnd> peers_;
    acp_ga_t address_ = ACP_GA_NULL;
    PeerPlace* places_ = nullptr;
    int next_ = 0;  // the rank at which the next try_receive() begins
    bool is_open_ = false;
};

}  // namespace acp::bench
