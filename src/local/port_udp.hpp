// SPDX-License-Identifier: BSD-3-Clause
// The udp port: every message is one datagram over loopback. Datagrams of a sender to a receiver are numbered;
// the receiver answers with the number up to which it has all, in a message on its way back or by itself. A
// sender keeps what is not answered, never more than its share of the receiver's buffer, so that nothing
// is lost but where a buffer is too small for one datagram of each peer; what is missing is sent again.
// Foreign datagrams are dropped: the source's port must be the published one of the slot it names.
// A program that closes all descriptors closes the socket too: another one is opened then, and what was lost is sent again.
// Threads as local/port.hpp says. Tests: tests/unit/local/port_test.cpp, port_udp_test.cpp.
// Source: paper 000 (one datagram per message, each answered).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "local/linked_pool.hpp"
#include "local/port.hpp"
#include "os/event.hpp"
#include "os/udp_socket.hpp"

namespace acp::local {

// What a datagram begins with.
struct DatagramHead {
    enum class Kind : std::uint32_t {
        message = 1,  // a MessageHead and its payload follow
        answer = 2,   // acknowledged is all there is
        gap = 3       // likewise, and something after it came out of turn: send again
    };

    std::uint64_t job_id = 0;
    Kind kind = Kind::message;
    std::uint32_t sender = 0;        // slot
    std::uint64_t number = 0;        // of a message, from 1 up
    std::uint64_t acknowledged = 0;  // all messages up to this one have come
};

static_assert(sizeof(DatagramHead) == 32);

inline constexpr std::uint64_t resend_after_ns = 20'000'000;  // doubled each time
inline constexpr std::uint64_t resend_after_max_ns = 200'000'000;
inline constexpr std::uint32_t unanswered_max = 64;  // datagrams to one receiver
inline constexpr std::uint32_t kept_at_once = 64;    // datagrams for which memory is taken at once

class UdpPort final : public Port {
public:
    // Publishes the port's number in the slot.   segment  must outlive this
    // Errors: limit, system.
    static base::Result<std::unique_ptr<Port>> open(const node::Segment& segment,
                                                    std::uint32_t slot);

    bool send(std::uint32_t receiver,
              const MessageHead& head,
              std::span<const char> payload) override;
    [[nodiscard]] bool has_room(std::uint32_t receiver) const override;
    std::uint32_t receive(const Handler& handler, std::uint32_t max_messages) override;
    [[nodiscard]] bool has_mail() const override;
    void forget(std::uint32_t dead_slot) override;
    void wake_service() override;
    void sleep_service(const std::function<bool()>& is_idle, std::int64_t timeout_ns) override;

    [[nodiscard]] std::uint32_t datagram_bytes() const override { return datagram_bytes_; }

    // Most bytes, by the kernel's charge, that may be unanswered to one receiver.
    [[nodiscard]] std::uint64_t share_bytes() const noexcept { return share_bytes_; }

    // What the kernel charges a receive buffer for a datagram (measured: 832 + 1.0 .. 1.6 of its size).
    [[nodiscard]] static constexpr std::uint64_t charge(std::uint64_t payload_bytes) noexcept {
        return 832 + (sizeof(DatagramHead) + sizeof(MessageHead) + payload_bytes) * 8 / 5;
    }

private:
    struct PacketHead {
        DatagramHead head;
        MessageHead message;
    };

    static_assert(sizeof(PacketHead) == sizeof(DatagramHead) + sizeof(MessageHead));

    // Sent and not answered. The payload has a place of its own, by the record's index.
    struct Kept {
        PacketHead packet;
        std::uint32_t payload_bytes = 0;
        std::uint32_t next = Chain::nobody;
    };

