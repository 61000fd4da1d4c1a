// SPDX-License-Identifier: BSD-3-Clause
// The ways by which two ranks hand messages to each other in the experiment `message`: a pair of
// channels; PM messages; a pair of segmented buffers; bare copies through memory that both have
// mapped; puts, each with a flag behind it. A way knows nothing of time, and all of them wait in
// the same loop, which gives the core away now and then since the other rank may need it. Each
// rank's main thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "os/cpu.hpp"

#include <acp.h>

#include "copy.hpp"
#include "job.hpp"

namespace acp::bench {

// Looks until is_there() is true.
template <typename Look>
void look_until(const Look& is_there) {
    constexpr std::uint32_t looks_before_yield = 4096;
    for (std::uint32_t looks = 1; !is_there(); ++looks) {
        if (looks % looks_before_yield == 0) {
            os::yield_cpu();
        } else {
            os::relax();
        }
    }
}

// Memory of the calling rank's heap.
class HeapMemory {
public:
    explicit HeapMemory(std::uint64_t bytes) : address_(acp_malloc(bytes, acp_rank())) {
        if (address_ == ACP_GA_NULL) give_up(acp_error_message());
        data_ = static_cast<char*>(acp_query_address(address_));
        std::memset(data_, 1, bytes);
    }

    HeapMemory(const HeapMemory&) = delete;
    HeapMemory& operator=(const HeapMemory&) = delete;

    ~HeapMemory() { (void)acp_free(address_); }

    [[nodiscard]] char* data() const { return data_; }

private:
    acp_ga_t address_;
    char* data_ = nullptr;
};

class ChannelWay {
public:
    // Collective of the two ranks.
    ChannelWay(int own, int other)
        : out_(acp_create_ch(own, other)), in_(acp_create_ch(other, own)) {
        if (out_ == ACP_CH_NULL || in_ == ACP_CH_NULL) give_up(acp_error_message());
    }

    ChannelWay(const ChannelWay&) = delete;
    ChannelWay& operator=(const ChannelWay&) = delete;

    ~ChannelWay() {
        acp_request_t frees[2] = {acp_nbfree_ch(out_), acp_nbfree_ch(in_)};
        (void)acp_waitall_ch(frees, 2, nullptr);
    }

    void send(const char* source, std::uint64_t bytes) {
        if (acp_send_ch(out_, source, bytes) != 0) give_up(acp_error_message());
    }

    void receive(char* target, std::uint64_t bytes) {
        if (acp_recv_ch(in_, target, bytes) != bytes) give_up(acp_error_message());
    }

    // Sends messages without answers; of long messages several are in flight at a time.
    void send_many(const char* source, std::uint64_t bytes, std::uint64_t count) {
        if (bytes < long_bytes) {
            for (std::uint64_t i = 0; i < count; ++i) send(source, bytes);
            return;
        }
        keep_under_way(count, [&] { return acp_nbsend_ch(out_, source, bytes); });
    }

    void receive_many(char* target, std::uint64_t bytes, std::uint64_t count) {
        if (bytes < long_bytes) {
            for (std::uint64_t i = 0; i < count; ++i) receive(target, bytes);
            return;
        }
        keep_under_way(count, [&] { return acp_nbrecv_ch(in_, target, bytes); });
    }

    static constexpr std::uint64_t long_bytes = 64 << 10;

private:
    static constexpr std::uint64_t under_way_max = 4;

    template <typename Begin>
    static void keep_under_way(std::uint64_t count, const Begin& begin) {
        acp_request_t requests[under_way_max] = {};
        const auto end = [&](std::uint64_t i) {
            if (acp_wait_ch(requests[i % under_way_max]) == static_cast<std::size_t>(-1))
                give_up(acp_error_message());
        };
        for (std::uint64_t i = 0; i < count; ++i) {
            if (i >= under_way_max) end(i);
            requests[i % under_way_max] = begin();
        }
        for (std::uint64_t i = count > under_way_max ? count : under_way_max;
             i < count + under_way_max; ++i) {
            if (i - under_way_max < count) end(i - under_way_max);
        }
    }

    acp_ch_t out_;
    acp_ch_t in_;
};

// PM messages, in place at both ends but for one copy in and one out, as the bare copies.
class PmWay {
public:
    static constexpr std::uint64_t bytes_max = ACP_PM_MESSAGE_BYTES;

    explicit PmWay(int other) : pm_(acp_open_pm(0)), other_(other) {
        if (pm_ == ACP_PM_NULL) give_up(acp_error_message());
    }

