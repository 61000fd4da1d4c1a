// SPDX-License-Identifier: BSD-3-Clause
// The udp port: every message is one datagram over loopback. Datagrams of a sender to a receiver
// are numbered; the receiver acknowledges by the number up to which it has all of them, in a
// message to that sender or in a separate datagram. A sender keeps unacknowledged datagrams, at
// most its share of the receiver's buffer, so that datagrams are lost only where a buffer is too
// small for one datagram of each peer; lost ones are sent again. Foreign datagrams are dropped: the
// source port must be the one that the slot named as sender has published. If the program closes
// all descriptors, and with them the socket, the port opens another one, and lost datagrams are
// sent again. Threads: see mailbox/port.hpp.
// Tests: tests/unit/mailbox/port_test.cpp, port_udp_test.cpp. Source: paper 000 (one datagram per
// message, each answered).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "mailbox/linked_pool.hpp"
#include "mailbox/port.hpp"
#include "os/event.hpp"
#include "os/udp_socket.hpp"

namespace acp::mailbox {

// The head of every datagram.
struct DatagramHead {
    enum class Kind : std::uint32_t {
        message = 1,  // a MessageHead and its payload follow
        answer = 2,   // no message; only `acknowledged` counts
        gap = 3       // an answer after a later message arrived out of order: send again
    };

    std::uint64_t job_id = 0;
    Kind kind = Kind::message;
    std::uint32_t sender = 0;        // slot
    std::uint64_t number = 0;        // number of a message, from 1 up; 0 in answers
    std::uint64_t acknowledged = 0;  // all messages up to this number have arrived
};

static_assert(sizeof(DatagramHead) == 32);

inline constexpr std::uint64_t resend_after_ns = 20'000'000;  // doubled each time
inline constexpr std::uint64_t resend_after_max_ns = 200'000'000;
inline constexpr std::uint32_t unanswered_max = 64;  // datagrams to one receiver
// datagrams for which memory is allocated in one step
inline constexpr std::uint32_t kept_at_once = 64;

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

    // The most unacknowledged bytes to one receiver, as the kernel charges them.
    [[nodiscard]] std::uint64_t share_bytes() const noexcept { return share_bytes_; }

    // The bytes that the kernel charges to a receive buffer for one datagram (measured: 832 + 1.0
    // .. 1.6 of its size).
    [[nodiscard]] static constexpr std::uint64_t charge(std::uint64_t payload_bytes) noexcept {
        return 832 + (sizeof(DatagramHead) + sizeof(MessageHead) + payload_bytes) * 8 / 5;
    }

private:
    struct PacketHead {
        DatagramHead head;
        MessageHead message;
    };

    static_assert(sizeof(PacketHead) == sizeof(DatagramHead) + sizeof(MessageHead));

    // A datagram that was sent and is not answered. Its payload lies in payloads_, by the record's
    // index.
    struct Kept {
        PacketHead packet;
        std::uint32_t payload_bytes = 0;
        std::uint32_t next = Chain::nobody;
    };

    struct UdpPeer {
        std::uint64_t sent = 0;      // number of the last message to it
        std::uint64_t received = 0;  // number of the last message from it, in order
        Chain unanswered;            // records of kept_, oldest first
        std::uint32_t unanswered_count = 0;
        std::uint64_t charged_bytes = 0;
        std::uint64_t resend_at_ns = 0;  // valid while a datagram is unanswered
        std::uint64_t patience_ns = resend_after_ns;
        // number of the last datagram sent again because of a gap
        std::uint64_t resent_up_to = 0;
        // number of the last datagram that was unanswered at the last timeout
        std::uint64_t doubtful_up_to = 0;
        bool owes_answer = false;
        bool is_listed = false;  // its slot is in to_answer_
        bool has_gap = false;
        // a message of this peer arrived while receive() took none; the peer must send it again
        bool is_put_off = false;
        bool is_dead = false;
    };

    // The socket, and the event that ends a sleep on the socket.
    struct Ways {
        os::UdpSocket socket;
        os::Event event;

        void abandon() noexcept;
    };

    static base::Result<std::unique_ptr<Ways>> open_ways(const node::Shape& shape);

    UdpPort(const node::Segment& segment, std::uint32_t slot, std::unique_ptr<Ways> first);

    // acquire: partner is renew_ways(). The driver sees the latest Ways; another thread may get
    // earlier ones, whose event no longer ends the sleep.
    [[nodiscard]] Ways& ways() const noexcept { return *ways_.load(std::memory_order_acquire); }

    void publish_port() noexcept;
    void renew_ways() noexcept;

    [[nodiscard]] bool grow() noexcept;
    [[nodiscard]] bool make_room(const UdpPeer& peer) noexcept;

    // Whether a datagram to this peer can be kept: a peer without unanswered datagrams has a place
    // reserved for one.
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
    // All Ways opened so far, the latest last: a thread may still use earlier ones.
    std::vector<std::unique_ptr<Ways>> all_ways_;
    std::atomic<Ways*> ways_;
    std::atomic<bool> is_event_lost_{false};
    std::vector<UdpPeer> peers_;  // indexed by slot
    // Peers to which an answer is due unless a message carries it; capacity for all.
    std::vector<std::uint32_t> to_answer_;
    // Unanswered datagrams: one place is reserved for each peer, the others are shared by all.
    // There are as many as payloads_ has room for.
    LinkedPool<Kept> kept_{0};
    // free places of kept_ that are reserved for peers without unanswered datagrams
    std::uint32_t reserved_;
    std::vector<std::unique_ptr<char[]>> payloads_;     // blocks of kept_at_once payloads each
    bool has_put_off_ = false;                          // is_put_off of some peer is set
    std::vector<std::byte> buffer_;                     // the datagram being received
    std::atomic<std::uint64_t> next_resend_ns_{~0ULL};  // earliest of all peers; writer: the driver
    std::atomic<bool> is_asleep_{false};                // the service thread sleeps, or will
};

}  // namespace acp::mailbox
