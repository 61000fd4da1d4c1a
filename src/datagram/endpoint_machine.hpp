// SPDX-License-Identifier: BSD-3-Clause
// The endpoint itself, declared: its parts and the functions that move them, one file per kind of event
// (endpoint_submit, _transmit, _receive, _handshake, _address, _acknowledge, _timer, _sever). Knows neither socket nor
// clock. Handlers are called only from settle(), and for frames; so no function finds its peer gone halfway. One
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datagram/close_allowance.hpp"
#include "datagram/cookie_jar.hpp"
#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/key_schedule.hpp"
#include "datagram/peer_table.hpp"
#include "datagram/send_pool.hpp"
#include "datagram/timer_heap.hpp"
#include "datagram/wake_keys.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

// Who the endpoint works with; all outlive it.
struct Company {
    CipherSuite& suite;
    Entropy& entropy;
    const AddressBook& book;
    EndpointHandler& handler;
};

class EndpointMachine final : public Endpoint {
public:
    static constexpr Time ack_delay_ns = 200'000;         // WIRE-44
    static constexpr Time ping_after_ns = 1'000'000'000;  // WIRE-85
    static constexpr Time init_retry_ns = 30'000'000;
    static constexpr Time init_retry_max_ns = 200'000'000;
    static constexpr std::uint32_t probes_before_severing = 3;
    static constexpr Time stopped_after_ns =
        1'000'000'000;                                // an alarm so late: the process was stopped
    static constexpr std::uint32_t answers_max = 64;  // handshake answers waiting to be sent
    static constexpr std::uint32_t probes_per_address = 2;  // WIRE-94
    static constexpr std::uint32_t batch_datagrams = 63;    // and an acknowledgement
    static constexpr std::uint32_t batch_bytes = 65000;     // without that
    static constexpr std::uint32_t wanting_bytes_min = sizeof(ClosePacket);  // WIRE-26
    static constexpr std::uint32_t waiting_min = 128;  // datagrams a peer may have waiting
    static constexpr std::uint32_t waiting_max = 1024;
    static constexpr std::uint32_t waiting_share_min = 16;  // however many peers there are
    static constexpr PacketNumber path_probe_after = 16;    // packets
    static constexpr Time starved_retry_ns = 1'000'000;

    EndpointMachine(const Settings& settings, const Company& company);

    std::byte* reserve(NodeId node, std::uint32_t bytes) override;
    MutableBytes reserve_rest(NodeId node, std::uint32_t bytes_min) override;
    void commit(NodeId node, std::uint32_t bytes) override;
    void commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) override;
    [[nodiscard]] std::uint32_t frame_bytes_max(NodeId node) const noexcept override;
    void watch(NodeId node) override;
    void unwatch(NodeId node) override;
    void sever(NodeId node, SeverReason reason) override;
    [[nodiscard]] bool is_severed(NodeId node) const noexcept override;
    void close() override;
    void on_datagram(Time now, const Address& from, MutableBytes datagram) override;
    void on_timer(Time now) override;
    [[nodiscard]] Time deadline() const noexcept override;
    Transmit next_transmit(Time now, MutableBytes into) override;
    [[nodiscard]] bool is_quiet() const noexcept override;
    [[nodiscard]] std::uint32_t free_buffers() const noexcept override;
    [[nodiscard]] const Counters& counters() const noexcept override;
    [[nodiscard]] Features features() const noexcept override;

    [[nodiscard]] Features differing_features() const noexcept override { return differing_; }

    [[nodiscard]] bool stats(NodeId node, PeerStats& stats) const noexcept override;

    // Memory of peers without full records, for the test that holds it to 128 bytes each.
    [[nodiscard]] const PeerTable& table() const noexcept { return table_; }