    PmWay(const PmWay&) = delete;
    PmWay& operator=(const PmWay&) = delete;

    ~PmWay() { (void)acp_close_pm(pm_); }

    void send(const char* source, std::uint64_t bytes) {
        void* room = nullptr;
        look_until([&] { return is_there(acp_get_buffer_pm(pm_, other_, bytes, &room)); });
        std::memcpy(room, source, bytes);
        if (acp_send_pm(pm_) != 0) give_up(acp_error_message());
    }

    void receive(char* target, std::uint64_t bytes) {
        const void* data = nullptr;
        std::size_t length = 0;
        look_until([&] { return is_there(acp_receive_pm(pm_, &data, &length, nullptr)); });
        if (length != bytes) give_up("a PM message has another length than was sent");
        std::memcpy(target, data, length);
        if (acp_release_pm(pm_) != 0) give_up(acp_error_message());
    }

    void send_many(const char* source, std::uint64_t bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) send(source, bytes);
    }

    void receive_many(char* target, std::uint64_t bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) receive(target, bytes);
    }

    // Between nodes what was sent may need calls of the sender.
    void settle() {
        look_until([&] { return is_there(acp_test_sent_pm(pm_)); });
    }

private:
    static bool is_there(int result) {
        if (result < 0) give_up(acp_error_message());
        return result == 1;
    }

    acp_pm_t pm_;
    int other_;
};

// Segmented buffers in memory of acp_malloc, with one copy in and one out, as the bare copies.
class SegbufWay {
public:
    static constexpr std::uint64_t bytes_max = 64 << 10;

    // Collective of the two ranks.   bytes  the most of a message
    SegbufWay(int other, std::uint64_t bytes)
        : segment_bytes_(bytes < sizeof(std::uint64_t) ? sizeof(std::uint64_t) : bytes),
          source_(acp_create_src_segbuf(other, filled_.data(), segment_bytes_, segments)),
          destination_(acp_create_dst_segbuf(other, come_.data(), segment_bytes_, segments)) {
        if (source_ == ACP_SEGBUF_NULL || destination_ == ACP_SEGBUF_NULL)
            give_up(acp_error_message());
        expect(acp_connect_segbuf(source_) == 0 && acp_connect_segbuf(destination_) == 0);
    }

    SegbufWay(const SegbufWay&) = delete;
    SegbufWay& operator=(const SegbufWay&) = delete;

    ~SegbufWay() {
        (void)acp_disconnect_segbuf(source_);
        (void)acp_disconnect_segbuf(destination_);
        (void)acp_free_segbuf(source_);
        (void)acp_free_segbuf(destination_);
    }

    void send(const char* source, std::uint64_t bytes) {
        look_until([&] { return is_yes(acp_isready_segbuf(source_)); });
        std::memcpy(filled_.data() + sent_++ % segments * segment_bytes_, source, bytes);
        expect(acp_ack_segbuf(source_) == 0);
    }

    void receive(char* target, std::uint64_t bytes) {
        look_until([&] { return is_yes(acp_isacked_segbuf(destination_)); });
        std::memcpy(target, come_.data() + received_++ % segments * segment_bytes_, bytes);
        expect(acp_ready_segbuf(destination_) == 0);
    }

    void send_many(const char* source, std::uint64_t bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) send(source, bytes);
    }

    void receive_many(char* target, std::uint64_t bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) receive(target, bytes);
    }

private:
    static constexpr std::uint64_t segments = 16;

    static void expect(bool is_right) {
        if (!is_right) give_up(acp_error_message());
    }

    static bool is_yes(int result) {
        expect(result >= 0);
        return result == 0;
    }

    std::uint64_t segment_bytes_;
    HeapMemory filled_{segments * segment_bytes_};
    HeapMemory come_{segments * segment_bytes_};
    acp_segbuf_t source_;
    acp_segbuf_t destination_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

// The memory into which one rank sends, in the other rank's starter memory.
struct BareBoard {
    static constexpr std::uint64_t slot_bytes = 32 << 10;

    struct alignas(64) Word {
        std::atomic<std::uint64_t> value;
    };

    // of a burst: how many the owner's partner has taken of those that the owner sends
    Word credit;
    alignas(64) char slots[slot_bytes];  // each a flag and a payload, written by the partner
};

// Two copies: into the memory of the other rank, and from there into its buffer. In a burst through
// as many slots as the memory has.
class BareWay {
public:
    BareWay(BareBoard& own, BareBoard& others) : own_(own), others_(others) {}

    static constexpr std::uint64_t bytes_max = 8 << 10;

    void send(const char* source, std::uint64_t bytes) { put(0, source, bytes); }

