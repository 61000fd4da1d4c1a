// SPDX-License-Identifier: BSD-3-Clause
// Random programs without data races, over plain memory: 3 nodes of 2 ranks of 2 threads write and
// read bytes of the same pages between barriers, while homes migrate, ranks flush early, fence and evict
// pages, and requests arrive in any order. Each read sees what the model of the program says. Each
// defect that is planted into the protocol is found in at most 10 epochs of a program.
// ACP_TEST_SEED repeats a program; TEST_SEEDS sets how many run.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>

#include "dsm/page_fence.hpp"

#include "support/race_free_program.hpp"
#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint32_t nodes = 3;
constexpr std::size_t ranks = 2;      // ranks of one node
constexpr std::uint32_t threads = 2;  // threads of one rank
constexpr auto actors = static_cast<std::uint32_t>(nodes * ranks * threads);
constexpr std::uint64_t pages_count = 6;
constexpr std::uint64_t epochs = 10;
constexpr std::size_t window_bytes = pages_count * pages::page_bytes;

using acp::test::Access;
using acp::test::RaceFreeProgram;
using acp::test::Random;

// The mapping of one rank, as its tracker keeps it.
struct FakeRank {
    FakeRank(FakeNode& node_of_rank, pages::SlotNumber slot_of_rank)
        : node(node_of_rank),
          slot(slot_of_rank),
          flusher(node.parts(slot), operations::difference_code()),
          fence(node.parts(slot), flusher),
          fetcher(node.parts(slot), node.loss) {}

    FakeNode& node;
    pages::SlotNumber slot;
    Flusher flusher;
    PageFence fence;
    PageFetcher fetcher;
    FakeMeeting meeting{threads};
    std::array<bool, pages_count> is_mapped{};
    std::array<bool, pages_count> is_tracked{};
    std::array<bool, pages_count> is_written{};
    std::array<std::uint32_t, pages_count> entered{};  // threads in a fault (dsm/mapped_pages.hpp)
};

// The outcome of one program.
struct ProtocolRun {
    std::string failure;
    std::uint64_t epochs_ended = 0;
    std::uint64_t moved = 0;
    std::uint64_t repeated = 0;
    std::uint64_t evicted = 0;
    std::uint64_t kept = 0;
    std::uint64_t updated = 0;
    std::uint64_t fenced = 0;
};

class ProtocolScene {
public:
    ProtocolScene(std::uint64_t seed, Defect defect)
        : seed_(seed),
          defect_(defect),
          program_(seed, {pages_count, epochs, actors}),
          random_(seed + 1) {
        const pages::HomeRule rule{
            random_.chance(50) ? pages::HomePolicy::cyclic : pages::HomePolicy::fixed,
            random_.chance(75), random_.between(1, 3), 0};
        for (std::uint32_t node = 0; node < nodes; ++node) {
            nodes_.push_back(std::make_unique<FakeNode>(nodes_, node, nodes, pages_count, defect,
                                                        random_.next()));
            nodes_.back()->assign(rule);
            meetings_.emplace_back(static_cast<std::uint32_t>(ranks));
            for (pages::SlotNumber slot = 0; slot < ranks; ++slot) {
                ranks_.push_back(std::make_unique<FakeRank>(*nodes_.back(), slot));
            }
        }
    }

