// SPDX-License-Identifier: BSD-3-Clause
// The barrier that carries notices. All members gather the lengths, each with the beginning of the
// notice; this gather completes on a member only after all members have arrived. If some notice is
// longer than that, they gather the rest: as many bytes of each notice as the longest one has.
#include <algorithm>
#include <array>
#include <vector>

#include "team/collectives.hpp"

namespace acp::team {

namespace {

// Short enough to fit into a BoardLine beside the round number.
struct NoticeHead {
    static constexpr std::uint64_t text_bytes = BoardLine::inline_bytes_max - 8;

    std::uint64_t bytes = 0;  // length of the whole notice
    std::array<char, text_bytes> text{};
};

static_assert(sizeof(NoticeHead) == BoardLine::inline_bytes_max);

bool gather_rest(Team& team,
                 std::span<const char> notice,
                 std::uint64_t longest,
                 char* notices,
                 const std::size_t* sizes) {
    const Membership& members = team.members();
    const std::uint64_t rest = longest - NoticeHead::text_bytes;
    std::vector<char> all(members.size() * rest);
    if (notice.size() > NoticeHead::text_bytes) {
        const auto behind = notice.subspan(NoticeHead::text_bytes);
        std::copy(behind.begin(), behind.end(),
                  all.begin() + static_cast<std::ptrdiff_t>(members.own() * rest));
    }
    if (!all_gather(team, all.data() + members.own() * rest, all.data(), rest)) return false;
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (sizes[rank] <= NoticeHead::text_bytes) continue;
        copy(notices + rank * notice_bytes_max + NoticeHead::text_bytes, all.data() + rank * rest,
             sizes[rank] - NoticeHead::text_bytes);
    }
    return true;
}

}  // namespace

bool synchronize_with_notices(Team& team,
                              std::span<const char> notice,
                              char* notices,
                              std::size_t* sizes) {
    const Membership& members = team.members();
    NoticeHead own{notice.size(), {}};
    copy(own.text.data(), notice.data(), std::min(notice.size(), own.text.size()));
    std::vector<NoticeHead> heads(members.size());
    if (!all_gather(team, reinterpret_cast<const char*>(&own),
                    reinterpret_cast<char*>(heads.data()), sizeof own))
        return false;
    std::uint64_t longest = 0;
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        const NoticeHead& head = heads[rank];
        longest = std::max(longest, head.bytes);
        sizes[rank] = head.bytes;
        copy(notices + rank * notice_bytes_max, head.text.data(),
             std::min<std::uint64_t>(head.bytes, head.text.size()));
    }
    return longest <= NoticeHead::text_bytes || gather_rest(team, notice, longest, notices, sizes);
}

}  // namespace acp::team
