// SPDX-License-Identifier: BSD-3-Clause
// Collective calls are compared with a sequential model: random teams, calls, sizes, roots, types
// and operations. The seed is printed, and taken from TEST_SEED.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "conformance/team_fixture.hpp"

namespace acp::test {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes content_of(std::uint64_t which, std::size_t bytes) {
    Random random(which * 1'000'003 + 1);
    Bytes content(bytes);
    for (auto& byte : content) byte = static_cast<unsigned char>(random.next());
    return content;
}

// Draws a size, often near the limits of a round or a segment.
std::size_t random_size(Random& random) {
    constexpr std::array<std::size_t, 12> edges{0,   1,    8,      40,     41,      960,
                                                961, 4096, 32'768, 32'769, 524'288, 600'001};
    switch (random.below(4)) {
        case 0:
            return edges[random.below(edges.size())];
        case 1:
            return random.below(100'000);
        default:
            return random.below(3000);
    }
}

// An element of each type as a number that every type represents exactly.
template <typename Element>
std::vector<Element> elements_of(std::uint64_t which, std::size_t count) {
    Random random(which + 77);
    std::vector<Element> elements(count);
    for (Element& element : elements) element = static_cast<Element>(random.below(1000)) / 4;
    return elements;
}

template <typename Element>
Element combined(Element first, Element second, int operation) {
    switch (operation) {
        case ACP_SUM:
            return static_cast<Element>(first + second);
        case ACP_MIN:
            return std::min(first, second);
        case ACP_MAX:
            return std::max(first, second);
        default:
            break;
    }
    if constexpr (std::is_integral_v<Element>) {
        if (operation == ACP_AND) return first & second;
        if (operation == ACP_OR) return first | second;
        return first ^ second;
    }
    return first;
}

// The expected result of a reduction of numbers whose sums are exact.
template <typename Element>
std::vector<Element> model_of(std::uint64_t which, int members, std::size_t count, int operation) {
    std::vector<Element> result = elements_of<Element>(which, count);
    for (int member = 1; member < members; ++member) {
        const auto next = elements_of<Element>(which + static_cast<std::uint64_t>(member), count);
        for (std::size_t i = 0; i < count; ++i) result[i] = combined(result[i], next[i], operation);
    }
    return result;
}

struct ReductionCase {
    acp_team_t team;
    std::uint64_t which;
    std::size_t count;
    int operation;
    // -1: every member is a root
    int root;
    bool is_in_place;
};

template <typename Element>
void check_reduction(const ReductionCase& what, int type) {
    const int own = acp_query_team_rank(what.team);
    const int members = acp_query_team_size(what.team);
    auto send = elements_of<Element>(what.which + static_cast<std::uint64_t>(own), what.count);
    std::vector<Element> other(what.count + 1, Element{123});
    if (what.is_in_place) {
        other = send;
        other.push_back(Element{123});
    }
    const Element* const from = what.is_in_place ? other.data() : send.data();
    const bool has_result = what.root < 0 || what.root == own;
    Element* const into = has_result ? other.data() : nullptr;
    const int result =
        what.root < 0
            ? acp_allreduce_team(what.team, from, into, what.count, type, what.operation)
            : acp_reduce_team(what.team, from, into, what.count, type, what.operation, what.root);
    ASSERT_EQ(result, 0) << acp_error_message();
    if (!has_result) return;
    const auto expected = model_of<Element>(what.which, members, what.count, what.operation);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), other.begin()))
        << what.count << " elements of type " << type << ", operation " << what.operation;
    ASSERT_EQ(other[what.count], Element{123}) << "written beyond the result";
}

void check_any_reduction(Random& random, acp_team_t team, std::uint64_t which) {
    const int members = acp_query_team_size(team);
    const int type = static_cast<int>(1 + random.below(6));
    const bool is_float = type >= ACP_FLOAT;
    const ReductionCase what{
        team,
        which,
        random_size(random) / 8,
        static_cast<int>(ACP_SUM + random.below(is_float ? 3 : 6)),
        random.chance(50) ? -1
                          : static_cast<int>(random.below(static_cast<std::uint64_t>(members))),
        random.chance(30)};
    switch (type) {
        case ACP_INT32:
            return check_reduction<std::int32_t>(what, type);
        case ACP_UINT32:
            return check_reduction<std::uint32_t>(what, type);
        case ACP_INT64:
            return check_reduction<std::int64_t>(what, type);
        case ACP_UINT64:
            return check_reduction<std::uint64_t>(what, type);
        case ACP_FLOAT:
            return check_reduction<float>(what, type);
        default:
            return check_reduction<double>(what, type);
    }
}

