// SPDX-License-Identifier: BSD-3-Clause
// Several users at once: under the seeded scheduler, whose memory is as weak as C++ allows, and as
// processes. Elements and lists are few, so that all users contend; nodes are freed as early as
// possible, and poisoned.
#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

#include "list_memory.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::list {
namespace {

namespace sched = test::sched;

constexpr std::uint32_t lists_used = 2;
using Names = std::array<BlockNumber, lists_used>;

// The texts that a user inserted and took out, by the results of its calls. A text is inserted
// once.
struct Tally {
    std::vector<std::string> put;
    std::vector<std::string> taken;
    std::array<std::int64_t, 2>
        // For each list: elements inserted and moved there, less those taken out and moved away.
        balance{};
};

bool is_text(const std::string& text) {
    const std::size_t end = text.find('.');
    if (end == std::string::npos) return false;
    const std::size_t count = text.size() - end - 1;
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(end) + 1, text.end(),
                       [count](char c) { return c == static_cast<char>('a' + count % 26); });
}

template <template <class> class Atomic>
class Actor {
public:
    Actor(const SharedHeap& shared, char* participants, std::uint32_t number, std::uint32_t batch)
        : user_(shared, participants, number, batch), number_(number) {}

    // Random operations of a user. Returns whether all results were right.
    bool act(const Names& lists, std::uint64_t seed, std::uint32_t operations, Tally& tally) {
        test::Random random(seed * 8 + number_);
        for (std::uint32_t i = 0; i < operations; ++i) {
            if (!step(lists, random, i, tally)) return false;
        }
        return true;
    }

    [[nodiscard]] User<Atomic>& user() { return user_; }

private:
    bool step(const Names& lists, test::Random& random, std::uint32_t number, Tally& tally) {
        const std::uint64_t which = random.below(lists_used);
        const BlockNumber list = lists[which];
        Position at = user_.lists.end_of(list);
        for (std::uint64_t i = random.below(4); i > 0; --i) {
            Position next;
            if (user_.lists.next(list, at, next) != ListEffect::done) break;
            at = next;
        }
        std::string text;
        switch (random.below(8)) {
            case 0:
            case 1:
            case 2: {
                const std::uint64_t count = random.below(20);
                text = (random.chance(20) ? "@" : "") + std::to_string(number_) + "-" +
                       std::to_string(number) + "." +
                       std::string(count, static_cast<char>('a' + count % 26));
                Position made;
                if (user_.insert(list, at, text, made) == ListEffect::done) {
                    tally.put.push_back(text);
                    ++tally.balance[which];
                }
                return true;
            }
            case 3:
                text = user_.take(list, at);
                break;
            case 4:
                text = random.chance(50) ? user_.pop_front(list) : user_.pop_back(list);
                break;
            case 5:
                text = user_.text_at(list, at);
                return text == "(none)" || is_text(text);
            default: {
                const std::uint64_t target = random.below(lists_used);
                const BlockNumber other = lists[target];
                Position moved;
                const Position before =
                    random.chance(50) ? user_.lists.end_of(other) : user_.first(other);
                if (user_.lists.move(other, before, list, at, moved) == ListEffect::done) {
                    --tally.balance[which];
                    ++tally.balance[target];
                }
                return true;
            }
        }
        if (text.empty()) return true;
        tally.taken.push_back(text);
        --tally.balance[which];
        return is_text(text);
    }

    User<Atomic> user_;
    std::uint32_t number_;
};

// Every inserted element was taken out or is in a list, once; and the list has the same elements in
// both directions.
template <template <class> class Atomic>
void expect_agreement(User<Atomic>& user,
                      const Names& lists,
                      const std::vector<Tally>& tallies,
                      const std::string& when) {
    std::map<std::string, int> there;
    for (const Tally& tally : tallies) {
        for (const std::string& text : tally.put) ++there[text];
        for (const std::string& text : tally.taken) --there[text];
    }
    for (const BlockNumber list : lists) {
        std::vector<std::string> texts = user.texts(list);
        EXPECT_EQ(user.lists.size(list), texts.size()) << when;
        std::int64_t balance = 0;
        for (const Tally& tally : tallies) balance += tally.balance[list == lists[0] ? 0 : 1];
        EXPECT_EQ(balance, static_cast<std::int64_t>(texts.size()))
            << when << ": the calls' results add up to the elements in the list";
        for (const std::string& text : texts) --there[text];
        std::vector<std::string> back = user.texts(list, false);
        std::reverse(back.begin(), back.end());
        EXPECT_EQ(texts, back) << when;
    }
    for (const auto& [text, count] : there) EXPECT_EQ(count, 0) << when << ": " << text;
}

