// SPDX-License-Identifier: BSD-3-Clause
// Where everything is: which process an address lies in, which node a process is on, a record of each node that was met,
// and who is lost. Severing is only noted here; losses.hpp carries it out at a safe point. Knows the job's map and the
// endpoint, no command and no frame. One thread.
// Tests: tests/unit/router/nodes_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/ga_layout.hpp"
#include "router/records.hpp"

namespace acp::router {

class Nodes {
public:
    //   layout, map  must outlive this.   Throws std::bad_alloc; later calls take no memory
    Nodes(const RouterSettings& settings, const memory::GaLayout& layout, const Map& map);

    // Before anything else is called.   endpoint  must outlive this
    void bind(datagram::Endpoint& endpoint) noexcept { endpoint_ = &endpoint; }

    [[nodiscard]] datagram::Endpoint& endpoint() noexcept { return *endpoint_; }

    [[nodiscard]] NodeId self() const noexcept { return self_; }

    [[nodiscard]] std::uint32_t nodes() const noexcept {
        return static_cast<std::uint32_t>(peer_at_.size());
    }

    [[nodiscard]] std::uint32_t procs() const noexcept { return procs_; }

    // Whether a process is of this node. Any number may be asked about.
    [[nodiscard]] bool is_mine(std::uint64_t process) const noexcept {
        return process - first_process_ < local_count_;
    }

    [[nodiscard]] std::uint32_t local_count() const noexcept { return local_count_; }

    // The place of a process of this node among them: 0 .. local_count() - 1.
    [[nodiscard]] std::uint32_t local_index(std::uint64_t process) const noexcept {
        return static_cast<std::uint32_t>(process - first_process_);
    }

    // The process an address lies in; procs() or more when it lies in none.
    [[nodiscard]] std::uint64_t where(GlobalAddress address) const noexcept {
        return process_of(layout_, address);
    }

    // A process that fits into CommandFailure::process, whatever an address says: 0 instead of one that the job does not have.
    [[nodiscard]] std::uint32_t named(std::uint64_t process) const noexcept {
        return process < procs_ ? static_cast<std::uint32_t>(process) : 0;
    }

    // The record of a node, made when it is first asked for. It stays where it is.
    [[nodiscard]] RouterPeer& peer(NodeId node) {
        RouterPeer* const known = peer_at_[node];
        return known != nullptr ? *known : meet(node);
    }

    // The record of the node of a process.   process  < procs()
    [[nodiscard]] RouterPeer& peer_of(std::uint32_t process) {
        if (last_peer_ == nullptr || !last_peer_->has(process)) last_peer_ = &find_peer(process);
        return *last_peer_;
    }

    // All that were made, in the order they were.
    [[nodiscard]] std::span<RouterPeer> met() noexcept { return peers_; }

    // Whether any node is severed or any process dead: until then nobody need be asked about.
    [[nodiscard]] bool is_any_lost() const noexcept { return is_any_lost_; }

    [[nodiscard]] bool is_dead(std::uint64_t process) const noexcept;

    // Dead, or on a severed node.   process  < procs()
    [[nodiscard]] bool is_gone(std::uint32_t process) {
        return is_dead(process) || peer_of(process).is_severed;
    }

    // false: it was known to be dead.
    bool note_dead(std::uint32_t process);

    // false: it was known to be severed.
    bool note_severed(NodeId node);

    // Asks that a node be severed at the next safe point: not in the middle of a frame or of a step.
    void sever_later(NodeId node);

    [[nodiscard]] bool has_to_sever() const noexcept { return !to_sever_.empty(); }

    // The next node that sever_later() was asked for.   has_to_sever()
    NodeId take_to_sever() noexcept;

private:
    RouterPeer& meet(NodeId node);
    RouterPeer& find_peer(std::uint32_t process);

    const memory::GaLayout& layout_;
    const Map& map_;
    datagram::Endpoint* endpoint_ = nullptr;
    NodeId self_;
    std::uint32_t procs_;
    std::uint32_t first_process_;
    std::uint32_t local_count_;
    std::vector<RouterPeer*> peer_at_;  // by node; nullptr: never met
    std::vector<RouterPeer> peers_;     // room for all, so that they stay where they are
    RouterPeer* last_peer_ = nullptr;
    std::vector<std::uint32_t> dead_;  // processes, sorted; room for all
    std::vector<NodeId> to_sever_;     // each once; room for all
    bool is_any_lost_ = false;
};

}  // namespace acp::router
