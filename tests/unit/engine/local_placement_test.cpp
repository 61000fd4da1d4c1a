// SPDX-License-Identifier: BSD-3-Clause
// The placement over a node of two ranks that are objects of this process: every kind of memory,
// reached by loads and stores, through the kernel, and by its owner; refusals, vanishing memory,
// deaths. One thread polls for all.
#include "engine/local_placement.hpp"

#include <cstring>
#include <map>

#include "local/attach.hpp"
#include "node/death.hpp"
#include "os/process.hpp"

#include "support/operation_library.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "unit/gateway/test_job.hpp"
#include "unit/mailbox/test_rank.hpp"

namespace acp::engine::test {
namespace {

using base::Code;
using local::test::Kind;
using mailbox::test::Memory;
using mailbox::test::Rank;
using memory::Command;
using memory::Operation;
using router::Settlement;
using router::SettlementState;

constexpr std::uint32_t ranks = 2;
constexpr std::uint32_t gateway_slot = ranks;
constexpr std::uint64_t mebibyte = 1024 * 1024;

// How the gateway reaches private memory.
struct Reached {
    Kind kind;
    bool has_attach;
};

constexpr Reached all_ways[] = {
    {{"attach", base::IntraNode::automatic, base::MailboxKind::mpsc}, true},
    {{"mpsc", base::IntraNode::automatic, base::MailboxKind::mpsc}, false},
    {{"forced_mpsc", base::IntraNode::mailbox, base::MailboxKind::mpsc}, false},
    {{"pairs", base::IntraNode::mailbox, base::MailboxKind::pairs}, false},
    {{"bitmap", base::IntraNode::mailbox, base::MailboxKind::bitmap}, false},
    {{"udp", base::IntraNode::udp, base::MailboxKind::mpsc}, false},
};

gateway::test::JobOptions options_of(const Reached& reached) {
    gateway::test::JobOptions options;
    options.counts = {ranks, 1};
    options.kind = reached.kind;
    return options;
}

class PlacementTest : public testing::TestWithParam<Reached> {
protected:
    PlacementTest()
        : segment_(gateway::test::make_segment(options_of(GetParam()), 0)),
          hazards_(segment_, gateway_slot),
          attach_(segment_, gateway_slot, true) {
        acp::test::arm_watchdog(120, "a placement test");
        const bool is_forced = GetParam().kind.intranode != base::IntraNode::automatic;
        for (std::uint32_t slot = 0; slot < ranks; ++slot) {
            ranks_.push_back(std::make_unique<Rank>(segment_, slot, is_forced, false));
            tokens_.push_back(std::make_unique<local::Attach>(segment_, slot, true));
            tokens_.back()->publish_token();
        }
        EXPECT_TRUE(space_.open(segment_, gateway_slot, {!is_forced, true}, nullptr).is_ok());
        auto port = mailbox::Port::open(segment_, gateway_slot);
        EXPECT_TRUE(port.is_ok());
        port_ = std::move(port).value();
        const LocalPlacement::Parts parts{&space_, &hazards_,
                                          GetParam().has_attach ? &attach_ : nullptr, port_.get(),
                                          &acp::test::operation_table};
        placement_ = std::make_unique<LocalPlacement>(parts);
        placement_->bind([this](Ticket ticket, Code code, std::uint64_t value) {
            EXPECT_TRUE(settled_.emplace(ticket, SettledAccess{ticket, code, value}).second);
        });
    }

    ~PlacementTest() override { acp::test::arm_watchdog(0, ""); }

    // Runs something that may be taken until it settles.
    template <typename Action>
    SettledAccess finish(Action&& action) {
        const Ticket ticket = ++ticket_;
        Settlement outcome = action(ticket);
        while (outcome.progress == SettlementState::refused) {
            poll();
            outcome = action(ticket);
        }
        if (outcome.progress == SettlementState::settled) return {ticket, outcome.code, old_};
        while (!settled_.contains(ticket)) poll();
        const SettledAccess one = settled_[ticket];
        settled_.erase(ticket);
        return one;
    }

    void poll() {
        placement_->poll();
        for (std::uint32_t slot = 0; slot < ranks; ++slot) {
            if (!is_stopped_[slot]) ranks_[slot]->forwarder->poll();
        }
    }

    Code put(GlobalAddress target, std::span<const char> bytes) {
        return finish([&](Ticket ticket) {
                   return placement_->put(target, std::as_bytes(bytes), ticket);
               })
            .code;
    }

    Code get(GlobalAddress source, std::span<char> into) {
        return finish([&](Ticket ticket) {
                   return placement_->get(source, std::as_writable_bytes(into), ticket);
               })
            .code;
    }

