// SPDX-License-Identifier: BSD-3-Clause
// The common part of the ports in shared memory: how they wake a process. A sender that has
// published a message by a sequentially consistent read-modify-write calls knock(): this rings the
// bell of the threads that wait in the library, if there are any, else the bell of the service
// thread. Knows no cell. Any thread may call knock().
#pragma once

#include "mailbox/port.hpp"
#include "node/wait.hpp"

namespace acp::mailbox {

class SharedPort : public Port {
public:
    void wake_service() final { node::ring_bell(segment_.slot(slot_).door.service_bell); }

    void sleep_service(const std::function<bool()>& is_idle, std::int64_t timeout_ns) final {
        auto is_ready = [&] { return !is_idle(); };
        (void)node::sleep_on_bell(segment_.slot(slot_).door.service_bell, is_ready, timeout_ns);
    }

    [[nodiscard]] std::uint32_t datagram_bytes() const final { return datagram_bytes_; }

protected:
    SharedPort(const node::Segment& segment, std::uint32_t slot)
        : segment_(segment),
          slot_(slot),
          datagram_bytes_(segment.shape().datagram_bytes),
          slots_(node::slots_of(segment.shape())) {}

    // Wakes the process of a slot if it sleeps. Call after a message or a free cell was published
    // for it.
    void knock(std::uint32_t slot) const noexcept {
        if (slot == segment_.gateway_slot()) [[unlikely]] {
            segment_.wake_gateway();
            return;
        }
        node::Door& door = segment_.slot(slot).door;
        // partner: a waiter that stops attending, and then calls has_mail() once more
        node::ring_bell_after_rmw(door.is_attended() ? door.waiter_bell : door.service_bell);
    }

    const node::Segment& segment_;
    const std::uint32_t slot_;
    const std::uint32_t datagram_bytes_;
    // number of processes that may send and receive: the ranks and the gateway
    const std::uint32_t slots_;
};

}  // namespace acp::mailbox
