// SPDX-License-Identifier: BSD-3-Clause
// The forwarder over every port: copies and atomics in all directions between three ranks,
// refusals, memory that vanishes midway, fairness, and deaths. In most tests one thread polls all
// ranks in turn, so every run is the same.
#include "mailbox/forwarder.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "node/death.hpp"
#include "os/cpu.hpp"

#include "support/random.hpp"
#include "support/refuse_memory.hpp"
#include "support/watchdog.hpp"
#include "unit/mailbox/test_rank.hpp"

namespace acp::mailbox::test {
namespace {

using local::test::all_kinds;
using local::test::Kind;
using local::test::make_segment;
using local::test::name_of;

constexpr std::uint32_t procs = 3;
constexpr std::uint64_t mebibyte = 1024 * 1024;

const Kind automatic{"automatic", base::IntraNode::automatic, base::MailboxKind::mpsc};

class ForwarderTest : public testing::TestWithParam<Kind> {
protected:
    ForwarderTest()
        : is_forced_(GetParam().intranode != base::IntraNode::automatic),
          segment_(make_segment(GetParam(), procs, 1408)) {
        acp::test::arm_watchdog(120, "a forwarder test");
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            ranks_.push_back(std::make_unique<Rank>(segment_, slot, is_forced_, false));
        }
    }

    ~ForwarderTest() override { acp::test::arm_watchdog(0, ""); }

    Rank& rank(std::uint32_t number) { return *ranks_[number]; }

    // One poll of every rank that is awake.
    void poll() {
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            if (!is_stopped_[slot]) ranks_[slot]->forwarder->poll();
        }
    }

    // Runs the only command of a rank. Returns its completion.
    ForwardedEnd run(std::uint32_t origin, const memory::Command& command) {
        Forwarder& forwarder = *rank(origin).forwarder;
        (void)forwarder.submit(++token_, command);
        std::vector<ForwardedEnd> ended;
        while (ended.empty()) {
            poll();
            take_ended(forwarder, ended);
        }
        EXPECT_EQ(ended.size(), 1U);
        EXPECT_EQ(ended[0].token, token_);
        EXPECT_EQ(forwarder.outstanding(), 0U);
        return ended[0];
    }

    void fill(char* bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(random_.next());
    }

    void kill(std::uint32_t slot) {
        is_stopped_[slot] = true;
        node::mark_dead(segment_, slot, 9);
        for (std::uint32_t other = 0; other < procs; ++other) {
            if (!is_stopped_[other]) ranks_[other]->forwarder->on_death(slot);
        }
    }

    bool is_forced_;
    node::Segment segment_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    bool is_stopped_[procs] = {};
    std::uint64_t token_ = 100;
    acp::test::Random random_{42};
};

TEST_P(ForwarderTest, copies_between_any_two_ranks_for_any_third) {
    const std::uint64_t sizes[] = {0, 1, 8, 24, 1408, 1409, 5000, mebibyte + 3};
    for (std::uint32_t which = 0; which < procs * procs * procs * 4; ++which) {
        const std::uint32_t origin = which % procs;
        const std::uint32_t from = which / procs % procs;
        const std::uint32_t to = which / procs / procs % procs;
        const Memory source = rank(from).memory((which / 27 & 1) != 0);
        const Memory target = rank(to).memory((which / 27 & 2) != 0);
        for (const std::uint64_t bytes : sizes) {
            const std::uint64_t at = mebibyte * 2;  // source and target may be the same memory
            fill(source.bytes, std::min<std::uint64_t>(bytes, 6000));
            target.bytes[at - 1] = target.bytes[at + bytes] = 'e';
            const ForwardedEnd ended =
                run(origin, copy(target.address + at, source.address, bytes));
            ASSERT_EQ(ended.code, base::Code::ok) << ended.message;
            ASSERT_EQ(std::memcmp(target.bytes + at, source.bytes, bytes), 0)
                << bytes << " bytes by " << origin << " from " << from << " to " << to;
            ASSERT_EQ(target.bytes[at - 1], 'e');
            ASSERT_EQ(target.bytes[at + bytes], 'e');
        }
    }
}

