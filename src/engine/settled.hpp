// SPDX-License-Identifier: BSD-3-Clause
// Shared by the parts of the local placement: the completion of an accepted access, kept until it
// may be delivered to the router, and hazard lines that hold addresses while an access lasts. One
// thread: the gateway's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "router/placement.hpp"

namespace acp::engine {

using router::GlobalAddress;
using router::Ticket;

// The completion of an access that a placement accepted.
struct SettledAccess {
    Ticket ticket = 0;
    base::Code code = base::Code::ok;
    std::uint64_t value = 0;  // the old one of an atomic
};

// Completions to be delivered. A caller reserves room by make_room() before it begins an access, so
// that adding the completion needs no memory.
class SettledList {
public:
    //   count  ends there is always room for. Throws std::bad_alloc.
    explicit SettledList(std::size_t count) { ends_.reserve(count); }

    // Makes room for `count` ends beside those that are here. False: there is no memory for them.
    [[nodiscard]] bool make_room(std::size_t count) noexcept {
        const std::size_t wanted = ends_.size() + count;
        if (wanted <= ends_.capacity()) return true;
        try {
            ends_.reserve(std::max(wanted, 2 * ends_.capacity()));
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    void add(const SettledAccess& end) noexcept { ends_.push_back(end); }

    [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }

    [[nodiscard]] bool is_empty() const noexcept { return ends_.empty(); }

    [[nodiscard]] const SettledAccess& operator[](std::size_t index) const noexcept {
        return ends_[index];
    }

    void clear() noexcept { ends_.clear(); }

private:
    std::vector<SettledAccess> ends_;
};

// Names the addresses of an access in the calling thread's hazard line while it lives.
class Inside {
public:
    [[gnu::always_inline]] Inside(local::Hazards& hazards,
                                  GlobalAddress target,
                                  GlobalAddress source)
        : own_(hazards.free_line()) {
        if (own_ == nullptr) [[unlikely]] {
            borrow(hazards);
        }
        hazards.enter(*own_, target, source);
    }

    ~Inside() { memory::leave(*own_); }

    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    [[gnu::cold, gnu::noinline]] void borrow(local::Hazards& hazards) {
        lease_.emplace(hazards);
        own_ = &lease_->line();
    }

    memory::HazardLine* own_;
    std::optional<local::Hazards::Lease> lease_;  // used if all lines are taken
};

}  // namespace acp::engine