void check_broadcast(Random& random, acp_team_t team, std::uint64_t which) {
    const int own = acp_query_team_rank(team);
    const std::size_t bytes = random_size(random);
    const int root =
        static_cast<int>(random.below(static_cast<std::uint64_t>(acp_query_team_size(team))));
    const Bytes expected = content_of(which, bytes);
    Bytes buffer(bytes + 1, 0xee);
    if (own == root) std::copy(expected.begin(), expected.end(), buffer.begin());
    ASSERT_EQ(acp_broadcast_team(team, buffer.data(), bytes, root), 0) << acp_error_message();
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), buffer.begin()))
        << bytes << " bytes from member " << root;
    ASSERT_EQ(buffer[bytes], 0xee) << "written beyond the buffer";
}

// The bytes that member `from` sends to member `to`.
Bytes content_for(std::uint64_t which, int from, int to, std::size_t bytes) {
    return content_of(
        which + static_cast<std::uint64_t>(from) * 31 + static_cast<std::uint64_t>(to) * 7, bytes);
}

void append(Bytes& to, const Bytes& what) {
    to.insert(to.end(), what.begin(), what.end());
}

void check_gathers(Random& random, acp_team_t team, std::uint64_t which) {
    const int own = acp_query_team_rank(team);
    const int members = acp_query_team_size(team);
    const std::size_t bytes = random_size(random) / static_cast<std::size_t>(members);
    const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(members)));
    Bytes expected;
    for (int member = 0; member < members; ++member)
        append(expected, content_for(which, member, 0, bytes));
    Bytes send = content_for(which, own, 0, bytes);
    Bytes all(expected.size() + 1, 0xee);
    const bool is_in_place = random.chance(30);
    if (is_in_place)
        std::copy(send.begin(), send.end(), all.begin() + static_cast<std::ptrdiff_t>(bytes) * own);
    const void* const from =
        is_in_place ? all.data() + bytes * static_cast<std::size_t>(own) : send.data();
    ASSERT_EQ(acp_allgather_team(team, from, bytes, all.data()), 0) << acp_error_message();
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), all.begin())) << bytes << " bytes";
    ASSERT_EQ(all.back(), 0xee) << "written beyond the buffer";
    Bytes gathered(own == root ? expected.size() + 1 : 0, 0xee);
    ASSERT_EQ(
        acp_gather_team(team, send.data(), bytes, own == root ? gathered.data() : nullptr, root), 0)
        << acp_error_message();
    if (own == root) {
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), gathered.begin()));
        ASSERT_EQ(gathered.back(), 0xee) << "written beyond the buffer";
    }
    Bytes part(bytes + 1, 0xee);
    ASSERT_EQ(
        acp_scatter_team(team, own == root ? expected.data() : nullptr, bytes, part.data(), root),
        0)
        << acp_error_message();
    ASSERT_TRUE(std::equal(send.begin(), send.end(), part.begin()));
    ASSERT_EQ(part.back(), 0xee) << "written beyond the buffer";
}