// Many commands of all kinds by all ranks, while every allocation from a certain one on fails.
TEST_P(ForwarderTest, every_command_it_took_ends_whichever_request_for_memory_is_refused) {
    constexpr std::uint64_t commands = 150;  // commands of each rank; more than its initial records
    const auto command_of = [this](std::uint32_t origin, std::uint64_t i) {
        const std::uint32_t to = (origin + 1) % procs;
        const std::uint32_t from = (origin + static_cast<std::uint32_t>(i % 2) + 1) % procs;
        const std::uint64_t at = i * 8192;
        if (i % 3 == 0) {
            return memory::Command{memory::Operation::add,
                                   8,
                                   rank(origin).own.address + at,
                                   rank(to).own.address + at,
                                   8,
                                   1,
                                   0};
        }
        return copy(rank(to).own.address + at, rank(from).own.address + 2 * mebibyte + i * 8,
                    i % 5 == 0 ? 5000 : 24);
    };
    for (std::uint64_t first = 1; first <= 12; ++first) {
        SCOPED_TRACE(first);
        std::uint64_t taken = 0;
        std::uint64_t refused = 0;
        std::uint64_t ended = 0;
        {
            const acp::test::Refusal refusal(first, acp::test::all_from_there);
            for (std::uint64_t i = 0; i < commands; ++i) {
                for (std::uint32_t origin = 0; origin < procs; ++origin) {
                    const bool is_taken = rank(origin).forwarder->submit(i, command_of(origin, i));
                    ++(is_taken ? taken : refused);
                }
            }
            while (ended < taken) {
                poll();
                for (std::uint32_t origin = 0; origin < procs; ++origin) {
                    Forwarder& forwarder = *rank(origin).forwarder;
                    for (const ForwardedEnd& one : forwarder.ended()) {
                        EXPECT_EQ(one.code, base::Code::ok);
                        ++ended;
                    }
                    forwarder.forget_ended();
                }
            }
        }
        EXPECT_EQ(ended, taken);
        EXPECT_GE(taken, 64U * procs);
        EXPECT_EQ(taken + refused, commands * procs);
    }
}

TEST_P(ForwarderTest, moves_overlapping_ranges_of_one_process_as_if_by_a_buffer) {
    const Memory memory = rank(1).own;
    for (const std::uint64_t bytes : {100ULL, 2 * 1024 * 1024ULL}) {
        for (const bool is_forward : {true, false}) {
            fill(memory.bytes, bytes + 64);
            const std::vector<char> before(memory.bytes, memory.bytes + bytes + 64);
            const std::uint64_t from = is_forward ? 0 : 64;
            const std::uint64_t to = is_forward ? 64 : 0;
            ASSERT_EQ(run(0, copy(memory.address + to, memory.address + from, bytes)).code,
                      base::Code::ok);
            ASSERT_EQ(std::memcmp(memory.bytes + to, before.data() + from, bytes), 0);
        }
    }
}

struct AtomicCase {
    memory::Operation operation;
    std::uint64_t operand;
    std::uint64_t expected;
    std::uint64_t word;
    std::uint64_t after;
};

TEST_P(ForwarderTest, runs_atomics_and_returns_the_old_value_to_any_rank) {
    using memory::Operation;
    const std::uint64_t high = 0xfedcba98'76543210ULL;
    const AtomicCase cases[] = {
        {Operation::compare_swap, 7, high, high, 7},
        {Operation::compare_swap, 7, 1, high, high},
        {Operation::swap, 7, 0, high, 7},
        {Operation::add, 7, 0, high, high + 7},
        {Operation::bit_xor, 7, 0, high, high ^ 7},
        {Operation::bit_or, 7, 0, high, high | 7},
        {Operation::bit_and, 0xff, 0, high, 0x10},
        // signed in either width: `high` is negative, its lower half is not
        {Operation::min, 0x8000'0000'0000'0001ULL, 0, high, 0x8000'0000'0000'0001ULL},
        {Operation::min, 0x7fff'ffff'7fff'ffffULL, 0, high, high},
        {Operation::max, 0x7fff'ffff'7fff'ffffULL, 0, high, 0x7fff'ffff'7fff'ffffULL},
        {Operation::max, 0x8000'0000'0000'0001ULL, 0, high, high},
    };
    for (std::uint32_t which = 0; which < procs * procs * procs * 4; ++which) {
        const std::uint32_t origin = which % procs;
        const Memory word = rank(which / procs % procs).memory((which / 27 & 1) != 0);
        const Memory target = rank(which / procs / procs % procs).memory((which / 27 & 2) != 0);
        for (const AtomicCase& one : cases) {
            for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{8}}) {
                const std::uint64_t mask = width == 4 ? 0xffff'ffffULL : ~0ULL;
                std::memcpy(word.bytes, &one.word, 8);
                std::memset(target.bytes + 64, 0x55, 16);
                const ForwardedEnd ended =
                    run(origin, {one.operation, width, target.address + 64, word.address, 0,
                                 one.operand & mask, one.expected & mask});
                ASSERT_EQ(ended.code, base::Code::ok) << ended.message;
                std::uint64_t seen = 0;
                std::memcpy(&seen, word.bytes, 8);
                ASSERT_EQ(seen & mask, one.after & mask);
                ASSERT_EQ(seen & ~mask, one.word & ~mask);
                seen = 0;
                std::memcpy(&seen, target.bytes + 64, width);
                ASSERT_EQ(seen, one.word & mask);
                ASSERT_EQ(target.bytes[64 + width], 0x55);
            }
        }
    }
}