    SettledAccess run(const Command& command, bool is_value_wanted) {
        return finish(
            [&](Ticket ticket) { return placement_->run(command, is_value_wanted, old_, ticket); });
    }

    void fill(std::span<char> bytes) {
        for (char& byte : bytes) byte = static_cast<char>(random_.next());
    }

    const Memory& memory(std::uint32_t slot, bool is_private) {
        return ranks_[slot]->memory(is_private);
    }

    node::Segment segment_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::vector<std::unique_ptr<local::Attach>> tokens_;
    local::Space space_;
    local::Hazards hazards_;
    local::Attach attach_;
    std::unique_ptr<mailbox::Port> port_;
    std::unique_ptr<LocalPlacement> placement_;
    std::map<Ticket, SettledAccess> settled_;
    bool is_stopped_[ranks] = {};
    Ticket ticket_ = 100;
    std::uint64_t old_ = 0;
    acp::test::Random random_{42};
};

TEST_P(PlacementTest, puts_and_gets_bytes_of_every_kind_of_memory) {
    for (const bool is_private : {false, true}) {
        const Memory there = memory(1, is_private);
        for (const std::uint64_t bytes :
             {1ULL, 8ULL, 100ULL, 1408ULL, 1409ULL, 9000ULL, 65000ULL}) {
            std::vector<char> data(bytes);
            std::vector<char> back(bytes + 1, 'e');
            fill(data);
            there.bytes[15] = there.bytes[16 + bytes] = 'e';
            ASSERT_EQ(put(there.address + 16, data), Code::ok) << bytes;
            ASSERT_EQ(std::memcmp(there.bytes + 16, data.data(), bytes), 0) << bytes;
            EXPECT_EQ(there.bytes[15], 'e');
            EXPECT_EQ(there.bytes[16 + bytes], 'e');
            ASSERT_EQ(get(there.address + 16, std::span(back).first(bytes)), Code::ok) << bytes;
            ASSERT_EQ(std::memcmp(back.data(), data.data(), bytes), 0) << bytes;
            EXPECT_EQ(back[bytes], 'e');
        }
    }
}

TEST_P(PlacementTest, reads_at_once_what_is_mapped_and_refuses_rather_than_to_ask_an_owner) {
    std::vector<std::byte> into(64);
    memory(0, false).bytes[5] = 'm';
    ASSERT_EQ(placement_->get_now(memory(0, false).address, into).progress,
              SettlementState::settled);
    EXPECT_EQ(into[5], std::byte{'m'});
    EXPECT_EQ(placement_->get_now(memory(0, true).address, into).progress,
              SettlementState::refused);
    EXPECT_EQ(placement_->get_now(0, into).code, Code::address);
    std::vector<std::byte> large(5000);
    memory(0, true).bytes[4999] = 'l';
    const Settlement outcome = placement_->get_now(memory(0, true).address, large);
    EXPECT_EQ(outcome.progress,
              GetParam().has_attach ? SettlementState::settled : SettlementState::refused);
    EXPECT_EQ(large[4999], GetParam().has_attach ? std::byte{'l'} : std::byte{0});
}

TEST_P(PlacementTest, bytes_that_were_taken_may_be_forgotten_by_the_caller) {
    const Memory there = memory(1, true);
    std::vector<char> data(1000, 'a');
    const Ticket ticket = ++ticket_;
    const Settlement outcome =
        placement_->put(there.address, std::as_bytes(std::span(data)), ticket);
    ASSERT_EQ(outcome.progress, SettlementState::accepted);
    std::fill(data.begin(), data.end(), 'b');
    while (!settled_.contains(ticket)) poll();
    EXPECT_EQ(settled_[ticket].code, Code::ok);
    EXPECT_EQ(there.bytes[0], 'a');
    EXPECT_EQ(there.bytes[999], 'a');
}

TEST_P(PlacementTest, many_short_copies_to_and_from_several_granules_all_settle) {
    constexpr std::uint64_t count = 500;
    std::vector<char> data(count * 24);
    std::vector<char> back(count * 24);
    fill(data);
    const auto all = [&](auto&& one) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const GlobalAddress address = memory(i % 2, true).address + i * 24;
            while (one(i, address).progress == SettlementState::refused) poll();
            if (i % 100 == 99) placement_->flush();
        }
        while (settled_.size() < count) poll();
        for (const auto& [ticket, end] : settled_) EXPECT_EQ(end.code, Code::ok);
        settled_.clear();
    };
    all([&](std::uint64_t i, GlobalAddress address) {
        return placement_->put(address, std::as_bytes(std::span(data).subspan(i * 24, 24)), 1 + i);
    });
    all([&](std::uint64_t i, GlobalAddress address) {
        return placement_->get(address, std::as_writable_bytes(std::span(back).subspan(i * 24, 24)),
                               1 + i);
    });
    EXPECT_EQ(data, back);
}

