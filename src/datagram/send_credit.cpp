// SPDX-License-Identifier: BSD-3-Clause
// The sender's credit: serial number arithmetic (RFC 1982) on what the peer promised. One thread.
#include "datagram/send_credit.hpp"

#include <algorithm>

namespace acp::datagram {

namespace {

// How far serial number a lies after b; negative if before.
std::int32_t distance(Dsn a, Dsn b) noexcept {
    return static_cast<std::int32_t>(a - b);
}

}  // namespace

bool SendCredit::is_stale(Time now) const noexcept {
    return !has_heard_ || now - std::min(now, heard_) > lease_ns;
}

// WIRE-55
bool SendCredit::on_ack(Time now, Dsn cumulative, std::uint32_t credit, Dsn next) noexcept {
    if (distance(cumulative, next) > 0) return false;
    if (distance(cumulative, cumulative_) < 0) return true;
    const Dsn limit = cumulative + credit;
    if (is_stale(now) || distance(limit, limit_) > 0) limit_ = limit;
    cumulative_ = cumulative;
    heard_ = now;
    has_heard_ = true;
    return true;
}

// WIRE-56
Dsn SendCredit::limit(Time now) const noexcept {
    return is_stale(now) ? cumulative_ + unscheduled_ : limit_;
}

std::uint32_t SendCredit::left(Time now, Dsn next) const noexcept {
    return static_cast<std::uint32_t>(std::max(0, distance(limit(now), next)));
}

}  // namespace acp::datagram