void run_scheduled(std::uint64_t seed, std::uint32_t operations, std::uint32_t batch) {
    constexpr std::uint32_t users = 3;
    SharedHeap shared;
    const SharedPages participants(ListParticipants<sched::Atomic>::bytes(participants_max));
    std::deque<Actor<sched::Atomic>> actors;
    for (std::uint32_t i = 0; i < users; ++i)
        actors.emplace_back(shared, participants.data(), i, batch);
    const Names lists{actors[0].user().make(), actors[0].user().make()};
    std::vector<Tally> tallies(users + 1);
    for (const char* text : {"x-1.", "x-2.", "x-3."}) {
        EXPECT_EQ(actors[0].user().push_back(lists[0], text), ListEffect::done);
        tallies[users].put.emplace_back(text);
        ++tallies[users].balance[0];
    }
    std::array<bool, users> is_well{};
    sched::Options options;
    options.seed = seed;
    const auto body = [&](std::uint32_t i) {
        return [&, i] { is_well[i] = actors[i].act(lists, seed, operations, tallies[i]); };
    };
    const sched::Outcome outcome = sched::run(options, {body(0), body(1), body(2)});
    EXPECT_EQ(outcome.failure, "");
    const std::string when = "seed " + std::to_string(seed);
    for (const bool one : is_well) EXPECT_TRUE(one) << when << ": an element was not whole";
    expect_agreement(actors[0].user(), lists, tallies, when);
    for (const BlockNumber list : lists) actors[0].user().destroy(list);
    for (auto& actor : actors) actor.user().lists.reclaim();
    EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
}

TEST(Concurrency, users_of_two_lists_agree_on_a_weak_memory) {
    sched::for_each_seed(2'000, [](std::uint64_t seed) { run_scheduled(seed, 8, 1); });
}

TEST(Concurrency, users_that_free_late_agree_on_a_weak_memory) {
    sched::for_each_seed(600, [](std::uint64_t seed) { run_scheduled(seed, 20, 4); });
}

// A mover that is stopped at any access learns afterwards that its move is done, also where another
// thread has helped it to its end.
TEST(Concurrency, a_move_is_reported_as_done_also_if_another_user_completed_it) {
    constexpr int looks = 400;
    sched::for_each_death(0, 2, [](const sched::Options& options) {
        SharedHeap shared;
        const SharedPages participants(ListParticipants<sched::Atomic>::bytes(participants_max));
        std::deque<User<sched::Atomic>> users;
        for (std::uint32_t i = 0; i < 2; ++i) users.emplace_back(shared, participants.data(), i, 1);
        const Names lists{users[0].make(), users[0].make()};
        EXPECT_LT(lists[0], lists[1]);
        (void)users[0].push_back(lists[0], "z");
        (void)users[0].push_back(lists[1], "x");
        ListEffect effect = ListEffect::stale;
        const auto mover = [&] {
            Position moved;
            effect = users[0].lists.move(lists[1], users[0].lists.end_of(lists[1]), lists[0],
                                         users[0].first(lists[0]), moved);
        };
        const auto& head = *reinterpret_cast<const ListHead<sched::Atomic>*>(
            shared.blocks.data() + table::offset_of(lists[0]));
        // Works on the list that the move claims first, if the mover has begun.
        const auto helper = [&] {
            for (int i = 0; i < looks; ++i) {
                if (turn::is_busy(head.turn.load(std::memory_order_acquire))) break;
            }
            (void)users[1].push_back(lists[0], "y");
        };
        const sched::Outcome outcome = sched::run(options, {mover, helper});
        EXPECT_EQ(outcome.failure, "");
        if (!outcome.is_victim_hit || options.is_victim_resumed) {
            EXPECT_EQ(effect, ListEffect::done) << options.victim_operation;
            EXPECT_EQ(users[1].texts(lists[0]), std::vector<std::string>{"y"});
            EXPECT_EQ(users[1].texts(lists[1]), (std::vector<std::string>{"x", "z"}));
        }
        return outcome.is_victim_hit;
    });
}

// A queue: the elements of one user are taken out in the order in which it has inserted them.
TEST(Concurrency, a_queue_keeps_the_order_of_each_user) {
    sched::for_each_seed(800, [](std::uint64_t seed) {
        constexpr int each = 6;
        SharedHeap shared;
        const SharedPages participants(ListParticipants<sched::Atomic>::bytes(participants_max));
        std::deque<User<sched::Atomic>> users;
        for (std::uint32_t i = 0; i < 3; ++i) users.emplace_back(shared, participants.data(), i, 1);
        const BlockNumber list = users[0].make();
        std::vector<std::string> taken;
        const auto producer = [&](std::uint32_t number) {
            return [&, number] {
                for (int i = 0; i < each; ++i)
                    (void)users[number].push_back(list, std::to_string(number) + std::to_string(i));
            };
        };
        const auto consumer = [&] {
            for (int i = 0; i < 3 * each; ++i) {
                const std::string text = users[2].pop_front(list);
                if (!text.empty()) taken.push_back(text);
            }
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {producer(0), producer(1), consumer}).failure, "");
        for (std::string text = users[2].pop_front(list); !text.empty();
             text = users[2].pop_front(list)) {
            taken.push_back(text);
        }
        std::stable_sort(taken.begin(), taken.end(),
                         [](const std::string& a, const std::string& b) { return a[0] < b[0]; });
        ASSERT_EQ(taken.size(), 2U * each) << "seed " << seed;
        for (std::size_t i = 0; i < taken.size(); ++i) {
            EXPECT_EQ(taken[i], std::to_string(i / each) + std::to_string(i % each))
                << "seed " << seed;
        }
        users[0].destroy(list);
    });
}