TEST_P(PlacementTest, copies_within_the_node_between_all_kinds_of_memory) {
    for (std::uint32_t which = 0; which < 16; ++which) {
        const Memory source = memory(which & 1, (which & 2) != 0);
        const Memory target = memory(which >> 2 & 1, (which & 8) != 0);
        for (const std::uint64_t bytes : {0ULL, 8ULL, 1409ULL, 1500ULL * 1024}) {
            fill({source.bytes, std::min<std::uint64_t>(bytes, 3000)});
            const std::uint64_t at = 2 * mebibyte;  // the two may be the same memory
            const SettledAccess end =
                run({Operation::copy, 0, target.address + at, source.address, bytes, 0, 0}, false);
            ASSERT_EQ(end.code, Code::ok) << which << " " << bytes;
            ASSERT_EQ(std::memcmp(target.bytes + at, source.bytes, bytes), 0)
                << which << " " << bytes;
        }
    }
}

TEST_P(PlacementTest, an_atomic_gives_its_old_value_or_stores_it_on_the_node) {
    for (const bool is_private : {false, true}) {
        for (const bool is_target_private : {false, true}) {
            const Memory word = memory(1, is_private);
            const Memory target = memory(0, is_target_private);
            std::uint64_t value = 40;
            std::memcpy(word.bytes + 64, &value, 8);
            Command command{Operation::add, 8, target.address + 128, word.address + 64, 8, 2, 0};
            const SettledAccess wanted = run(command, true);
            ASSERT_EQ(wanted.code, Code::ok);
            EXPECT_EQ(wanted.value, 40U);
            ASSERT_EQ(run(command, false).code, Code::ok);
            std::memcpy(&value, word.bytes + 64, 8);
            EXPECT_EQ(value, 44U);
            std::memcpy(&value, target.bytes + 128, 8);
            EXPECT_EQ(value, 42U);
            Command bare = command;
            bare.target = 0;
            ASSERT_EQ(run(bare, false).code, Code::ok);
            std::memcpy(&value, word.bytes + 64, 8);
            EXPECT_EQ(value, 46U);
            command.source += 2;
            EXPECT_EQ(run(command, true).code, Code::alignment);
        }
    }
}

// An owner is no longer dumpable: the kernel refuses copies that it allowed before, and
// the owner lives.
TEST_P(PlacementTest, what_the_kernel_refuses_later_on_is_moved_by_the_owner) {
    if (!GetParam().has_attach) GTEST_SKIP() << "the kernel is not asked";
    const Memory own = memory(1, true);
    const Memory word = memory(0, false);
    const std::uint64_t value = 40;
    std::memcpy(word.bytes + 64, &value, 8);
    const auto refuse = [&] {
        attach_.~Attach();
        new (&attach_) local::Attach(segment_, gateway_slot, true);
        segment_.slot(1).pid.store(static_cast<std::uint32_t>(os::own_pid()));
        ASSERT_TRUE(attach_.can_reach(1));
        segment_.slot(1).pid.store(0x7ffffff0);  // no process has it
    };
    refuse();
    std::vector<char> data(8 * 100);
    std::vector<char> back(data.size());
    fill(data);
    std::map<Ticket, Code> seen;
    const auto all = [&](auto&& one) {
        for (std::size_t i = 0; i < 100; ++i) {
            const Ticket ticket = ++ticket_;
            while (one(i * 8, ticket).progress == SettlementState::refused) poll();
            seen[ticket] = Code::system;
        }
        while (settled_.size() < seen.size()) poll();
        for (const auto& [ticket, end] : settled_) EXPECT_EQ(end.code, Code::ok) << ticket;
        settled_.clear();
        seen.clear();
    };
    all([&](std::size_t at, Ticket ticket) {
        return placement_->put(own.address + at, std::as_bytes(std::span(data)).subspan(at, 8),
                               ticket);
    });
    EXPECT_EQ(0, std::memcmp(own.bytes, data.data(), data.size()));
    EXPECT_FALSE(attach_.can_reach(1));
    refuse();
    all([&](std::size_t at, Ticket ticket) {
        return placement_->get(own.address + at,
                               std::as_writable_bytes(std::span(back)).subspan(at, 8), ticket);
    });
    EXPECT_EQ(data, back);
    refuse();  // an atomic's word was changed before its old value finds no way
    EXPECT_EQ(run({Operation::add, 8, own.address + 8, word.address + 64, 8, 2, 0}, false).code,
              Code::ok);
    EXPECT_EQ(0, std::memcmp(own.bytes + 8, &value, 8));
    refuse();
    EXPECT_EQ(run({Operation::copy, 0, own.address + 64, word.address + 64, 8, 0, 0}, false).code,
              Code::ok);
    EXPECT_EQ(0, std::memcmp(own.bytes + 64, word.bytes + 64, 8));
}