private:
    struct Answer {
        Address to;
        std::uint32_t bytes = 0;
        std::array<std::byte, handshake_bytes_max> data{};
    };

    // What a handshake agrees on.
    struct ConnectionKeys {
        SecretPointer<Secret> secret;
        ReceiveKeys receive;
        DirectionKey send;
    };

    // What one batch will be made of.
    struct Batch {
        std::array<BufferIndex, batch_datagrams> buffers{};
        std::uint32_t count = 0;
        std::uint32_t segment_bytes = 0;  // of every datagram but the last
        std::uint32_t last_bytes = 0;
        std::uint32_t bytes = 0;
        bool may_fragment = false;
    };

    enum class Seen : std::uint8_t { fresh, repeated, no_content, refused };

    // An opened datagram.
    struct Opened {
        SealedHeader header;
        Bytes frames;
        Bytes control;
        bool wants_ack = false;
    };

    // endpoint_submit.cpp
    Peer* meet(NodeId node);
    Peer& seat(std::unique_ptr<Peer> peer);
    [[nodiscard]] std::uint32_t waiting_limit(const Peer& peer) const noexcept;
    [[nodiscard]] bool has_room(const Peer& peer) const noexcept;
    [[nodiscard]] std::uint32_t share() const noexcept;
    void release(Peer& peer, BufferIndex buffer) noexcept;
    [[nodiscard]] std::uint32_t owed(const Peer& peer) noexcept;
    void note_owing(Peer& peer) noexcept;
    void make_ready(Peer& peer) noexcept;
    Peer* take_ready() noexcept;
    void settle();
    void tell(NodeId node);
    void offer_room();

    // endpoint_transmit.cpp
    Transmit transmit_answer(MutableBytes into) noexcept;
    Transmit transmit_peer(Peer& peer, MutableBytes into);
    Transmit transmit_init(Peer& peer, MutableBytes into) noexcept;
    Transmit transmit_path_probe(Peer& peer, MutableBytes into);
    Transmit transmit_batch(Peer& peer, const Batch& batch, MutableBytes into);
    std::uint32_t transmit_buffer(Peer& peer, const Batch& batch, std::uint32_t i, std::byte* into);
    void add_ack(Peer& peer, const Batch& batch, MutableBytes into, Transmit& transmit);
    Transmit transmit_control(Peer& peer, MutableBytes into);
    Batch plan(Peer& peer);
    [[nodiscard]] BufferIndex next_buffer(Peer& peer,
                                          const Batch& batch,
                                          std::uint64_t planned_bytes);
    [[nodiscard]] bool has_ack(const Peer& peer) const noexcept;
    std::uint32_t append_ack(Peer& peer, MutableBytes room) noexcept;
    // Seals plain text under the next packet number and keeps count. Returns the datagram's bytes; 0: no key.
    std::uint32_t seal(Peer& peer, Pieces plain, std::byte* into);
    bool advance_send_key(Peer& peer);
    static Transmit single(Peer& peer, std::uint32_t bytes) noexcept;

    // endpoint_receive.cpp
    void on_data(const OuterHeader& outer, const Address& from, MutableBytes datagram);
    [[nodiscard]] bool open(Peer& peer,
                            const OuterHeader& outer,
                            MutableBytes datagram,
                            MutableBytes& plain);
    [[nodiscard]] bool open_with(DirectionKey& key,
                                 const OuterHeader& outer,
                                 MutableBytes datagram,
                                 MutableBytes& plain) noexcept;
    void on_data_of_idle(const OuterHeader& outer, MutableBytes datagram);
    void take(Peer& peer, const OuterHeader& outer, std::uint32_t datagram_bytes, Bytes plain);
    [[nodiscard]] bool parse(Bytes plain, Opened& opened) noexcept;
    [[nodiscard]] bool parse_control(Bytes control, bool& wants_ack) noexcept;
    void act_on_control(Peer& peer, Bytes control);
    [[nodiscard]] std::size_t control_frame_bytes(Bytes control, AckFrame& ack) noexcept;
    [[nodiscard]] Seen look(Peer& peer, const Opened& opened) noexcept;
    void want_ack(Peer& peer, std::uint32_t bytes, bool at_once) noexcept;

    // endpoint_handshake.cpp
    template <typename Packet>
    [[nodiscard]] bool check(Bytes datagram, Packet& packet) noexcept;
    void on_init(const OuterHeader& outer, const Address& from, Bytes datagram);
    void on_cookie(const OuterHeader& outer, const Address& from, Bytes datagram);
    void on_other_features(NodeId node, const Address& from, const InitPacket& init);
    void on_response(const OuterHeader& outer, const Address& from, Bytes datagram);
    [[nodiscard]] bool may_respond(Peer& peer, const InitPacket& init, const Address& from);
    void respond(Peer* known, const InitPacket& init, const Address& from);
    void send_response(const Peer& peer, const Address& to);
    [[nodiscard]] bool agree(NodeId node,
                             const Parties& parties,
                             const PublicKey& other,
                             ConnectionKeys& keys) noexcept;
    void connect(Peer& peer, ConnectionKeys keys) noexcept;
    template <typename Packet>
    void answer(const Address& to, Packet& packet) noexcept;
    [[nodiscard]] OuterHeader outer_of(PacketType type) const noexcept;
    [[nodiscard]] std::uint8_t unscheduled_of(std::uint32_t credit) const noexcept;
    [[nodiscard]] PublicKey public_key() const noexcept;
    [[nodiscard]] std::unique_ptr<Peer> make_peer(NodeId node);
    [[nodiscard]] std::unique_ptr<Peer> wake(const FoldedPeer& folded, NodeId node);
    [[nodiscard]] bool fold(Peer& peer);

    // endpoint_address.cpp
    [[nodiscard]] bool is_listed(NodeId node, const Address& address) const noexcept;
    [[nodiscard]] bool has_shown_address(const InitPacket& init, const Address& from);
    [[nodiscard]] bool has_cookie(const InitPacket& init, const Address& from);
    void note_source(Peer& peer, const InitPacket& init, const Address& from);
    void settle_address(Peer& peer, const Address& from) noexcept;
    void turn_address(Peer& peer) noexcept;

    // endpoint_acknowledge.cpp
    void on_ack(Peer& peer, const AckFrame& ack);
    void on_acked(Peer& peer, PacketNumber number, const SentDatagram& record);
    void on_lost(Peer& peer, PacketNumber number, const SentDatagram& record);
    void give_up(Peer& peer, const SentDatagram& record) noexcept;
    void on_longer_path(Peer& peer, std::uint32_t before) noexcept;
    void on_cut_path(Peer& peer) noexcept;
    void fit_allowance(Peer& peer) const noexcept;
    void adapt(Peer& peer, const Settled& settled, CongestionSample sample) const;
    void rearm_probe(Peer& peer) const noexcept;

    // endpoint_timer.cpp
    void ring(Peer& peer);
    void ring_connecting(Peer& peer);
    void ring_half_open(Peer& peer);
    void ring_connected(Peer& peer);
    void probe(Peer& peer);
    [[nodiscard]] Time silence_deadline(const Peer& peer) const noexcept;
    [[nodiscard]] Time narrow_deadline(const Peer& peer) const noexcept;
    [[nodiscard]] Time ping_deadline(const Peer& peer) const noexcept;
    [[nodiscard]] Time fold_deadline(const Peer& peer) const noexcept;
    [[nodiscard]] Time half_open_deadline(const Peer& peer) const noexcept;
    [[nodiscard]] Time deadline_of(const Peer& peer) const noexcept;
    void arm(Peer& peer) noexcept;

    // endpoint_sever.cpp
    void on_close(const OuterHeader& outer, Bytes datagram);
    void fail(NodeId node, SeverReason reason);
    void dismantle(NodeId node);
    void release_all(Peer& peer);
    void unready(Peer& peer) noexcept;
    void send_close(const Address& to, NodeId node, std::uint64_t other_instance) noexcept;
    void send_close_for_data(const Address& to, const OuterHeader& data) noexcept;
    [[nodiscard]] ClosePacket close_packet(NodeId node,
                                           std::uint64_t other_instance,
                                           PacketNumber number) noexcept;
    Transmit transmit_farewell(MutableBytes into) noexcept;

    Settings settings_;
    Company company_;
    JobSecrets secrets_;
    CookieJar cookies_;
    std::unique_ptr<KeyAgreement> agreement_;  // nullptr with security off
    WakeKeys wake_keys_;
    CloseAllowance closes_;
    Features differing_;
    SendPool pool_;
    SentPool records_;
    CreditBudget budget_;
    PeerTable table_;
    TimerHeap<Peer> timers_;
    std::uint32_t tag_bytes_;  // of a datagram: none without security
    std::uint64_t instance_ = 0;
    std::uint32_t half_open_ = 0;
    Time now_ = 0;
    Time resumed_ = 0;  // after the process had been stopped
    Counters counters_;

    Peer* first_ready_ = nullptr;
    Peer* last_ready_ = nullptr;
    std::vector<NodeId> room_wanted_;  // peers whose reserve() found no room
    std::uint32_t uncommitted_ = 0;    // buffers reserved in and never committed to
    bool was_released_ = false;        // buffers since room was last offered
    std::vector<NodeId> news_;         // severed, the handler not yet told
    bool has_more_news_ = false;       // of nodes for which news_ had no room and no memory

    std::array<Answer, answers_max> answers_;
    std::uint32_t answers_first_ = 0;
    std::uint32_t answers_count_ = 0;
    bool is_closing_ = false;
    NodeId farewell_next_ = 0;
};

}  // namespace acp::datagram
