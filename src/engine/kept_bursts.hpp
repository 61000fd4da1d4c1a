// SPDX-License-Identifier: BSD-3-Clause
// Bursts that the kernel had no room for, per socket, so that other sockets still send. A socket keeps
// per_socket_max bursts in order; later ones are dropped, as by a full queue of a network, and the endpoint
// retransmits them. Memory is taken with the first burst of a socket. Knows no socket but its number. One
// thread. Tests: tests/unit/engine/kept_bursts_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "datagram/endpoint.hpp"

namespace acp::engine {

class KeptBursts {
public:
    static constexpr std::size_t per_socket_max = 4;

    //   sockets  numbers 0 .. sockets - 1 are used
    void resize(std::size_t sockets) { sockets_.resize(sockets); }

    [[nodiscard]] bool has(std::size_t socket) const noexcept { return !sockets_[socket].empty(); }

    [[nodiscard]] bool is_empty() const noexcept {
        return std::all_of(sockets_.begin(), sockets_.end(),
                           [](const auto& bursts) { return bursts.empty(); });
    }

    // Whether one of the first `of_first` sockets keeps as much as it may.
    [[nodiscard]] bool is_any_full(std::size_t of_first) const noexcept {
        return std::any_of(
            sockets_.begin(),
            sockets_.begin() + static_cast<std::ptrdiff_t>(std::min(of_first, sockets_.size())),
            [](const auto& bursts) { return bursts.size() >= per_socket_max; });
    }

    // Copies the bytes. Returns false, and drops the burst, if the socket keeps per_socket_max already.
    bool keep(std::size_t socket,
              const datagram::Transmit& transmit,
              std::span<const std::byte> bytes) {
        std::deque<Burst>& bursts = sockets_[socket];
        if (bursts.size() >= per_socket_max) return false;
        bursts.push_back({transmit, {bytes.begin(), bytes.end()}});
        bursts.back().transmit.bytes = static_cast<std::uint32_t>(bytes.size());
        return true;
    }

    // Retries the kept bursts, the oldest of each socket first, until one is not taken as a whole.
    //   send(socket, const Transmit&, std::span<std::byte>) -> bytes taken from the front
    template <typename Send>
    void flush(Send&& send) {
        for (std::size_t socket = 0; socket < sockets_.size(); ++socket) {
            std::deque<Burst>& bursts = sockets_[socket];
            while (!bursts.empty()) {
                Burst& burst = bursts.front();
                const std::size_t taken =
                    send(socket, burst.transmit, std::span<std::byte>(burst.bytes));
                if (taken < burst.bytes.size()) {
                    burst.bytes.erase(burst.bytes.begin(),
                                      burst.bytes.begin() + static_cast<std::ptrdiff_t>(taken));
                    burst.transmit.bytes = static_cast<std::uint32_t>(burst.bytes.size());
                    break;
                }
                bursts.pop_front();
            }
        }
    }

private:
    struct Burst {
        datagram::Transmit transmit;
        std::vector<std::byte> bytes;
    };

    std::vector<std::deque<Burst>> sockets_;
};

}  // namespace acp::engine