    void receive(char* target, std::uint64_t bytes) { take(0, target, bytes); }

    void send_many(const char* source, std::uint64_t bytes, std::uint64_t count) {
        const std::uint64_t slots = slots_of(bytes);
        std::uint64_t credit = sent_;
        for (std::uint64_t i = 0; i < count; ++i) {
            // acquire: the other one no longer reads the slot; partner: receive_many()
            look_until([&] {
                if (sent_ - credit < slots) return true;
                credit = own_.credit.value.load(std::memory_order_acquire);
                return sent_ - credit < slots;
            });
            put(sent_ % slots, source, bytes);
        }
    }

    void receive_many(char* target, std::uint64_t bytes, std::uint64_t count) {
        const std::uint64_t slots = slots_of(bytes);
        const std::uint64_t credit_every = slots < 8 ? 1 : slots / 4;
        for (std::uint64_t i = 0; i < count; ++i) {
            take(received_ % slots, target, bytes);
            if (received_ % credit_every == 0 || i + 1 == count)
                others_.credit.value.store(received_, std::memory_order_release);
        }
    }

private:
    static constexpr std::uint64_t line_bytes = 64;

    [[nodiscard]] static std::uint64_t stride_of(std::uint64_t bytes) {
        return (sizeof(std::uint64_t) + bytes + line_bytes - 1) / line_bytes * line_bytes;
    }

    [[nodiscard]] static std::uint64_t slots_of(std::uint64_t bytes) {
        return BareBoard::slot_bytes / stride_of(bytes);
    }

    [[nodiscard]] static std::atomic<std::uint64_t>& flag(char* slot) {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(slot);
    }

    void put(std::uint64_t index, const char* source, std::uint64_t bytes) {
        char* const slot = others_.slots + index * stride_of(bytes);
        std::memcpy(slot + sizeof(std::uint64_t), source, bytes);
        flag(slot).store(++sent_, std::memory_order_release);  // partner: take()
    }

    void take(std::uint64_t index, char* target, std::uint64_t bytes) {
        char* const slot = own_.slots + index * stride_of(bytes);
        ++received_;
        look_until([&] { return flag(slot).load(std::memory_order_acquire) == received_; });
        std::memcpy(target, slot + sizeof(std::uint64_t), bytes);
    }

    BareBoard& own_;
    BareBoard& others_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

// Puts from the source region of a rank to the target region of the other one, and a flag of 8
// bytes at the end of the region, ordered behind them. A message of at most 8 bytes is the flag
// alone.
class PutWay {
public:
    PutWay(const Regions& memory, int own, int other) : memory_(memory), own_(own), other_(other) {}

    void send(const char* /*source*/, std::uint64_t bytes) {
        word(memory_.source(own_)).store(++sent_, std::memory_order_relaxed);
        acp_handle_t order = ACP_HANDLE_NULL;
        if (bytes > sizeof sent_) {
            order = acp_copy(memory_.target_ga(other_), memory_.source_ga(own_), bytes,
                             ACP_HANDLE_NULL);
        }
        last_ = acp_copy(memory_.target_ga(other_) + flag_offset(),
                         memory_.source_ga(own_) + flag_offset(), sizeof sent_, order);
    }

    // The flag takes the last bytes of the region.
    [[nodiscard]] std::uint64_t flag_offset() const { return memory_.bytes() - sizeof sent_; }

    void receive(char* /*target*/, std::uint64_t /*bytes*/) {
        ++received_;
        // acquire: pairs with the write of the flag, which the sender orders after the data. A
        // later flag may have overwritten this one, since the end of a burst follows an answer at
        // once: hence `>=`.
        look_until([&] {
            return word(memory_.target(own_)).load(std::memory_order_acquire) >= received_;
        });
        acp_complete(last_);
        last_ = ACP_HANDLE_NULL;
    }

    void send_many(const char* /*source*/, std::uint64_t bytes, std::uint64_t count) {
        const auto copy = bytes < ChannelWay::long_bytes ? copy_streamed : copy_deep;
        copy(memory_.target_ga(other_), memory_.source_ga(own_), bytes, count);
    }

    // The sender knows when they have come.
    void receive_many(char* /*target*/, std::uint64_t /*bytes*/, std::uint64_t /*count*/) {}

private:
    [[nodiscard]] std::atomic<std::uint64_t>& word(char* region) const {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(region + flag_offset());
    }

    const Regions& memory_;
    int own_;
    int other_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    acp_handle_t last_ = ACP_HANDLE_NULL;
};

}  // namespace acp::bench