    ProtocolRun run() {
        std::vector<std::function<void()>> fibers;
        for (std::uint32_t actor = 0; actor < actors; ++actor) {
            fibers.emplace_back([this, actor] { act(actor); });
        }
        sched::Options options;
        options.seed = seed_;
        const sched::Outcome outcome = sched::run(options, fibers);
        if (outcome_.failure.empty()) outcome_.failure = outcome.failure;
        for (const auto& rank : ranks_) outcome_.repeated += rank->fetcher.counts().repeated;
        return outcome_;
    }

private:
    void act(std::uint32_t actor) {
        FakeRank& rank = *ranks_[actor / threads];
        for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
            for (const Access& access : program_.of(epoch, actor)) {
                perform(rank, access);
                if (random_.chance(3)) evict(rank, access.place / pages::page_bytes);
                if (random_.chance(2)) flush(rank, access.place / pages::page_bytes);
                if (random_.chance(2)) fence(rank, access.place / pages::page_bytes);
                if (!outcome_.failure.empty()) return;
                if (random_.chance(60)) sched::pause();
            }
            rank.meeting.meet();
            if (actor % threads == 0) {
                barrier(rank);
                outcome_.epochs_ended = epoch + 1;
            }
            rank.meeting.meet();
        }
        if (actor % threads == 0) expect_last(rank);
    }

    void perform(FakeRank& rank, const Access& access) {
        const pages::PageNumber page = access.place / pages::page_bytes;
        map(rank, page);
        std::byte& byte = rank.node.window.plain(page)[access.place % pages::page_bytes];
        if (access.is_write) {
            rank.is_written[page] = true;
            byte = access.value;
        } else if (byte != access.value) {
            fail("reads a wrong byte", rank, access.place);
        }
    }

    void fail(const std::string& what, const FakeRank& rank, std::uint64_t place) {
        if (!outcome_.failure.empty()) return;
        outcome_.failure = "node " + std::to_string(rank.node.window.node()) + " rank " +
                           std::to_string(rank.slot) + " " + what + " of page " +
                           std::to_string(place / pages::page_bytes) + " at " +
                           std::to_string(place % pages::page_bytes) + " in epoch " +
                           std::to_string(rank.node.state.next_epoch()) + ", seed " +
                           std::to_string(seed_);
    }

    // The fault of a page that is not mapped.
    void map(FakeRank& rank, pages::PageNumber page) {
        if (rank.is_mapped[page]) return;
        ++rank.entered[page];
        rank.fetcher.bring({page, 1});
        const bool is_home =
            rank.node.window.page_words().read(page).state == pages::PageState::home;
        if (!rank.is_mapped[page]) {
            rank.is_tracked[page] = !is_home || rank.node.window.sharers().is_tracked(page);
        }
        rank.is_mapped[page] = true;
        --rank.entered[page];
    }

    void harvest(FakeRank& rank, pages::PageNumber page) {
        if (rank.is_mapped[page] && rank.is_tracked[page] && rank.is_written[page]) {
            rank.node.state.add_written({page, 1});
        }
        rank.is_written[page] = false;
    }

    void flush(FakeRank& rank, pages::PageNumber page) {
        if (is_flushing_[index_of(rank)]) return;
        is_flushing_[index_of(rank)] = true;
        harvest(rank, page);
        flush_now(rank, {page, 1});
        is_flushing_[index_of(rank)] = false;
    }

    // Any pages, whether or not the node has copies, while other threads and nodes write them.
    void fence(FakeRank& rank, pages::PageNumber page) {
        if (is_flushing_[index_of(rank)]) return;
        is_flushing_[index_of(rank)] = true;
        EXPECT_TRUE(rank.fence.synchronize({page, random_.between(1, pages_count - page)}).is_ok());
        is_flushing_[index_of(rank)] = false;
        ++outcome_.fenced;
    }

    void flush_now(FakeRank& rank, PageRange pages, bool is_held = false) {
        std::vector<FakePage> twins;
        for (std::uint64_t i = 0; i < pages_count && defect_ == Defect::old_twin; ++i) {
            std::memcpy(twins.emplace_back().bytes.data(), rank.node.window.twin(i).data(),
                        pages::page_bytes);
        }
        EXPECT_TRUE(
            (is_held ? rank.flusher.flush_held(pages.first) : rank.flusher.flush(pages)).is_ok());
        for (std::uint64_t i = 0; i < twins.size(); ++i) {
            std::memcpy(rank.node.window.twin(i).data(), twins[i].bytes.data(), pages::page_bytes);
        }
    }

    // Drops a page that this rank alone maps: unmaps it, flushes it, and gives it back. It stays if a
    // thread faults on it, or another rank has claimed its group.
    void evict(FakeRank& rank, pages::PageNumber page) {
        const FakeNode& node = rank.node;
        const pages::PageWords<> words = node.window.page_words();
        if (is_flushing_[index_of(rank)]) return;
        const auto none_is_dead = [](pages::SlotNumber) { return false; };
        const auto before = words.begin_drop(page, rank.slot, none_is_dead);
        if (!before) return;
        const bool was_mapped = rank.is_mapped[page];
        if (before->state == pages::PageState::valid && rank.entered[page] == 0) drop(rank, page);
        if (before->state != pages::PageState::valid || rank.entered[page] != 0 ||
            (node.state.to_flush(0) >> page & 1) != 0) {
            rank.is_mapped[page] = was_mapped;
            words.cancel_drop(page, rank.slot, *before);
        } else {
            node.window.clock().remove(page);
            std::memset(node.window.plain(page).data(), 0xee, pages::page_bytes);
            (void)words.abandon(page, rank.slot);
            ++outcome_.evicted;
        }
        sched::wake_all(&words.word(page));
    }

    void drop(FakeRank& rank, pages::PageNumber page) {
        is_flushing_[index_of(rank)] = true;
        if (defect_ != Defect::dirty_page_is_evicted) harvest(rank, page);
        rank.is_written[page] = false;
        rank.is_mapped[page] = false;
        flush_now(rank, {page, 1}, true);
        is_flushing_[index_of(rank)] = false;
    }

    [[nodiscard]] static std::size_t index_of(const FakeRank& rank) {
        return rank.node.window.node() * ranks + rank.slot;
    }

    void barrier(FakeRank& rank) {
        FakeMeeting& meeting = meetings_[rank.node.window.node()];
        for (pages::PageNumber page = 0; page < pages_count; ++page) harvest(rank, page);
        meeting.meet();
        flush_now(rank, {0, pages_count});
        meeting.meet();
        if (rank.slot == 0) settle(rank.node);
        meeting.meet();
        const bool has_all = rank.node.state.for_each_fate(
            [&](const pages::FateRun& run) { change_mapping(rank, run); });
        EXPECT_TRUE(has_all);
        if (random_.chance(50)) update(rank);
    }

    // Fetches some of the pages that the rank lacks, and maps them.
    void update(FakeRank& rank) {
        std::vector<PageRange> again;
        for (pages::PageNumber page = 0; page < pages_count; ++page) {
            if (!rank.is_mapped[page] && random_.chance(50)) again.push_back({page, 1});
        }
        EXPECT_TRUE(rank.fetcher.fetch(again).is_ok());
        for (const PageRange page : again) map(rank, page.first);
        outcome_.updated += again.size();
    }

    // The leader's steps.
    void settle(FakeNode& node) {
        const std::uint64_t epoch = node.state.next_epoch();
        const pages::NodeNumber number = node.window.node();
        pages::BarrierDecision<> decision(number, node.window.page_words(), node.window.homes(),
                                          node.window.sharers());
        node.window.sharers().take(epoch, [](pages::PageNumber, pages::NodeNumber) {});
        pages::NoticeMerger own;
        node.state.for_each_flushed(
            [&](pages::PageNumber page) { own.add(decision.notice_of_write(page), number); });
        node.window.sharers().for_each_due([&](pages::PageNumber page) {
            if (defect_ == Defect::sharers_get_no_notice) return;
            own.add({page, 1, pages::notice_shared}, number);
        });
        const auto bytes = own.encode();
        notices_[epoch % 2][number].assign(bytes.begin(), bytes.end());
        leaders_.meet();
        pages::NoticeMerger all;
        for (pages::NodeNumber i = 0; i < nodes; ++i) {
            const auto parsed = pages::Notices::parse(notices_[epoch % 2][i], pages_count);
            EXPECT_TRUE(parsed.has_value());
            if (parsed) all.add(*parsed, i);
        }
        const auto merged = all.merge();
        const auto fates = decision.settle(merged, epoch);
        for (const pages::FateRun& run : fates) {
            if (run.fate == pages::PageFate::gained) outcome_.moved += run.count;
        }
        for (const pages::MergedRun& run : merged) {
            outcome_.kept += run.writer == number ? run.count : 0;
        }
        node.state.set_fates(with_defect(fates));
        node.state.clear_flushed();
        node.state.end_epoch(epoch);
    }

    // Takes some drops out.
    std::vector<pages::FateRun> with_defect(std::span<const pages::FateRun> fates) {
        std::vector<pages::FateRun> all;
        for (const pages::FateRun& run : fates) {
            for (pages::PageNumber page = run.first; page < run.first + run.count; ++page) {
                const bool is_drop = run.fate == pages::PageFate::dropped;
                const bool is_eighth = is_drop && ++drops_ % 8 == 0;
                const bool has_moved = run.fate == pages::PageFate::lost;
                const bool stays = (defect_ == Defect::drop_is_forgotten && is_eighth) ||
                                   (defect_ == Defect::copies_stay_at_migration && has_moved);
                const bool is_tracked = run.fate == pages::PageFate::tracked;
                if (is_tracked && defect_ == Defect::home_is_not_tracked) continue;
                if (!stays) all.push_back({page, 1, run.fate});
            }
        }
        return all;
    }

    static void change_mapping(FakeRank& rank, const pages::FateRun& run) {
        for (pages::PageNumber page = run.first; page < run.first + run.count; ++page) {
            if (run.fate == pages::PageFate::tracked) {
                rank.is_tracked[page] = true;
            } else if (run.fate != pages::PageFate::gained) {
                rank.is_mapped[page] = false;
            }
        }
    }

    void expect_last(FakeRank& rank) {
        for (std::uint64_t place = 0; place < window_bytes; ++place) {
            perform(rank, {place, program_.last()[place], false});
            if (!outcome_.failure.empty()) return;
        }
    }

    std::uint64_t seed_;
    Defect defect_;
    RaceFreeProgram program_;
    Random random_;
    FakeNodes nodes_;
    std::vector<std::unique_ptr<FakeRank>> ranks_;
    std::vector<FakeMeeting> meetings_;
    FakeMeeting leaders_{nodes};
    std::array<std::array<std::vector<std::byte>, nodes>, 2> notices_;
    std::array<bool, nodes * ranks> is_flushing_{};
    std::uint64_t drops_ = 0;
    ProtocolRun outcome_;
};