TEST_P(ForwarderTest, an_atomic_without_a_target_changes_its_word_and_nothing_else) {
    for (std::uint32_t which = 0; which < procs * procs * 2; ++which) {
        const Memory word = rank(which / procs % procs).memory(which / 9 != 0);
        for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{8}}) {
            std::uint64_t value = 40;
            std::memcpy(word.bytes, &value, 8);
            const std::vector<char> beyond(word.bytes + 8, word.bytes + 128);
            const ForwardedEnd ended =
                run(which % procs, {memory::Operation::add, width, 0, word.address, 0, 2, 0});
            ASSERT_EQ(ended.code, base::Code::ok) << ended.message;
            std::memcpy(&value, word.bytes, 8);
            ASSERT_EQ(value, 42U);
            ASSERT_TRUE(std::equal(beyond.begin(), beyond.end(), word.bytes + 8));
        }
    }
    const ForwardedEnd ended =
        run(0, {memory::Operation::add, 8, 0, rank(1).own.address + 4, 0, 2, 0});
    EXPECT_EQ(ended.code, base::Code::alignment);
    EXPECT_EQ(ended.message.rfind("the source is", 0), 0U) << ended.message;
}

TEST_P(ForwarderTest, refuses_addresses_that_name_nothing) {
    const memory::GlobalAddress good = rank(1).own.address;
    const memory::GlobalAddress beyond = good + private_bytes - 7;
    for (const auto& [target, source, side] :
         {std::tuple{good, memory::GlobalAddress{0}, "the source is the null"},
          {memory::GlobalAddress{0}, good, "the target is the null"},
          {good, beyond, "the source is 8 bytes"},
          {beyond, good, "the target is 8 bytes"}}) {
        const ForwardedEnd ended = run(0, copy(target, source, 8));
        EXPECT_EQ(ended.code, base::Code::address);
        EXPECT_EQ(ended.message.rfind(side, 0), 0U) << ended.message;
    }
}

TEST_P(ForwarderTest, refuses_atomics_on_addresses_that_are_not_aligned) {
    const Memory memory = rank(1).own;
    for (const auto& [target, source] : {std::pair{64, 4}, {4, 64}, {64, 1}}) {
        const ForwardedEnd ended =
            run(0, {memory::Operation::add, 8, memory.address + static_cast<unsigned>(target),
                    memory.address + static_cast<unsigned>(source), 0, 1, 0});
        EXPECT_EQ(ended.code, base::Code::alignment);
        EXPECT_NE(ended.message.find("multiple of 8"), std::string::npos) << ended.message;
    }
}