// Moving what was collected would take the atomic's addresses out of the hazard line that names
// them.
TEST_P(PlacementTest, an_atomic_waits_for_a_full_batch_to_move) {
    if (!GetParam().has_attach) GTEST_SKIP() << "nothing is collected";
    const Memory own = memory(1, true);
    const Memory word = memory(0, false);
    const std::uint64_t value = 40;
    std::memcpy(word.bytes + 64, &value, 8);
    for (std::uint32_t i = 0; i < local::attach_batch_max; ++i) {
        ASSERT_EQ(placement_
                      ->put(own.address + 64 + std::uint64_t{i} * 8,
                            std::as_bytes(std::span(&value, 1)), ++ticket_)
                      .progress,
                  SettlementState::accepted);
    }
    const Command command{Operation::add, 8, own.address, word.address + 64, 8, 2, 0};
    EXPECT_EQ(placement_->run(command, false, old_, ++ticket_).progress, SettlementState::refused);
    EXPECT_EQ(0, std::memcmp(word.bytes + 64, &value, 8)) << "it has not run";
    EXPECT_EQ(run(command, false).code, Code::ok);
    EXPECT_EQ(0, std::memcmp(own.bytes, &value, 8));
}

TEST_P(PlacementTest, what_no_rank_could_have_asked_for_is_refused) {
    std::vector<char> data(64);
    for (const bool is_private : {false, true}) {
        const GlobalAddress start = memory(1, is_private).address;
        const std::uint64_t size = is_private ? mailbox::test::private_bytes : 4 * mebibyte;
        EXPECT_EQ(put(start + size - 63, data), Code::address);
        EXPECT_EQ(get(start + size, data), Code::address);
    }
    EXPECT_EQ(put(0, data), Code::address);
    EXPECT_EQ(get(~0ULL, data), Code::address);
    const GlobalAddress start = memory(0, false).address;
    Command command{static_cast<Operation>(9), 8, start, start, 8, 0, 0};
    EXPECT_EQ(run(command, false).code, Code::argument);
    command.operation = Operation::swap;
    command.width = 3;
    EXPECT_EQ(run(command, true).code, Code::argument);
}

TEST_P(PlacementTest, a_command_that_fails_at_once_names_the_wrong_address) {
    const auto expect_blamed = [this](GlobalAddress good, GlobalAddress bad, Code code) {
        for (const Operation operation : {Operation::copy, Operation::swap}) {
            Command command{operation, 8, bad, good, 8, 0, 0};
            const Settlement at_target = placement_->run(command, false, old_, ++ticket_);
            EXPECT_EQ(at_target.code, code);
            EXPECT_EQ(at_target.blamed, router::BlamedAddress::target);
            std::swap(command.target, command.source);
            const Settlement at_source = placement_->run(command, false, old_, ++ticket_);
            EXPECT_EQ(at_source.code, code);
            EXPECT_EQ(at_source.blamed, router::BlamedAddress::source);
        }
    };
    const GlobalAddress good = memory(0, false).address;
    expect_blamed(good, memory(0, false).address + 4 * mebibyte, Code::address);
    node::mark_dead(segment_, 1, 9);
    expect_blamed(good, memory(1, true).address, Code::peer);
}

TEST_P(PlacementTest, memory_that_was_unregistered_is_stale) {
    std::vector<char> data(64);
    const GlobalAddress own = memory(1, true).address;
    ASSERT_EQ(put(own, data), Code::ok);
    const Ticket ticket = ++ticket_;
    ASSERT_EQ(placement_->put(own, std::as_bytes(std::span(data)), ticket).progress,
              SettlementState::accepted);
    ASSERT_TRUE(ranks_[1]->registry->remove(own).is_ok());
    while (!settled_.contains(ticket)) poll();
    EXPECT_EQ(settled_[ticket].code, Code::stale);
    EXPECT_EQ(get(own, data), Code::stale);
}