    struct UdpPeer {
        std::uint64_t sent = 0;      // number of the last message to it
        std::uint64_t received = 0;  // number of the last message from it, in order
        Chain unanswered;            // of kept_, oldest first
        std::uint32_t unanswered_count = 0;
        std::uint64_t charged_bytes = 0;
        std::uint64_t resend_at_ns = 0;  // while something is unanswered
        std::uint64_t patience_ns = resend_after_ns;
        std::uint64_t resent_up_to = 0;    // sent again because of a gap
        std::uint64_t doubtful_up_to = 0;  // under way when nothing was answered for long
        bool owes_answer = false;
        bool is_listed = false;  // in to_answer_
        bool has_gap = false;
        bool is_put_off =
            false;  // a message of it came while none was wanted; it must be sent again
        bool is_dead = false;
    };

    // The socket, and what ends a sleep that waits for it.
    struct Ways {
        os::UdpSocket socket;
        os::Event event;

        void abandon() noexcept;
    };

    static base::Result<std::unique_ptr<Ways>> open_ways(const node::Shape& shape);

    UdpPort(const node::Segment& segment, std::uint32_t slot, std::unique_ptr<Ways> first);

    // acquire: partner is renew_ways(). By the driver the latest; by other threads perhaps those before, which end
    // no sleep any more.
    [[nodiscard]] Ways& ways() const noexcept { return *ways_.load(std::memory_order_acquire); }

    void publish_port() noexcept;
    void renew_ways() noexcept;

    [[nodiscard]] bool grow() noexcept;
    [[nodiscard]] bool make_room(const UdpPeer& peer) noexcept;

    // Whether a datagram to this peer can be kept: a peer with nothing under way has a place reserved.
    [[nodiscard]] bool can_keep(const UdpPeer& peer) const noexcept {
        return peer.unanswered.is_empty() || kept_.free_count() > reserved_;
    }

    [[nodiscard]] std::span<char> payload_of(std::uint32_t kept) noexcept {
        return {&payloads_[kept / kept_at_once][std::size_t{kept % kept_at_once} * datagram_bytes_],
                kept_[kept].payload_bytes};
    }

    void keep(UdpPeer& peer, const PacketHead& packet, std::span<const char> payload) noexcept;
    void drop_oldest(UdpPeer& peer) noexcept;
    [[nodiscard]] std::uint16_t udp_port_of(std::uint32_t slot) const noexcept;
    bool transmit(std::uint32_t receiver,
                  PacketHead& packet,
                  std::span<const char> payload) noexcept;
    bool take(std::span<const std::byte> datagram, std::uint16_t source, const Handler* handler);
    void owe(std::uint32_t sender) noexcept;
    void ask_for_put_off() noexcept;
    void on_acknowledged(std::uint32_t sender, const DatagramHead& head);
    void answer();
    void resend_what_is_due();
    void note_next_resend() noexcept;

    const node::Segment& segment_;
    const std::uint32_t slot_;
    const std::uint32_t datagram_bytes_;
    const std::uint64_t job_id_;
    const std::uint64_t share_bytes_;
    // All that were opened, the latest last: a thread may still hold those before.
    std::vector<std::unique_ptr<Ways>> all_ways_;
    std::atomic<Ways*> ways_;
    std::atomic<bool> is_event_lost_{false};
    std::vector<UdpPeer> peers_;  // by slot
    // Peers to be answered unless a message did it; room for all.
    std::vector<std::uint32_t> to_answer_;
    // What is under way: a place for each peer, and others that all share. As many as there are payloads for.
    LinkedPool<Kept> kept_{0};
    std::uint32_t reserved_;  // free places of kept_ for peers that have none
    std::vector<std::unique_ptr<char[]>> payloads_;     // of kept_at_once each
    bool has_put_off_ = false;                          // of some peer
    std::vector<std::byte> buffer_;                     // the datagram being received
    std::atomic<std::uint64_t> next_resend_ns_{~0ULL};  // earliest of all peers; writer: the driver
    std::atomic<bool> is_asleep_{false};                // the service thread, or about to be
};

}  // namespace acp::local
