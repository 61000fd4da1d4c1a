// SPDX-License-Identifier: BSD-3-Clause
// Notices of different lengths, which a gather of the participants carries to all of them. The first
// gather carries heads: the length of each notice with its beginning. If some notice does not fit into
// its head, a second gather carries all of them whole.
// For the one thread that is in a call on the team. Tests: tests/unit/team/notices_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "team/team.hpp"

namespace acp::team {

// The beginning of a notice.
template <std::uint64_t head_bytes>
struct NoticeHead {
    static constexpr std::uint64_t text_bytes = head_bytes - sizeof(std::uint64_t);

    std::uint64_t bytes = 0;  // length of the whole notice
    std::array<char, text_bytes> text{};
};

//   Gather  copyable, with these functions:
//       own(), count()   the caller's number among the participants, and how many they are
//       rank(number)     the participant's team rank
//       part_bytes(bytes, longest)
//                        how long a notice's part in the second gather is: `bytes` or more, but at
//                        most as long as the longest notice
//       run(all, begins) gathers the participants' parts; part n lies at all + begins[n], and ends
//                        where the next one begins. False: the team is broken. May throw
//                        std::bad_alloc
//       run_heads(all, begins, bytes)
//                        run() of the heads: of the caller's part only the first `bytes` bytes have
//                        to reach the others
template <std::uint64_t head_bytes, typename Gather>
class NoticeGather {
public:
    static_assert(sizeof(NoticeHead<head_bytes>) == head_bytes);

    //   bytes_max  the longest notice that a participant may have; the same on all
    NoticeGather(Team& team, Gather gather, std::uint64_t bytes_max)
        : team_(team), gather_(gather), bytes_max_(bytes_max), heads_(gather.count()) {}

    // Returns false if the team is broken, which a notice of more than bytes_max bytes breaks with
    // `mismatch`. Throws std::bad_alloc.
    //   own  the caller's notice, of at most bytes_max bytes
    bool run(std::span<const char> own) {
        put(own, heads_[gather_.own()]);
        begins_ = {0};
        for (std::size_t i = 0; i < heads_.size(); ++i) begins_.push_back(begins_[i] + head_bytes);
        const std::uint64_t used = std::min<std::uint64_t>(own.size(), text_bytes);
        if (!gather_.run_heads(reinterpret_cast<char*>(heads_.data()), begins_,
                               head_bytes - text_bytes + used)) {
            return false;
        }
        std::uint64_t longest = 0;
        for (std::uint32_t number = 0; number < heads_.size(); ++number) {
            const std::uint64_t bytes = heads_[number].bytes;
            if (bytes > bytes_max_)
                return team_.fail_notice(gather_.rank(number), bytes, bytes_max_);
            longest = std::max(longest, bytes);
        }
        return longest <= text_bytes || run_second(own, longest);
    }

    // A participant's notice, after run(); valid during the life of this.
    [[nodiscard]] std::span<const char> notice(std::uint32_t number) const noexcept {
        const NoticeHead<head_bytes>& head = heads_[number];
        return {whole_.empty() ? head.text.data() : whole_.data() + begins_[number], head.bytes};
    }

private:
    static constexpr std::uint64_t text_bytes = NoticeHead<head_bytes>::text_bytes;

    bool run_second(std::span<const char> own, std::uint64_t longest) {
        begins_ = {0};
        for (std::size_t i = 0; i < heads_.size(); ++i)
            begins_.push_back(begins_[i] + gather_.part_bytes(heads_[i].bytes, longest));
        whole_.resize(begins_.back());
        std::copy(own.begin(), own.end(), whole_.data() + begins_[gather_.own()]);
        return gather_.run(whole_.data(), begins_);
    }

    static void put(std::span<const char> notice, NoticeHead<head_bytes>& head) noexcept {
        head.bytes = notice.size();
        const auto beginning = notice.first(std::min<std::size_t>(notice.size(), text_bytes));
        std::copy(beginning.begin(), beginning.end(), head.text.begin());
    }

    Team& team_;
    Gather gather_;
    std::uint64_t bytes_max_;
    std::vector<NoticeHead<head_bytes>> heads_;
    std::vector<char> whole_;
    std::vector<std::uint64_t> begins_;  // where the last gather had its parts
};

}  // namespace acp::team