TEST_P(PlacementTest, the_dead_leave_their_shared_memory_and_take_their_private_memory_along) {
    std::vector<char> data(64, 'd');
    const Ticket ticket = ++ticket_;
    is_stopped_[1] = true;
    ASSERT_EQ(
        placement_->put(memory(1, true).address, std::as_bytes(std::span(data)), ticket).progress,
        SettlementState::accepted);
    node::mark_dead(segment_, 1, 9);
    placement_->on_death(1);
    while (!settled_.contains(ticket)) poll();
    EXPECT_EQ(settled_[ticket].code, Code::peer);
    EXPECT_EQ(get(memory(1, true).address, data), Code::peer);
    EXPECT_EQ(put(memory(1, false).address, data), Code::ok);
    EXPECT_EQ(memory(1, false).bytes[63], 'd');
}

TEST_P(PlacementTest, an_owner_that_takes_nothing_gets_no_more_than_a_bounded_number_of_calls) {
    if (GetParam().has_attach) GTEST_SKIP() << "the kernel moves the bytes: owners are not asked";
    is_stopped_[1] = true;
    std::vector<char> data(5000, 'x');
    std::uint32_t taken = 0;
    while (placement_
               ->put(memory(1, true).address + taken * 5000, std::as_bytes(std::span(data)),
                     1000 + taken)
               .progress == SettlementState::accepted) {
        ASSERT_LE(++taken, calls_max);
        placement_->poll();
    }
    EXPECT_GE(taken, 1U);
    std::vector<char> other(8, 'y');
    EXPECT_EQ(put(memory(0, true).address, other), Code::ok);  // another owner is not held up
    is_stopped_[1] = false;
    while (settled_.size() < taken) poll();
    for (std::uint32_t i = 0; i < taken; ++i) {
        EXPECT_EQ(settled_[1000 + i].code, Code::ok);
        EXPECT_EQ(memory(1, true).bytes[i * 5000 + 4999], 'x');
    }
}

TEST_P(PlacementTest, numbered_operations_run_on_memory_that_is_mapped_here) {
    std::vector<std::byte> result(router::invoke_bytes_max);
    std::uint32_t bytes = 0;
    const auto invoke = [&](std::uint32_t number, std::uint32_t process, const auto& arguments) {
        return placement_->invoke(number, process, acp::test::bytes_of(arguments), result, bytes)
            .code;
    };
    const acp::test::AddBelow shared{memory(1, false).address, 3, 100};
    EXPECT_EQ(invoke(acp::test::add_below_number, 1, shared), Code::ok);
    EXPECT_EQ(bytes, sizeof(acp::test::AddedBelow));
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(memory(1, false).bytes), 3U);
    const acp::test::AddBelow own{memory(1, true).address, 3, 100};
    EXPECT_EQ(invoke(acp::test::add_below_number, 1, own), Code::unsupported)
        << "private memory of a process is that process's";
    EXPECT_EQ(invoke(1, 1, shared), Code::unsupported) << "there is no such operation";
    EXPECT_EQ(invoke(acp::test::add_below_number, 100, shared), Code::argument);
    EXPECT_EQ(invoke(acp::test::append_number, 1, shared), Code::argument) << "too many arguments";
    EXPECT_EQ(placement_->result_bytes_max(acp::test::append_number), 8U);
    EXPECT_EQ(placement_->result_bytes_max(1), 0U);
    ASSERT_EQ(invoke(acp::test::add_below_number, 1, shared), Code::ok) << "the line was left";
}

TEST_P(PlacementTest, what_an_operation_leaves_for_later_runs_once_a_round) {
    std::uint32_t bytes = 0;
    acp::test::repeats_left = 3;
    EXPECT_EQ(placement_->invoke(acp::test::repeat_number, 1, {}, {}, bytes).code, Code::ok);
    for (std::uint32_t left = 2; left > 0; --left) {
        EXPECT_EQ(acp::test::repeats_left, left);
        EXPECT_TRUE(placement_->has_later());
        EXPECT_TRUE(placement_->has_work());
        EXPECT_TRUE(placement_->poll());
    }
    EXPECT_TRUE(placement_->poll());
    EXPECT_FALSE(placement_->has_later()) << "it asks for nothing more";
    acp::test::repeats_left = 3;
    EXPECT_EQ(placement_->invoke(acp::test::repeat_number, 1, {}, {}, bytes).code, Code::ok);
    placement_->drop_later();
    EXPECT_FALSE(placement_->has_later());
    EXPECT_EQ(acp::test::repeats_left, 2U);
}

std::string name_of(const testing::TestParamInfo<Reached>& info) {
    return info.param.kind.name;
}

INSTANTIATE_TEST_SUITE_P(by, PlacementTest, testing::ValuesIn(all_ways), name_of);

}  // namespace
}  // namespace acp::engine::test