void check_all_to_all(Random& random, acp_team_t team, std::uint64_t which) {
    const auto own = acp_query_team_rank(team);
    const auto members = acp_query_team_size(team);
    const auto count = static_cast<std::size_t>(members);
    const bool is_even = random.chance(40);
    const std::size_t even_bytes = random_size(random) / count;
    // Row sends to column.
    std::vector<std::size_t> sizes(count * count);
    for (std::size_t& size : sizes) {
        const std::size_t drawn = random_size(random) / count;
        size = is_even ? even_bytes : drawn;
    }
    Bytes send;
    Bytes expected;
    std::vector<std::size_t> send_sizes;
    std::vector<std::size_t> send_offsets;
    std::vector<std::size_t> recv_sizes;
    std::vector<std::size_t> recv_offsets;
    for (int member = 0; member < members; ++member) {
        const auto place = static_cast<std::size_t>(member);
        send_sizes.push_back(sizes[static_cast<std::size_t>(own) * count + place]);
        send_offsets.push_back(send.size());
        append(send, content_for(which, own, member, send_sizes.back()));
        recv_sizes.push_back(sizes[place * count + static_cast<std::size_t>(own)]);
        recv_offsets.push_back(expected.size());
        append(expected, content_for(which, member, own, recv_sizes.back()));
    }
    Bytes receive(expected.size() + 1, 0xee);
    const int result =
        is_even ? acp_alltoall_team(team, send.data(), even_bytes, receive.data())
                : acp_alltoallv_team(team, send.data(), send_sizes.data(), send_offsets.data(),
                                     receive.data(), recv_sizes.data(), recv_offsets.data());
    ASSERT_EQ(result, 0) << acp_error_message();
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), receive.begin()));
    ASSERT_EQ(receive.back(), 0xee) << "written beyond the buffer";
}

void check_scan(Random& random, acp_team_t team, std::uint64_t which) {
    const int own = acp_query_team_rank(team);
    const std::size_t count = random_size(random) / 8;
    const int operation = static_cast<int>(ACP_SUM + random.below(6));
    const bool is_in_place = random.chance(30);
    const bool is_exclusive = random.chance(50);
    auto send = elements_of<std::int64_t>(which + static_cast<std::uint64_t>(own), count);
    std::vector<std::int64_t> result(count + 1, 123);
    if (is_in_place) std::copy(send.begin(), send.end(), result.begin());
    const std::vector<std::int64_t> before(result.begin(), result.end() - 1);
    const auto scan = is_exclusive ? acp_exscan_team : acp_scan_team;
    ASSERT_EQ(scan(team, is_in_place ? result.data() : send.data(), result.data(), count, ACP_INT64,
                   operation),
              0)
        << acp_error_message();
    const int last = is_exclusive ? own : own + 1;  // the first member that is left out
    const auto expected =
        last == 0 ? before : model_of<std::int64_t>(which, last, count, operation);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), result.begin())) << count;
    ASSERT_EQ(result.back(), 123) << "written beyond the result";
}

class TeamModelTest : public TeamTest {};

TEST_F(TeamModelTest, every_call_gives_what_a_sequential_model_gives) {
    Random random = common_random();
    std::uint64_t which = 0;
    for (int round = 0; round < 12; ++round) {
        const std::vector<int> list = random_list(random);
        const acp_team_t team = acp_create_team(world_, list.data(), static_cast<int>(list.size()));
        const auto place = std::find(list.begin(), list.end(), rank_);
        ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
        ASSERT_EQ(team != ACP_TEAM_NONE, place != list.end());
        // All ranks draw, so that their generators stay the same, also where they are not members.
        const std::uint64_t seed = random.next();
        if (team != ACP_TEAM_NONE) {
            EXPECT_EQ(acp_query_team_rank(team), place - list.begin());
            EXPECT_EQ(acp_query_team_size(team), static_cast<int>(list.size()));
            Random calls(seed);
            for (int call = 0; call < 25; ++call) {
                SCOPED_TRACE("round " + std::to_string(round) + ", call " + std::to_string(call));
                which += 1000;
                switch (calls.below(6)) {
                    case 0:
                        ASSERT_EQ(acp_sync_team(team), 0) << acp_error_message();
                        break;
                    case 1:
                        check_broadcast(calls, team, which);
                        break;
                    case 2:
                        check_gathers(calls, team, which);
                        break;
                    case 3:
                        check_all_to_all(calls, team, which);
                        break;
                    case 4:
                        check_scan(calls, team, which);
                        break;
                    default:
                        check_any_reduction(calls, team, which);
                        break;
                }
                if (HasFatalFailure()) return;
            }
            free_team(team);
        }
        which = exchange(which)[static_cast<std::size_t>(list[0])];
    }
}

}  // namespace
}  // namespace acp::test
