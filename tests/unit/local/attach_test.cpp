// SPDX-License-Identifier: BSD-3-Clause
// Copies through the kernel between this process and forked ones: both ways, several in a call,
// through a buffer, and the code of each failure. A child sleeps in pause() until it is killed.
#include "local/attach.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "os/cross_memory.hpp"

#include "unit/local/test_node.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

using base::Code;

constexpr std::size_t page = 4096;
constexpr std::size_t pages = 16;

// Private pages; a forked child has copies of its own at the same addresses.
class Pages {
public:
    Pages()
        : start_(static_cast<char*>(::mmap(
              nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    }

    ~Pages() { ::munmap(start_, pages * page); }

    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    [[nodiscard]] char* at(std::size_t offset) const { return start_ + offset; }

private:
    char* start_;
};

class AttachTest : public testing::Test {
protected:
    AttachTest() { attach_.publish_token(); }

    void SetUp() override {
        const os::Piece own{pages_.at(0), 1};
        const os::Piece other{pages_.at(page), 1};
        if (os::read_process(::getpid(), {&own, 1}, {&other, 1}) == -ENOSYS) {
            GTEST_SKIP() << "an emulator without process_vm_readv";
        }
    }

    // Starts the process of a slot, whose pages are filled with `value`. It has this process's
    // token, at the same address.
    Child start(std::uint32_t slot, char value) {
        int ready[2] = {-1, -1};
        EXPECT_EQ(::pipe(ready), 0);
        Child child([&] {
            std::memset(pages_.at(0), value, pages * page);
            if (::write(ready[1], "r", 1) != 1) {
                return 1;
            }
            for (;;) {
                ::pause();
            }
        });
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        ::close(ready[1]);
        node::Slot& own = node_.slot(0);
        node::Slot& other = node_.slot(slot);
        other.pid.store(static_cast<std::uint32_t>(child.pid()), std::memory_order_relaxed);
        other.attach_address.store(own.attach_address.load(std::memory_order_relaxed),
                                   std::memory_order_relaxed);
        other.attach_token.store(own.attach_token.load(std::memory_order_relaxed),
                                 std::memory_order_release);
        return child;
    }

    [[nodiscard]] Place far(std::uint32_t slot, std::size_t offset) const {
        Place place;
        place.owner_address = reinterpret_cast<std::uint64_t>(pages_.at(offset));
        place.slot = slot;
        return place;
    }

    [[nodiscard]] static Place near(char* memory) {
        Place place;
        place.direct = memory;
        place.owner_address = reinterpret_cast<std::uint64_t>(memory);
        place.is_own = true;
        return place;
    }

    node::Segment node_ = make_node(3, 3);
    Pages pages_;
    Attach attach_{node_, 0, true};
    std::vector<char> here_ = std::vector<char>(pages * page, 'h');
};

TEST_F(AttachTest, trusts_a_process_only_after_its_token_was_read_through_it) {
    const Child child = start(1, 'a');
    node_.slot(2).pid.store(static_cast<std::uint32_t>(child.pid()), std::memory_order_relaxed);
    node_.slot(2).attach_address.store(node_.slot(1).attach_address.load());
    node_.slot(2).attach_token.store(node_.slot(1).attach_token.load() + 2);
    EXPECT_FALSE(attach_.is_known_reachable(1)) << "no access was tried yet";
    EXPECT_TRUE(attach_.can_reach(1));
    EXPECT_TRUE(attach_.is_known_reachable(1));
    EXPECT_EQ(attach_.refusal(1), "");
    EXPECT_FALSE(attach_.can_reach(2));
    EXPECT_FALSE(attach_.is_known_reachable(2));
    EXPECT_NE(attach_.refusal(2), "");
}

TEST_F(AttachTest, reaches_no_process_when_switched_off) {
    const Child child = start(1, 'a');
    Attach off(node_, 0, false);
    EXPECT_FALSE(off.can_reach(1));
    EXPECT_NE(off.refusal(1).find("ACP_ATTACH=off"), std::string::npos);
}

TEST_F(AttachTest, gets_and_puts_one_copy) {
    const Child child = start(1, 'a');
    AttachCopy get{near(here_.data() + 5), far(1, 100), 3 * page, Code::ok};
    attach_.run(get);
    ASSERT_EQ(get.code, Code::ok);
    EXPECT_EQ(here_[4], 'h');
    EXPECT_EQ(std::string(here_.data() + 5, 3 * page), std::string(3 * page, 'a'));
    EXPECT_EQ(here_[5 + 3 * page], 'h');
    std::memset(here_.data(), 'p', 64);
    AttachCopy put{far(1, page), near(here_.data()), 64, Code::ok};
    attach_.run(put);
    ASSERT_EQ(put.code, Code::ok);
    AttachCopy back{near(here_.data() + page), far(1, page - 1), 66, Code::ok};
    attach_.run(back);
    EXPECT_EQ(std::string(here_.data() + page, 66), "a" + std::string(64, 'p') + "a");
}

TEST_F(AttachTest, a_full_batch_shares_a_call_and_each_copy_lands_in_its_place) {
    const Child child = start(1, 'a');
    std::vector<AttachCopy> copies;
    for (std::size_t i = 0; i < attach_batch_max; ++i) {
        copies.push_back({near(here_.data() + 32 * i), far(1, 40 * i), i % 32, Code::ok});
    }
    attach_.run(copies);
    for (std::size_t i = 0; i < copies.size(); ++i) {
        EXPECT_EQ(copies[i].code, Code::ok);
        const std::size_t bytes = i % 32;
        EXPECT_EQ(std::string(here_.data() + 32 * i, 32),
                  std::string(bytes, 'a') + std::string(32 - bytes, 'h'));
    }
}

TEST_F(AttachTest, an_unmapped_page_fails_its_own_copy_only) {
    const Child child = start(1, 'a');
    AttachCopy bad{near(here_.data()), far(1, 0), 8, Code::ok};
    bad.source.owner_address = 8;  // never mapped
    AttachCopy alone = bad;
    attach_.run(alone);
    EXPECT_EQ(alone.code, Code::address);
    std::vector<AttachCopy> copies = {{near(here_.data()), far(1, 0), 8, Code::ok},
                                      bad,
                                      {near(here_.data() + 64), far(1, 64), 8, Code::ok}};
    attach_.run(copies);
    EXPECT_EQ(copies[0].code, Code::ok);
    EXPECT_EQ(copies[1].code, Code::address);
    EXPECT_EQ(copies[2].code, Code::ok);
    EXPECT_EQ(here_[64], 'a');
}

TEST_F(AttachTest, copies_between_two_other_processes_go_through_a_buffer) {
    const Child first = start(1, 'a');
    const Child second = start(2, 'b');
    std::vector<AttachCopy> copies = {{far(2, page), far(1, 0), 5 * page, Code::ok}};
    attach_.run(copies);
    ASSERT_EQ(copies[0].code, Code::ok);
    AttachCopy back{near(here_.data()), far(2, 0), 7 * page, Code::ok};
    attach_.run(back);
    EXPECT_EQ(std::string(here_.data(), 7 * page),
              std::string(page, 'b') + std::string(5 * page, 'a') + std::string(page, 'b'));
}

TEST_F(AttachTest, a_process_that_is_gone_or_marked_dead_is_a_lost_peer) {
    Child child = start(1, 'a');
    AttachCopy copy{near(here_.data()), far(1, 0), 8, Code::ok};
    node_.slot(1).state.store(static_cast<std::uint32_t>(node::SlotState::dead),
                              std::memory_order_release);
    attach_.run(copy);
    EXPECT_EQ(copy.code, Code::peer);
    EXPECT_EQ(here_[0], 'h') << "another process may have the pid of a dead one";
    node_.slot(1).state.store(static_cast<std::uint32_t>(node::SlotState::joined),
                              std::memory_order_release);
    // a lock that it does not hold
    node_.slot(1).has_life_lock.store(1, std::memory_order_relaxed);
    (void)child.kill();
    std::vector<AttachCopy> copies(2, {near(here_.data()), far(1, 0), 8, Code::ok});
    attach_.run(copies);
    EXPECT_EQ(copies[0].code, Code::peer);
    EXPECT_EQ(copies[1].code, Code::peer);
}

TEST_F(AttachTest, a_process_that_the_kernel_has_begun_to_end_or_replace_is_a_lost_peer) {
    const Child child = start(1, 'a');
    const Child other = start(2, 'b');
    const AttachCopy get{near(here_.data()), far(1, 0), 8, Code::ok};
    const AttachCopy put{far(1, 0), near(here_.data()), 8, Code::ok};
    const AttachCopy from{far(2, 0), far(1, 0), 8, Code::ok};
    const AttachCopy into{far(1, 0), far(2, 0), 8, Code::ok};
    ASSERT_TRUE(attach_.try_run(get));
    here_[0] = 'h';
    // Stores the word as the kernel leaves it for a thread that exec has killed. The process of the
    // slot lives on, like one that runs the new program.
    std::atomic<std::uint32_t>& word = node_.slot(1).service_hold;
    word.store(os::holder_ended_bit, std::memory_order_release);
    EXPECT_FALSE(attach_.try_run(get));
    EXPECT_FALSE(attach_.try_run(put));
    for (const AttachCopy& one : {get, put, from, into}) {
        std::vector<AttachCopy> copies(2, one);
        attach_.run(copies);
        EXPECT_EQ(copies[0].code, Code::peer);
        EXPECT_EQ(copies[1].code, Code::peer);
    }
    AttachCopy alone = put;
    attach_.run(alone);
    EXPECT_EQ(alone.code, Code::peer);
    EXPECT_EQ(here_[0], 'h');
    word.store(0, std::memory_order_release);
    std::vector<AttachCopy> seen = {{near(here_.data()), far(1, 0), 8, Code::ok}};
    attach_.run(seen);
    EXPECT_EQ(std::string(here_.data(), 8), std::string(8, 'a')) << "nothing was written into it";
}

TEST_F(AttachTest, a_living_process_that_the_kernel_refuses_since_is_left_to_itself) {
    const Child child = start(1, 'a');
    ASSERT_TRUE(attach_.can_reach(1));
    // a pid like that of a process whose main thread has ended
    node_.slot(1).pid.store(INT_MAX, std::memory_order_relaxed);
    testing::internal::CaptureStderr();
    AttachCopy copy{near(here_.data()), far(1, 0), 8, Code::ok};
    attach_.run(copy);
    std::vector<AttachCopy> copies(2, {near(here_.data()), far(1, 0), 8, Code::ok});
    attach_.run(copies);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(copy.code, Code::unsupported);
    EXPECT_EQ(copies[1].code, Code::unsupported);
    EXPECT_FALSE(attach_.can_reach(1));
    EXPECT_FALSE(attach_.is_known_reachable(1));
    EXPECT_NE(said.find("no longer lets it copy the private memory of rank 1"), std::string::npos)
        << said;
    EXPECT_EQ(said.find("no longer"), said.rfind("no longer")) << "once";
    EXPECT_NE(attach_.refusal(1).find("its main thread has ended"), std::string::npos);
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