TEST_P(ForwarderTest, a_registration_that_ends_midway_ends_the_copy) {
    for (const bool is_source : {true, false}) {
        std::vector<char> vanishing(3 * mebibyte, 'v');
        const std::uint32_t owner = is_source ? 1 : 2;
        const auto key = rank(owner).registry->add(vanishing.data(), vanishing.size(), 0);
        ASSERT_TRUE(key.is_ok());
        const memory::GlobalAddress source = is_source ? key.value() : rank(1).own.address;
        const memory::GlobalAddress target = is_source ? rank(2).own.address : key.value();
        Forwarder& forwarder = *rank(0).forwarder;
        (void)forwarder.submit(1, copy(target, source, 3 * mebibyte));
        for (int i = 0; i < 10; ++i) poll();
        ASSERT_EQ(forwarder.outstanding(), 1U) << "the copy was over too soon to show anything";
        ASSERT_TRUE(rank(owner).registry->remove(key.value()).is_ok());
        std::fill(vanishing.begin(), vanishing.end(), 'w');
        std::vector<ForwardedEnd> ended;
        while (ended.empty()) {
            poll();
            take_ended(forwarder, ended);
        }
        EXPECT_EQ(ended[0].code, base::Code::stale) << ended[0].message;
        for (int i = 0; i < 1000; ++i) poll();
        EXPECT_EQ(std::count(vanishing.begin(), vanishing.end(), 'w'), std::ptrdiff_t{3 * mebibyte})
            << "bytes landed after the registration ended";
        EXPECT_EQ(run(0, copy(rank(2).own.address, rank(1).own.address, 5000)).code,
                  base::Code::ok);
    }
}

TEST_P(ForwarderTest, a_small_copy_overtakes_a_large_one) {
    Forwarder& forwarder = *rank(0).forwarder;
    (void)forwarder.submit(1, copy(rank(2).own.address, rank(1).own.address, 4 * mebibyte));
    poll();
    (void)forwarder.submit(2, copy(rank(2).own.address, rank(1).own.address, 3000));
    std::vector<ForwardedEnd> ended;
    while (ended.size() < 2) {
        poll();
        take_ended(forwarder, ended);
    }
    EXPECT_EQ(ended[0].token, 2U);
    EXPECT_EQ(ended[1].token, 1U);
}

TEST_P(ForwarderTest, thousands_of_commands_to_one_process_all_end_once) {
    constexpr std::uint64_t all = 5000;
    Forwarder& forwarder = *rank(0).forwarder;
    for (std::uint64_t token = 0; token < all; ++token) {
        const bool is_put = token % 2 == 0;
        const memory::GlobalAddress theirs = rank(1).own.address + token * 8;
        const memory::GlobalAddress mine = rank(0).own.address + token * 8;
        (void)forwarder.submit(token,
                               copy(is_put ? theirs : mine, is_put ? mine : theirs, token % 8 + 1));
    }
    EXPECT_EQ(forwarder.outstanding(), all);
    std::vector<ForwardedEnd> ended;
    while (forwarder.outstanding() > 0) poll();
    take_ended(forwarder, ended);
    ASSERT_EQ(ended.size(), all);
    std::sort(ended.begin(), ended.end(),
              [](const ForwardedEnd& a, const ForwardedEnd& b) { return a.token < b.token; });
    for (std::uint64_t token = 0; token < all; ++token) {
        ASSERT_EQ(ended[token].token, token);
        ASSERT_EQ(ended[token].code, base::Code::ok);
    }
}

TEST_P(ForwarderTest, a_stopped_process_holds_up_only_what_needs_it) {
    is_stopped_[1] = true;
    Forwarder& forwarder = *rank(0).forwarder;
    for (std::uint64_t token = 0; token < 300; ++token) {
        (void)forwarder.submit(token, token % 2 == 0
                                          ? copy(rank(1).own.address, rank(0).own.address, 5000)
                                          : copy(rank(0).own.address, rank(1).own.address, 5000));
    }
    for (int i = 0; i < 50; ++i) poll();
    EXPECT_FALSE(forwarder.has_work()) << "messages that wait for room are no work";
    (void)forwarder.submit(1000, copy(rank(2).own.address, rank(0).own.address, mebibyte));
    std::vector<ForwardedEnd> ended;
    while (ended.empty()) {
        poll();
        take_ended(forwarder, ended);
    }
    EXPECT_EQ(ended[0].token, 1000U);
    EXPECT_EQ(forwarder.outstanding(), 300U);
    is_stopped_[1] = false;
    while (forwarder.outstanding() > 0) poll();
    EXPECT_FALSE(forwarder.has_work());
}

