// SPDX-License-Identifier: BSD-3-Clause
// The barrier that carries notices: a gather of them (notice_gather.hpp), whose first part completes
// on a member only after all members have arrived.
#include "team/collectives.hpp"
#include "team/notice_gather.hpp"

namespace acp::team {

namespace {

// The gather of all members. All parts of a gather have one length, that of the longest notice.
class MemberGather {
public:
    explicit MemberGather(Team& team) noexcept : team_(team) {}

    [[nodiscard]] std::uint32_t own() const noexcept { return team_.members().own(); }

    [[nodiscard]] std::uint32_t count() const noexcept { return team_.members().size(); }

    [[nodiscard]] static std::uint32_t rank(std::uint32_t number) noexcept { return number; }

    [[nodiscard]] static std::uint64_t part_bytes(std::uint64_t /*bytes*/,
                                                  std::uint64_t longest) noexcept {
        return longest;
    }

    bool run(char* all, std::span<const std::uint64_t> begins) {
        return all_gather(team_, all + begins[own()], all, begins[1]);
    }

    bool run_heads(char* all, std::span<const std::uint64_t> begins, std::uint64_t /*bytes*/) {
        return run(all, begins);
    }

private:
    Team& team_;
};

}  // namespace

bool synchronize_with_notices(Team& team,
                              std::span<const char> notice,
                              char* notices,
                              std::size_t* sizes) {
    // A head fits into a BoardLine beside the round number.
    NoticeGather<BoardLine::inline_bytes_max, MemberGather> gather(team, MemberGather(team),
                                                                   notice_bytes_max);
    if (!gather.run(notice)) return false;
    for (std::uint32_t rank = 0; rank < team.members().size(); ++rank) {
        const std::span<const char> its = gather.notice(rank);
        sizes[rank] = its.size();
        copy(notices + rank * notice_bytes_max, its.data(), its.size());
    }
    return true;
}

}  // namespace acp::team
