// SPDX-License-Identifier: BSD-3-Clause
// Runs the meetings and `make`, concludes, and exchanges the words.
#include "api/gather.hpp"

#include <new>
#include <utility>

#include "api/fatal.hpp"
#include "api/library.hpp"

namespace acp::api {

namespace {

// Gathers a number from each rank, in rank order. On one node the slots hold the numbers, and a
// fast rank would overwrite its own before a slow one has read it: hence a second meeting. Over
// several nodes the gateway writes the numbers of all ranks, and the next ones only when all ranks
// have arrived at the next meeting.
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
    return is_over_nodes ? base::Status() : member.synchronize();
}

// The agents carry meetings that gather numbers. If the ranks' own gateways carry the meetings of
// an epoch (node/own_meetings.hpp), they do so again when this is destroyed.
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

// The others wait for this rank in any case, so an exception becomes its own failure.
base::Status make_without_throwing(
    const GatheringCall& call,
    const std::function<base::Status(std::span<std::uint64_t>)>& make,
    std::vector<std::uint64_t>& own,
    std::vector<std::uint64_t>& all) {
    try {
        own.resize(call.words);
        all.resize(std::size_t{library().member->procs()} * call.words);
        return make(own);
    } catch (const std::bad_alloc&) {
        return base::Status::bare(base::Code::memory);
    }
}

}  // namespace

base::Status gather_words(const GatheringCall& call,
                          const std::function<base::Status(std::span<std::uint64_t>)>& make,
                          std::vector<std::uint64_t>& all) {
    node::Member& member = *library().member;
    const NamedMeeting waiting(call.world_call);
    MeetingsByAgents meetings;
    if (auto status = meetings.begin(); !status.is_ok()) {
        return in_call(call.name, std::move(status));
    }
    std::vector<std::uint64_t> own;
    auto made = make_without_throwing(call, make, own, all);
    const bool is_own_good = made.is_ok();
    if (auto status = member.conclude(std::move(made)); !status.is_ok()) {
        return is_own_good ? in_call(call.name, std::move(status)) : std::move(status);
    }
    for (std::uint32_t half = 0; half < 2 * call.words; ++half) {
        const std::uint32_t word = half / 2;
        const std::uint32_t shift = half % 2 * 32;
        auto status = exchange(member, static_cast<std::uint32_t>(own[word] >> shift),
                               [&](std::uint32_t rank, std::uint32_t number) {
                                   all[std::size_t{rank} * call.words + word] |=
                                       std::uint64_t{number} << shift;
                               });
        if (!status.is_ok()) return in_call(call.name, std::move(status));
    }
    return {};
}

}  // namespace acp::api
