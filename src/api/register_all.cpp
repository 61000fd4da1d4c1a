// SPDX-License-Identifier: BSD-3-Clause
// acp_register_all: every rank registers its part, all agree on whether that went well, and then the ranks exchange the
// addresses by the numbers that a meeting can gather (node::Member::gather), half an address at a time. So nothing of it
// passes through memory that the program sees, and the gateways carry it as they carry the numbers of acp_reset.
#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "api/registration.hpp"

#include <acp/memory.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::Step;

constexpr const char* this_call = "acp_register_all";

// The caller's part while it is not certain that all ranks succeed.
class Part {
public:
    Part() noexcept = default;
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Errors: as acp_register_memory.
    base::Status add(void* address, std::size_t size, int color) {
        if (size == 0) return {};
        auto key = api::add_registration(this_call, address, size, color);
        if (!key.is_ok()) return std::move(key).failure();
        key_ = key.value();
        return {};
    }

    ~Part() {
        if (!is_kept_ && key_ != ACP_ATKEY_NULL) {
            (void)library().gma->registry().remove(key_);  // it is a live key
        }
    }

    // The key, which is the address of the part's first byte.
    [[nodiscard]] acp_atkey_t key() const noexcept { return key_; }

    void keep() noexcept { is_kept_ = true; }

private:
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    bool is_kept_ = false;
};

// The number that each rank brings, by rank. On one node they stand in the slots, where a fast rank would overwrite its own
// before a slow one has read it: so all meet once more. Over nodes the gateway writes those of all ranks, and it does so
// only when all ranks have come to the next meeting.
//   into  acp_procs() elements, changed by `add`
template <typename Add>
base::Status exchange(node::Member& member, std::uint32_t number, const Add& add) {
    if (auto status = member.gather(number); !status.is_ok()) return status;
    const node::Segment& segment = member.segment();
    const bool is_over_nodes = segment.has_gateway();
    for (std::uint32_t rank = 0; rank < member.procs(); ++rank) {
        const std::uint32_t process = segment.process_of(rank);
        add(rank, is_over_nodes
                      ? member.gathered(process)
                      : segment.slot(process).wanted_rank.load(std::memory_order_relaxed));
    }
    return is_over_nodes ? base::Status() : member.meet();
}

base::Status exchange_addresses(node::Member& member,
                                acp_ga_t own,
                                std::vector<acp_ga_t>& addresses) {
    for (const std::uint32_t shift : {0U, 32U}) {
        auto status = exchange(member, static_cast<std::uint32_t>(own >> shift),
                               [&](std::uint32_t rank, std::uint32_t half) {
                                   addresses[rank] |= std::uint64_t{half} << shift;
                               });
        if (!status.is_ok()) return status;
    }
    return {};
}

// What is asked for, and where the answer goes.
struct Wanted {
    void* address = nullptr;
    std::size_t size = 0;
    int color = 0;
    acp_ga_t* addresses = nullptr;
    acp_atkey_t* key = nullptr;
};

base::Status prepare(const Wanted& wanted, Part& part, std::vector<acp_ga_t>& addresses) {
    if (wanted.addresses == nullptr || wanted.key == nullptr) {
        return api::in_call(
            this_call,
            {base::Code::argument, wanted.key == nullptr ? "key is NULL" : "addresses is NULL"});
    }
    addresses.resize(library().member->procs());
    return part.add(wanted.address, wanted.size, wanted.color);
}

// The others wait for this rank whatever happens to it: what is thrown here becomes its own failure.
base::Status prepare_without_throwing(const Wanted& wanted,
                                      Part& part,
                                      std::vector<acp_ga_t>& addresses) {
    try {
        return prepare(wanted, part, addresses);
    } catch (const std::bad_alloc&) {
        return base::Status::bare(base::Code::memory);
    }
}

// Meetings that gather numbers are the agents'. Where the ranks' own gateways carry the meetings of an epoch
// (node/own_meetings.hpp) they do so again when this goes.
class MeetingsByAgents {
public:
    MeetingsByAgents() noexcept = default;
    MeetingsByAgents(const MeetingsByAgents&) = delete;
    MeetingsByAgents& operator=(const MeetingsByAgents&) = delete;

    // Errors: as Member::end_own_meetings.
    base::Status begin() {
        auto status = library().member->end_own_meetings();
        is_begun_ = status.is_ok();
        return status;
    }

    ~MeetingsByAgents() {
        if (is_begun_) library().link.carry_meetings(*library().member);
    }

private:
    bool is_begun_ = false;
};

base::Status register_all(const Wanted& wanted) {
    node::Member& member = *library().member;
    const node::BarrierCall call(member.barrier(), node::AwaitedCall::register_all);
    MeetingsByAgents meetings;
    if (auto status = meetings.begin(); !status.is_ok()) {
        return api::in_call(this_call, std::move(status));
    }
    Part part;
    std::vector<acp_ga_t> addresses;
    auto own = prepare_without_throwing(wanted, part, addresses);
    const bool is_own_good = own.is_ok();
    if (auto status = member.conclude(std::move(own)); !status.is_ok()) {
        return is_own_good ? api::in_call(this_call, std::move(status)) : std::move(status);
    }
    if (auto status = exchange_addresses(member, part.key(), addresses); !status.is_ok()) {
        return api::in_call(this_call, std::move(status));
    }
    std::copy(addresses.begin(), addresses.end(), wanted.addresses);
    *wanted.key = part.key();
    part.keep();
    return {};
}

}  // namespace

extern "C" {

int acp_register_all(void* address, size_t size, int color, acp_ga_t* addresses, acp_atkey_t* key) {
    if (!library().life.begin_meeting()) [[unlikely]] {
        api::refuse(this_call, true);
        return -1;
    }
    const api::MeetingCall meeting;
    const bool is_ok = api::run_always<Gravity::reported>(this_call, false, [&] {
        return register_all({address, size, color, addresses, key});
    });
    return is_ok ? 0 : -1;
}
}