// A walker visits each element that stays once, whatever other users insert and take out near it.
TEST(Concurrency, a_walk_meets_what_stays) {
    sched::for_each_seed(800, [](std::uint64_t seed) {
        SharedHeap shared;
        const SharedPages participants(ListParticipants<sched::Atomic>::bytes(participants_max));
        std::deque<User<sched::Atomic>> users;
        for (std::uint32_t i = 0; i < 2; ++i) users.emplace_back(shared, participants.data(), i, 1);
        const BlockNumber list = users[0].make();
        for (const char* text : {"1", "x", "2", "x", "3"}) (void)users[0].push_back(list, text);
        std::string met;
        const auto walker = [&] {
            bool is_back_again = true;
            while (is_back_again) {
                is_back_again = false;
                met.clear();
                Position at = users[0].lists.end_of(list);
                while (true) {
                    // The walker's position may be taken out: then it starts again.
                    const ListEffect effect = users[0].lists.next(list, at, at);
                    if (effect == ListEffect::stale) is_back_again = true;
                    if (effect != ListEffect::done || at.node == list) break;
                    const std::string text = users[0].text_at(list, at);
                    if (text == "1" || text == "2" || text == "3") met += text;
                }
            }
        };
        const auto changer = [&] {
            Position at = users[1].first(list);
            for (int i = 0; i < 4; ++i) {
                Position next;
                if (users[1].lists.next(list, at, next) != ListEffect::done || next.node == list)
                    break;
                if (users[1].text_at(list, next) == "x") {
                    EXPECT_EQ(users[1].take(list, next), "x");
                } else {
                    Position made;
                    EXPECT_EQ(users[1].insert(list, next, "y", made), ListEffect::done);
                    at = next;
                }
            }
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {walker, changer}).failure, "");
        EXPECT_EQ(met, "123") << "seed " << seed;
        users[0].destroy(list);
    });
}

