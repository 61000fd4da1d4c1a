// SPDX-License-Identifier: BSD-3-Clause
// Long messages between buffers that the ranks of a node have mapped, and between others: all
// arrive whole and in order, also truncated, also with many in flight, and also when the sender
// makes no call while they are in flight.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "support/nodes.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t longest = 5'000'000;

// A buffer in this process's private memory, or in its heap, which the ranks of its node have
// mapped.
class Room {
public:
    Room(bool is_mapped, std::size_t bytes) {
        if (is_mapped) {
            address_ = acp_malloc(bytes, acp_rank());
            EXPECT_NE(address_, ACP_GA_NULL) << acp_error_message();
            data_ = static_cast<char*>(acp_query_address(address_));
        } else {
            own_.resize(bytes);
            data_ = own_.data();
        }
    }

    ~Room() {
        if (address_ != ACP_GA_NULL) {
            EXPECT_EQ(acp_free(address_), 0) << acp_error_message();
        }
    }

    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    [[nodiscard]] char* data() const { return data_; }

private:
    acp_ga_t address_ = ACP_GA_NULL;
    std::vector<char> own_;
    char* data_ = nullptr;
};

void fill(char* to, std::uint64_t message, std::size_t bytes) {
    Random random(message * 31 + bytes);
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = random.next();
        std::memcpy(to + i, &word, std::min<std::size_t>(8, bytes - i));
    }
}

class ChannelLoanTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
    }

    // Whether this rank is 0 or the last one; only these two have channels here.
    [[nodiscard]] bool is_of_two() const {
        return procs_ > 1 && (rank_ == 0 || rank_ == procs_ - 1);
    }

    [[nodiscard]] acp_ch_t make() const {
        const acp_ch_t made = acp_create_ch(0, procs_ - 1);
        EXPECT_NE(made, ACP_CH_NULL) << acp_error_message();
        return made;
    }

    // Checks the bytes of a message that was truncated to `cut` bytes, and the guard byte behind
    // them.
    static void expect_content(const char* got,
                               std::uint64_t message,
                               std::size_t bytes,
                               std::size_t cut) {
        std::vector<char> expected(bytes);
        fill(expected.data(), message, bytes);
        ASSERT_TRUE(
            std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(cut), got))
            << "message " << message << " of " << bytes;
        ASSERT_EQ(got[cut], 'e') << "written beyond the message";
    }
};