TEST(Protocol, shows_each_read_of_a_race_free_program_the_bytes_of_the_model) {
    ProtocolRun all;
    const char* const count = std::getenv("TEST_SEEDS");
    sched::for_each_seed(count == nullptr ? 400 : std::strtoull(count, nullptr, 0),
                         [&](std::uint64_t seed) {
                             const ProtocolRun run = ProtocolScene(seed, Defect::none).run();
                             EXPECT_EQ(run.failure, "");
                             all.moved += run.moved;
                             all.repeated += run.repeated;
                             all.evicted += run.evicted;
                             all.kept += run.kept;
                             all.updated += run.updated;
                             all.fenced += run.fenced;
                         });
    // Each part of the protocol takes part.
    EXPECT_GT(all.moved, 0U);
    EXPECT_GT(all.evicted, 0U);
    EXPECT_GT(all.kept, 0U);
    EXPECT_GT(all.updated, 0U);
    EXPECT_GT(all.fenced, 0U);
    EXPECT_GT(all.repeated, 0U);
    std::printf(
        "moved %llu, fetched again %llu, evicted %llu, kept %llu\n",
        static_cast<unsigned long long>(all.moved), static_cast<unsigned long long>(all.repeated),
        static_cast<unsigned long long>(all.evicted), static_cast<unsigned long long>(all.kept));
}

class ProtocolDefect : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(All, ProtocolDefect, testing::Range(1, defects));

TEST_P(ProtocolDefect, is_found_in_ten_epochs_of_a_program) {
    const auto defect = static_cast<Defect>(GetParam());
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const ProtocolRun run = ProtocolScene(seed, defect).run();
        if (run.failure.empty()) continue;
        std::printf("found by seed %llu: %s\n", static_cast<unsigned long long>(seed),
                    run.failure.c_str());
        return;
    }
    ADD_FAILURE() << "the defect stays unnoticed";
}

}  // namespace
}  // namespace acp::dsm::test
