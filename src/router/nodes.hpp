// SPDX-License-Identifier: BSD-3-Clause
// The router's map of the job: the process that an address belongs to, the node of a process, a
// record of each lane (node and rail) that was used, and the dead processes and severed nodes.
// sever_later() only notes a node; losses.hpp severs it at a safe point. Knows the job's map and
// the endpoint, but neither commands nor frames. One thread.
// Tests: tests/unit/router/nodes_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/ga_layout.hpp"
#include "router/records.hpp"

namespace acp::router {

class Nodes {
public:
    //   layout, map  must outlive this
    // Throws std::bad_alloc; later calls allocate nothing.
    Nodes(const RouterSettings& settings, const memory::GaLayout& layout, const Map& map);

    // Must be called before any other function.
    //   endpoints  one per rail; must outlive this
    void bind(std::span<datagram::Endpoint* const> endpoints) noexcept;

    // The endpoint of rail 0, which watches nodes.
    [[nodiscard]] datagram::Endpoint& endpoint() noexcept { return *endpoints_.front(); }

    // Severs a node on all rails.
    void sever(NodeId node, datagram::SeverReason reason);

    [[nodiscard]] NodeId self() const noexcept { return self_; }

    [[nodiscard]] std::uint32_t nodes() const noexcept { return nodes_; }

    [[nodiscard]] std::uint32_t rails() const noexcept { return rails_; }

    [[nodiscard]] std::uint32_t procs() const noexcept { return procs_; }

    // Whether a process is on this node. Any number may be passed.
    [[nodiscard]] bool is_mine(std::uint64_t process) const noexcept {
        return process - first_process_ < local_count_;
    }

    [[nodiscard]] std::uint32_t local_count() const noexcept { return local_count_; }

    // The index of a process among those of this node: 0 .. local_count() - 1.
    [[nodiscard]] std::uint32_t local_index(std::uint64_t process) const noexcept {
        return static_cast<std::uint32_t>(process - first_process_);
    }

    // The process that an address belongs to; procs() or more if it belongs to none.
    [[nodiscard]] std::uint64_t where(GlobalAddress address) const noexcept {
        return process_of(layout_, address);
    }

    // A process number for CommandFailure::process, 0 in place of a number that the job does not
    // have.
    [[nodiscard]] std::uint32_t named(std::uint64_t process) const noexcept {
        return process < procs_ ? static_cast<std::uint32_t>(process) : 0;
    }

    // The record of a lane, which is made on first use and never moves.
    //   number  rail * nodes() + node
    [[nodiscard]] RouterPeer& lane(std::uint32_t number) {
        RouterPeer* const known = peer_at_[number];
        return known != nullptr ? *known : make_peer(number);
    }

    // The record of a node: its lane of rail 0.
    [[nodiscard]] RouterPeer& peer(NodeId node) { return lane(node); }

    // The lane by which the frames of a command go to a node: that of the rail of its target's
    // colour, or of its source's where the target has colour 0. An invoke, which has no addresses,
    // goes by rail 0: colours are the upper bits of an address.
    [[nodiscard]] RouterPeer& lane_to(RouterPeer& node,
                                      GlobalAddress target,
                                      GlobalAddress source) {
        return rails_ == 1 ? node : lane(rail_of(target, source) * nodes_ + node.node);
    }

    [[nodiscard]] std::uint32_t rail_of(GlobalAddress target, GlobalAddress source) const noexcept {
        const std::uint32_t color = layout_.color(target);
        return (color != 0 ? color : layout_.color(source)) % rails_;
    }

    // The record of a process's node.
    //   process  < procs()
    [[nodiscard]] RouterPeer& peer_of(std::uint32_t process) {
        if (last_peer_ == nullptr || !last_peer_->has(process)) last_peer_ = &find_peer(process);
        return *last_peer_;
    }

    // All records made so far, in the order in which they were made.
    [[nodiscard]] std::span<RouterPeer> met() noexcept { return peers_; }

    // Calls visit(lane) for each lane of a node that was made.
    template <typename Visit>
    void for_lanes_of(NodeId node, Visit visit) {
        for (std::size_t number = node; number < peer_at_.size(); number += nodes_) {
            if (peer_at_[number] != nullptr) visit(*peer_at_[number]);
        }
    }

    // Whether any node is severed or any process dead. While this is false the checks below can be
    // skipped.
    [[nodiscard]] bool is_any_lost() const noexcept { return is_any_lost_; }

    [[nodiscard]] bool is_dead(std::uint64_t process) const noexcept;

    // Whether a process is dead, or on a severed node.
    //   process  < procs()
    [[nodiscard]] bool is_gone(std::uint32_t process) {
        return is_dead(process) || peer_of(process).is_severed;
    }

    // ORD-24: whether arriving work is not to be begun, because its initiator is dead or on a
    // severed node. No process waits for its completion, and processes that know of the loss may
    // have freed the memory that it names.
    [[nodiscard]] bool is_work_of_the_lost(std::uint32_t initiator) {
        return is_any_lost() && is_gone(initiator);
    }

    // Notes a death. Returns false if it was known.
    bool note_dead(std::uint32_t process);

    // Notes that a node is severed. Returns false if it was known.
    bool note_severed(NodeId node);

    // Requests that a node be severed at the next safe point, between two frames or steps.
    void sever_later(NodeId node);

    [[nodiscard]] bool has_to_sever() const noexcept { return !to_sever_.empty(); }

    // Removes and returns the next node passed to sever_later(). Only if has_to_sever().
    NodeId take_to_sever() noexcept;

private:
    RouterPeer& make_peer(std::uint32_t number);
    RouterPeer& find_peer(std::uint32_t process);

    const memory::GaLayout& layout_;
    const Map& map_;
    std::array<datagram::Endpoint*, rails_max> endpoints_{};
    NodeId self_;
    std::uint32_t nodes_;
    std::uint32_t rails_;
    std::uint32_t procs_;
    std::uint32_t first_process_;
    std::uint32_t local_count_;
    std::vector<RouterPeer*> peer_at_;  // one per lane; nullptr: lane not used yet
    std::vector<RouterPeer> peers_;     // capacity for all, so that records never move
    RouterPeer* last_peer_ = nullptr;   // the last result of peer_of(), often the next one too
    std::vector<std::uint32_t> dead_;   // processes, sorted; capacity for all
    std::vector<NodeId> to_sever_;      // no node twice; capacity for all nodes
    bool is_any_lost_ = false;
};

}  // namespace acp::router