// The survivors recover the lists after each kill, while they work on them.
TEST(Concurrency, processes_that_are_killed_leave_whole_lists) {
    const test::ScopedWatchdog watchdog("processes that are killed");
    test::Random random(7);
    for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
        // The last one is the victim.
        constexpr std::uint32_t users = 4;
        SharedHeap shared;
        const SharedPages participants(ListParticipants<std::atomic>::bytes(participants_max));
        User<std::atomic> own(shared, participants.data(), users, 4);
        const Names lists{own.make(), own.make()};
        std::array<pid_t, users> children{};
        for (std::uint32_t i = 0; i < users; ++i) {
            children[i] = fork();
            if (children[i] != 0) continue;
            Actor<std::atomic> actor(shared, participants.data(), i, 4);
            Tally tally;
            const bool is_victim = i == users - 1;
            const std::uint64_t seed = static_cast<std::uint64_t>(round) * users + i;
            const bool is_well = actor.act(lists, seed, is_victim ? ~0U : 4'000, tally);
            actor.user().lists.reclaim();
            _exit(is_well ? 0 : 3);
        }
        usleep(static_cast<useconds_t>(random.below(3'000)));  // lint: sleep is the subject
        kill(children[users - 1], SIGKILL);
        for (const pid_t child : children) {
            int status = 0;
            waitpid(child, &status, 0);
            if (child != children[users - 1]) {
                EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
            }
        }
        const auto is_dead = [](std::uint32_t number) { return number != users; };
        for (std::uint32_t number = 0; number < 2 * users; ++number) {
            const std::uint32_t i = number % users;
            const ListParticipants<std::atomic> all{participants.data(), participants_max};
            const auto is_stored = [&](heap::Offset block) {
                return all[i].has_made(number_of(block)) ||
                       all[i].made_apart.load(std::memory_order_relaxed) == number_of(block);
            };
            EXPECT_TRUE(shared.heap.recover(own.blocks.cache(), {i, 1}, is_dead, is_stored));
            // Recovery of this user fails while other dead users' hazard words may name elements
            // that it had taken out.
            EXPECT_TRUE(own.lists.recover(i, is_dead) || number < users);
        }
        for (const BlockNumber list : lists) {
            const auto texts = own.texts(list);
            auto back = own.texts(list, false);
            std::reverse(back.begin(), back.end());
            EXPECT_EQ(texts, back);
            EXPECT_EQ(own.lists.size(list), texts.size());
            for (const std::string& text : texts) EXPECT_TRUE(is_text(text)) << text;
            own.destroy(list);
        }
        own.lists.reclaim();
        EXPECT_LE(shared.blocks_in_use(), 1U)
            // The victim was killed between two instructions.
            << "round " << round;
    }
}

// Four processes empty one queue, and one of them is killed at a random moment: each element goes
// to one process, and only the element that the victim was taking may be lost.
TEST(Concurrency, a_queue_loses_at_most_what_a_killed_process_had_taken) {
    const test::ScopedWatchdog watchdog("a queue and a process that is killed");
    test::Random random(11);
    // The first one is the victim.
    constexpr std::uint32_t users = 4;
    constexpr std::uint32_t elements = 3'000;
    std::uint32_t rounds_with_loss = 0;
    for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
        SharedHeap shared;
        const SharedPages participants(ListParticipants<std::atomic>::bytes(participants_max));
        const SharedPages counts(elements * sizeof(std::atomic<std::uint32_t>));
        auto* const taken = reinterpret_cast<std::atomic<std::uint32_t>*>(counts.data());
        User<std::atomic> own(shared, participants.data(), users, 16);
        const BlockNumber list = own.make();
        for (std::uint32_t i = 0; i < elements; ++i)
            ASSERT_EQ(own.push_back(list, std::to_string(i)), ListEffect::done);
        std::array<pid_t, users> children{};
        for (std::uint32_t i = 0; i < users; ++i) {
            children[i] = fork();
            if (children[i] != 0) continue;
            User<std::atomic> user(shared, participants.data(), i, 16);
            for (std::string text = user.pop_front(list); !text.empty();
                 text = user.pop_front(list))
                taken[std::stoul(text)].fetch_add(1);
            _exit(testing::Test::HasFailure() ? 3 : 0);
        }
        usleep(static_cast<useconds_t>(random.below(1'500)));  // lint: sleep is the subject
        kill(children[0], SIGKILL);
        for (const pid_t child : children) {
            int status = 0;
            waitpid(child, &status, 0);
            if (child != children[0]) {
                EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
            }
        }
        EXPECT_TRUE(own.texts(list).empty()) << "round " << round;
        std::uint32_t lost = 0;
        for (std::uint32_t i = 0; i < elements; ++i) {
            EXPECT_LE(taken[i].load(), 1U) << "round " << round << ": element " << i;
            if (taken[i].load() == 0) ++lost;
        }
        EXPECT_LE(lost, 1U) << "round " << round;
        rounds_with_loss += lost;
    }
    EXPECT_LT(rounds_with_loss, 40U) << "a process that is not killed in a call loses nothing";
}

}  // namespace
}  // namespace acp::list