TEST_P(ForwarderTest, commands_that_need_a_dead_process_end_with_its_fate) {
    is_stopped_[1] = true;
    Forwarder& forwarder = *rank(0).forwarder;
    std::map<std::uint64_t, base::Code> wanted;
    const auto submit = [&](const memory::Command& command, base::Code code) {
        wanted[++token_] = code;
        (void)forwarder.submit(token_, command);
    };
    const memory::GlobalAddress dead = rank(1).own.address;
    const memory::GlobalAddress mine = rank(0).own.address;
    const memory::GlobalAddress other = rank(2).own.address;
    for (int i = 0; i < 200; ++i) {
        submit(copy(dead, mine, 5000), base::Code::peer);
        submit(copy(mine, dead, 8), base::Code::peer);
        submit(copy(dead, other, 5000), base::Code::peer);
        submit({memory::Operation::add, 8, mine, dead, 0, 1, 0}, base::Code::peer);
        submit({memory::Operation::add, 8, dead, other, 0, 1, 0}, base::Code::peer);
        submit(copy(other, mine, 100), base::Code::ok);
        (void)rank(2).forwarder->submit(1, copy(mine, dead, 100));
    }
    for (int i = 0; i < 20; ++i) poll();
    kill(1);
    for (int i = 0; i < 50; ++i) submit(copy(mine, dead, 8), base::Code::peer);
    std::vector<ForwardedEnd> ended;
    while (forwarder.outstanding() > 0) poll();
    take_ended(forwarder, ended);
    for (const ForwardedEnd& one : ended) {
        ASSERT_EQ(one.code, wanted.at(one.token)) << one.message;
        if (one.code == base::Code::peer) {
            ASSERT_EQ(one.message.rfind("rank 1 (process ", 0), 0U) << one.message;
            ASSERT_NE(one.message.find("SIGKILL"), std::string::npos) << one.message;
        }
        wanted.erase(one.token);
    }
    EXPECT_TRUE(wanted.empty());
    while (rank(2).forwarder->outstanding() > 0) poll();
    EXPECT_FALSE(forwarder.has_work());
    EXPECT_EQ(run(0, copy(other, mine, mebibyte)).code, base::Code::ok);
}

TEST_P(ForwarderTest, completions_of_no_command_and_messages_of_another_epoch_change_nothing) {
    Forwarder& forwarder = *rank(0).forwarder;
    is_stopped_[1] = true;
    (void)forwarder.submit(5, copy(rank(0).own.address, rank(1).own.address, 8));
    poll();
    Port& port = *rank(2).port;
    const auto post = [&port](MessageHead head, std::span<const char> payload) {
        ASSERT_TRUE(port.send(0, head, payload));
    };
    MessageHead end;
    end.kind = MessageKind::end;
    end.epoch = test_epoch;
    end.token = 0x7777'0000'0000ULL;
    post(end, {});
    end.token = ~0ULL;
    post(end, {});
    MessageHead old;
    old.kind = MessageKind::data;
    old.epoch = test_epoch + 1;
    old.is_last = 1;
    old.target = rank(0).own.address;
    std::memset(rank(0).own.bytes, 'a', 8);
    post(old, std::span("zzzzzzzz", 8));
    for (int i = 0; i < 100; ++i) poll();
    EXPECT_EQ(forwarder.outstanding(), 1U);
    EXPECT_EQ(rank(0).own.bytes[0], 'a');
    is_stopped_[1] = false;
    while (forwarder.outstanding() > 0) poll();
}

TEST_P(ForwarderTest, reports_each_move_and_its_initiator_to_an_observer) {
    std::uint64_t bytes = 0;
    std::uint64_t atomics = 0;
    for (std::uint32_t slot = 0; slot < procs; ++slot) {
        rank(slot).forwarder->set_observer(
            [&](const memory::Command& command, std::uint32_t origin) {
                EXPECT_EQ(origin, 0U);
                (command.is_copy() ? bytes : atomics) += command.is_copy() ? command.bytes : 1;
            });
    }
    run(0, copy(rank(2).own.address, rank(1).own.address, 10'000));
    run(0, {memory::Operation::add, 8, rank(0).own.address, rank(1).own.address, 0, 1, 0});
    EXPECT_EQ(bytes, 10'000U);
    EXPECT_EQ(atomics, 1U);
}

std::vector<Kind> forwarder_kinds() {
    std::vector<Kind> kinds(std::begin(all_kinds), std::end(all_kinds));
    kinds.push_back(automatic);
    return kinds;
}

INSTANTIATE_TEST_SUITE_P(over, ForwarderTest, testing::ValuesIn(forwarder_kinds()), name_of);

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