TEST_F(ChannelLoanTest, messages_between_memory_of_any_kind_arrive_whole) {
    if (!is_of_two()) return;
    const acp_ch_t channel = make();
    std::uint64_t message = 0;
    for (const bool is_mapped : {true, false}) {
        // Both ends send and receive the same lengths; the receiver's kind of memory changes with
        // each message.
        Room mapped(true, longest + 64);
        Room own(false, longest + 64);
        for (const std::size_t bytes : {std::size_t{131'072}, std::size_t{131'073},
                                        std::size_t{200'000}, std::size_t{1'048'583}, longest}) {
            for (const std::size_t shift : {std::size_t{0}, std::size_t{13}}) {
                ++message;
                const bool is_mapped_here = rank_ == 0 ? is_mapped : message % 2 == 0;
                char* const at = (is_mapped_here ? mapped : own).data() + shift;
                if (rank_ == 0) {
                    fill(at, message, bytes);
                    ASSERT_EQ(acp_send_ch(channel, at, bytes), 0) << acp_error_message();
                } else {
                    at[bytes] = 'e';
                    ASSERT_EQ(acp_recv_ch(channel, at, longest), bytes) << acp_error_message();
                    expect_content(at, message, bytes, bytes);
                }
            }
        }
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(ChannelLoanTest, the_buffer_of_an_ended_send_may_change_before_its_message_is_received) {
    constexpr std::size_t sizes[] = {8, 1000, 1001, 4096, 8191, 16384, 16385, 100'000};
    constexpr std::int64_t patience_ns = 20'000'000;
    if (!is_of_two()) {
        for (std::size_t i = 0; i < std::size(sizes); ++i) EXPECT_EQ(acp_sync(), 0);
        return;
    }
    const acp_ch_t channel = make();
    std::vector<char> buffer(sizes[std::size(sizes) - 1] + 1);
    for (const std::size_t bytes : sizes) {
        if (rank_ == 0) {
            fill(buffer.data(), bytes, bytes);
            const acp_request_t send = acp_nbsend_ch(channel, buffer.data(), bytes);
            ASSERT_NE(send, ACP_REQUEST_NULL) << acp_error_message();
            const bool has_ended = acp_wait_ch_timeout(send, nullptr, patience_ns) == ACP_OK;
            if (has_ended) std::fill(buffer.begin(), buffer.end(), 'x');
            EXPECT_EQ(acp_sync(), 0) << acp_error_message();
            if (!has_ended) {
                EXPECT_EQ(acp_wait_ch(send), 0U) << acp_error_message();
            }
        } else {
            EXPECT_EQ(acp_sync(), 0) << acp_error_message();
            buffer[bytes] = 'e';
            ASSERT_EQ(acp_recv_ch(channel, buffer.data(), buffer.size()), bytes);
            expect_content(buffer.data(), bytes, bytes, bytes);
        }
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(ChannelLoanTest, a_message_longer_than_its_buffer_is_cut_and_the_next_one_is_whole) {
    if (!is_of_two()) return;
    const acp_ch_t channel = make();
    Room room(true, longest);
    for (const std::size_t cut :
         {std::size_t{0}, std::size_t{1}, std::size_t{65'536}, std::size_t{700'000}}) {
        if (rank_ == 0) {
            fill(room.data(), cut, 1'000'000);
            ASSERT_EQ(acp_send_ch(channel, room.data(), 1'000'000), 0) << acp_error_message();
            ASSERT_EQ(acp_send_ch(channel, room.data(), 300'000), 0) << acp_error_message();
        } else {
            room.data()[cut] = 'e';
            EXPECT_EQ(acp_recv_ch(channel, room.data(), cut), SIZE_MAX);
            EXPECT_EQ(acp_errno(), ACP_ERR_TRUNCATED) << acp_error_message();
            expect_content(room.data(), cut, 1'000'000, cut);
            ASSERT_EQ(acp_recv_ch(channel, room.data(), longest), 300'000U) << acp_error_message();
        }
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

// The child's refused calls neither withdraw the loan of the parent's send buffer nor copy from a
// buffer that the parent borrows.
TEST_F(ChannelLoanTest, a_forked_child_leaves_the_loans_of_its_parent_alone) {
    if (!is_of_two()) return;
    const acp_ch_t channel = make();
    Room room(true, longest);
    if (rank_ == 0) fill(room.data(), 1, 1'000'000);
    const acp_request_t under_way =
        rank_ == 0 ? acp_nbsend_ch(channel, room.data(), 1'000'000) : ACP_REQUEST_NULL;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const auto no_bytes = static_cast<std::size_t>(-1);
        char byte = 0;
        bool is_refused = true;
        if (rank_ == 0) {
            is_refused = acp_wait_ch(under_way) == no_bytes && acp_errno() == ACP_ERR_FORKED &&
                         acp_send_ch(channel, &byte, 1) == -1 && acp_errno() == ACP_ERR_FORKED;
        } else {
            is_refused =
                acp_recv_ch(channel, &byte, 1) == no_bytes && acp_errno() == ACP_ERR_FORKED;
        }
        _exit(is_refused && acp_free_ch(channel) == -1 && acp_errno() == ACP_ERR_FORKED ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "a call of the child was not refused with ACP_ERR_FORKED";
    if (rank_ == 0) {
        EXPECT_EQ(acp_wait_ch(under_way), 0U) << acp_error_message();
    } else {
        room.data()[1'000'000] = 'e';
        ASSERT_EQ(acp_recv_ch(channel, room.data(), longest), 1'000'000U) << acp_error_message();
        expect_content(room.data(), 1, 1'000'000, 1'000'000);
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(ChannelLoanTest, many_messages_in_flight_keep_their_order) {
    if (!is_of_two()) return;
    constexpr std::uint64_t messages = 24;
    constexpr std::size_t room_bytes = 420'000;
    const auto bytes_of = [](std::uint64_t message) -> std::size_t {
        return message % 3 == 2 ? 40 + message : 150'000 + 10'000 * message;
    };
    const acp_ch_t channel = make();
    Room room(true, messages * room_bytes);
    std::vector<acp_request_t> requests;
    for (std::uint64_t i = 0; i < messages; ++i) {
        char* const at = room.data() + i * room_bytes;
        if (rank_ == 0) {
            fill(at, i, bytes_of(i));
            requests.push_back(acp_nbsend_ch(channel, at, bytes_of(i)));
        } else {
            at[bytes_of(i)] = 'e';
            requests.push_back(acp_nbrecv_ch(channel, at, room_bytes - 1));
        }
        ASSERT_NE(requests.back(), ACP_REQUEST_NULL) << acp_error_message();
    }
    // Waits for the last request first: all requests before it have completed then.
    for (std::uint64_t i = messages; i-- > 0;) {
        ASSERT_EQ(acp_wait_ch(requests[i]), rank_ == 0 ? 0 : bytes_of(i)) << acp_error_message();
        if (rank_ != 0) expect_content(room.data() + i * room_bytes, i, bytes_of(i), bytes_of(i));
    }
    EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
}

TEST_F(ChannelLoanTest, a_sender_that_makes_no_call_delays_nothing_on_its_node) {
    const acp_ga_t flag_address = acp_query_starter_ga(0);
    auto& flag =
        *static_cast<std::atomic<std::uint64_t>*>(acp_query_address(acp_query_starter_ga(rank_)));
    flag.store(0);
    ASSERT_EQ(acp_sync(), 0);
    if (is_of_two() && is_near(rank_ == 0 ? procs_ - 1 : 0)) {
        const acp_ch_t channel = make();
        Room room(true, longest + 1);
        // When this message has arrived, both ends are connected; before that, the receiver's
        // request needs a call of the sender.
        std::uint64_t word = 1;
        if (rank_ == 0) {
            ASSERT_EQ(acp_send_ch(channel, &word, sizeof word), 0) << acp_error_message();
        } else {
            ASSERT_EQ(acp_recv_ch(channel, &word, sizeof word), sizeof word) << acp_error_message();
        }
        if (rank_ == 0) {
            fill(room.data(), 1, longest);
            acp_request_t sent = acp_nbsend_ch(channel, room.data(), longest);
            ASSERT_NE(sent, ACP_REQUEST_NULL) << acp_error_message();
            while (flag.load(std::memory_order_acquire) == 0) {
            }
            ASSERT_EQ(acp_wait_ch(sent), 0U) << acp_error_message();
        } else {
            room.data()[longest] = 'e';
            ASSERT_EQ(acp_recv_ch(channel, room.data(), longest), longest) << acp_error_message();
            expect_content(room.data(), 1, longest, longest);
            acp_complete(acp_add8(ACP_GA_NULL, flag_address, 1, ACP_HANDLE_NULL));
        }
        EXPECT_EQ(acp_free_ch(channel), 0) << acp_error_message();
    }
    ASSERT_EQ(acp_sync(), 0);
}

}  // namespace
}  // namespace acp::test
