// SPDX-License-Identifier: BSD-3-Clause
// Several users at once: under the seeded scheduler, whose memory is as weak as C++ allows, and as
// processes. Pushed words identify their user, so that lost, doubled, torn and reordered words are
// detected.
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "sequence_memory.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::sequence {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t token_bytes = 8;

// A word whose bytes all depend on its user and number, so that a torn word is no valid one.
std::string token_of(std::uint32_t user, std::uint32_t number) {
    const std::uint64_t word = (std::uint64_t{user} << 24 | number) * 0x9e3779b97f4a7c15ULL;
    std::string token(token_bytes, '\0');
    std::memcpy(token.data(), &word, token_bytes);
    return token;
}

struct Token {
    std::uint32_t user;
    std::uint32_t number;
};

Token read_token(const std::string& from, std::uint64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + at, token_bytes);
    word *= 0xf1de83e19937733dULL;  // the inverse
    return {static_cast<std::uint32_t>(word >> 24), static_cast<std::uint32_t>(word & 0xffffff)};
}

constexpr std::uint32_t users_max = 4;
constexpr std::uint32_t tokens_max = 1 << 14;

// How often each word was pushed and taken, by the results of the calls.
struct Tally {
    std::array<std::array<std::atomic<std::uint8_t>, tokens_max>, users_max> pushed;
    std::array<std::array<std::atomic<std::uint8_t>, tokens_max>, users_max> taken;
    std::atomic<std::uint64_t> faults;

    void take(const std::string& text) {
        for (std::uint64_t at = 0; at < text.size(); at += token_bytes) {
            const Token token = read_token(text, at);
            if (text.size() - at < token_bytes || token.user >= users_max ||
                token.number >= tokens_max) {
                ++faults;
                return;
            }
            ++taken[token.user][token.number];
        }
    }
};

template <template <class> class Atomic>
class Actor {
public:
    Actor(const SharedHeap& shared, char* participants, std::uint32_t number, Tally& tally)
        : user_(shared, participants, number), number_(number), tally_(tally) {}

    // Pushes, takes, inserts and reads. `is_queue`: only pushes at the back and takes at the front.
    void act(BlockNumber in, std::uint64_t seed, std::uint32_t operations, bool is_queue) {
        test::Random random(seed * 8 + number_);
        for (std::uint32_t i = 0; i < operations; ++i) {
            const bool is_front = !is_queue && random.chance(50);
            switch (random.below(8)) {
                case 0:
                case 1:
                    push(in, is_front ? ContentEnd::front : ContentEnd::back, 1 + random.below(3));
                    break;
                case 2:
                case 3: {
                    const ContentEnd end =
                        is_queue || is_front ? ContentEnd::front : ContentEnd::back;
                    tally_.take(user_.take(in, end, token_bytes * (1 + random.below(3))));
                    break;
                }
                case 4: {
                    Splice splice;
                    const std::string token = next_token();
                    splice.at = is_queue ? ~std::uint64_t{0} : token_bytes * random.below(4);
                    splice.source = token.data();
                    splice.added = token_bytes;
                    std::uint64_t before = 0;
                    if (user_.sequence.splice(in, splice, before) == SequenceEffect::done)
                        ++tally_.pushed[number_][next_ - 1];
                    break;
                }
                case 5:
                    // User 0, a victim, is no gateway.
                    if (number_ != 0) {
                        replace_body(in);
                        break;
                    }
                    [[fallthrough]];
                case 6:
                    if (number_ != 0) {
                        push_in_pieces(in, is_front ? ContentEnd::front : ContentEnd::back,
                                       random.chance(50));
                        break;
                    }
                    [[fallthrough]];
                default:
                    expect_whole(user_.read(in, 0, 1 << 14), is_queue);
            }
        }
    }

    void push(BlockNumber in, ContentEnd end, std::uint64_t count) {
        std::string text;
        const std::uint32_t first = next_;
        for (std::uint64_t i = 0; i < count; ++i) text += next_token();
        if (user_.push(in, end, text) != SequenceEffect::done) return;
        for (std::uint32_t number = first; number < next_; ++number)
            ++tally_.pushed[number_][number];
    }

    // Copies the content of one version in pieces to another block with a word more, and makes the
    // block the body if the content still has that version.
    void replace_body(BlockNumber in) {
        const SequenceLayout layout = user_.layout(in, 0, 0);
        const std::uint64_t bytes = layout.bytes + token_bytes;
        const std::uint64_t capacity = rounded_capacity(bytes);
        const NewBody body{user_.blocks.allocate(lent_, Body<Atomic>::block_bytes(capacity), 16),
                           bytes, capacity, layout.version};
        char* const target =
            user_.blocks.base() + table::offset_of(body.block) + Body<Atomic>::head_bytes;
        auto replacer = user_.sequence.body_replacer();
        SequenceEffect effect = SequenceEffect::done;
        constexpr std::uint64_t piece = 12;
        for (std::uint64_t at = 0; at < layout.bytes && effect == SequenceEffect::done; at += piece)
            effect = replacer.copy(in, layout.version, at, target + at,
                                   std::min(piece, layout.bytes - at));
        const std::string token = next_token();
        std::memcpy(target + layout.bytes, token.data(), token_bytes);
        if (effect == SequenceEffect::done) effect = replacer.adopt(in, body);
        if (effect == SequenceEffect::done) {
            ++tally_.pushed[number_][next_ - 1];
        } else {
            user_.blocks.free(body.block);
        }
        lent_.store(0, std::memory_order_relaxed);
    }

    // Pushes two words in pieces, the last ones in reverse order, and gives up where another change
    // comes between them.
    void push_in_pieces(BlockNumber in, ContentEnd end, bool replaces_another) {
        std::string text = next_token();
        text += next_token();
        PushPiece piece;
        piece.end = end;
        piece.push = number_;
        piece.version = user_.layout(in, 0, 0).version;
        piece.total = text.size();
        piece.replaces_another = replaces_another;
        Portion portion;
        for (const std::uint64_t at : {0U, 12U, 6U}) {
            piece.at = at;
            piece.source = text.data() + at;
            piece.bytes = at == 12 ? 4 : 6;
            if (user_.sequence.push_in_pieces().write(in, piece, portion) != SequenceEffect::done)
                return;
        }
        if (portion.bytes != text.size()) ++tally_.faults;
        for (const std::uint32_t number : {next_ - 2, next_ - 1}) ++tally_.pushed[number_][number];
    }

    // Checks the content at one moment: whole words, none twice, and in a queue each user's words
    // in order.
    void expect_whole(const std::string& text, bool is_queue) {
        std::map<std::uint32_t, std::map<std::uint32_t, int>> seen;
        std::map<std::uint32_t, std::uint32_t> last;
        for (std::uint64_t at = 0; at < text.size(); at += token_bytes) {
            if (text.size() - at < token_bytes) {
                ++tally_.faults;
                return;
            }
            const Token token = read_token(text, at);
            const bool is_late =
                is_queue && last.count(token.user) != 0 && last[token.user] >= token.number;
            if (token.user >= users_max || seen[token.user][token.number]++ != 0 || is_late)
                ++tally_.faults;
            last[token.user] = token.number;
        }
    }

    [[nodiscard]] User<Atomic>& user() { return user_; }

private:
    std::string next_token() { return token_of(number_, next_++); }

    User<Atomic> user_;
    std::uint32_t number_;
    Tally& tally_;
    std::uint32_t next_ = 0;
    Atomic<std::uint64_t> lent_{0};  // the block that replace_body() fills
};

// Each pushed word was taken once or is in the sequence once.
//   victim  whose last words may be missing; users_max: no user
void expect_agreement(Tally& tally,
                      const std::string& left,
                      std::uint32_t victim,
                      const std::string& when) {
    EXPECT_EQ(tally.faults.load(), 0U) << when;
    std::array<std::vector<int>, users_max> there;
    for (auto& of_user : there) of_user.resize(tokens_max);
    ASSERT_EQ(left.size() % token_bytes, 0U) << when;
    for (std::uint64_t at = 0; at < left.size(); at += token_bytes) {
        const Token token = read_token(left, at);
        ASSERT_TRUE(token.user < users_max && token.number < tokens_max) << when;
        ++there[token.user][token.number];
    }
    std::uint64_t missing = 0;
    for (std::uint32_t user = 0; user < users_max; ++user) {
        for (std::uint32_t number = 0; number < tokens_max; ++number) {
            const int pushed = tally.pushed[user][number].load();
            const int found = there[user][number] + tally.taken[user][number].load();
            if (pushed == found) continue;
            if (user == victim && pushed == 0 && found == 1) continue;
            // The victim may have taken up to three words without counting them.
            missing += pushed == 1 && found == 0 ? 1U : 1000U;
        }
    }
    EXPECT_LE(missing, victim < users_max ? 3U : 0U) << when;
}

struct Stage {
    Stage() {
        in = watcher.user().sequence.make(SequenceKind::deque, 0, 16);
        watcher.user().sequence.keep();
    }

    void expect_nothing_lost(const std::string& when) {
        EXPECT_TRUE(watcher.user().sequence.destroy(in, SequenceKind::deque)) << when;
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    SharedHeap shared;
    SharedPages participants{SequenceUsers<sched::Atomic>::bytes(participants_max)};
    SharedPages tally_pages{sizeof(Tally)};
    Tally& tally = *reinterpret_cast<Tally*>(tally_pages.data());
    Actor<sched::Atomic> watcher{shared, participants.data(), 5, tally};
    BlockNumber in = 0;
};

TEST(Concurrency, of_three_users_under_the_scheduler_loses_no_word) {
    const test::ScopedWatchdog watchdog("scheduled users");
    sched::for_each_seed(4'000, [](std::uint64_t seed) {
        Stage stage;
        std::vector<std::unique_ptr<Actor<sched::Atomic>>> actors;
        std::vector<std::function<void()>> fibers;
        for (std::uint32_t number = 0; number < 3; ++number) {
            actors.push_back(std::make_unique<Actor<sched::Atomic>>(
                stage.shared, stage.participants.data(), number, stage.tally));
            actors.back()->user().others.set_turns_most(seed % 3 == 0 ? 0 : seed % 20);
            fibers.push_back(
                [&, actor = actors.back().get()] { actor->act(stage.in, seed, 6, seed % 2 == 0); });
        }
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, fibers).failure, "");
        const std::string when = "seed " + std::to_string(seed);
        expect_agreement(stage.tally, stage.watcher.user().read(stage.in), users_max, when);
        stage.expect_nothing_lost(when);
    });
}

TEST(Concurrency, with_a_victim_killed_or_stopped_before_each_operation_loses_no_word) {
    const test::ScopedWatchdog watchdog("scheduled deaths");
    sched::for_each_death(0, 25, [](const sched::Options& options) {
        Stage stage;
        std::vector<std::unique_ptr<Actor<sched::Atomic>>> actors;
        for (std::uint32_t number = 0; number < 3; ++number) {
            actors.push_back(std::make_unique<Actor<sched::Atomic>>(
                stage.shared, stage.participants.data(), number, stage.tally));
            // Zero turns: the victim is evicted when it is about to install its body.
            actors.back()->user().others.set_turns_most(options.seed % 2 == 0 ? 0 : 3);
        }
        const auto act = [&](std::uint32_t number, std::uint32_t operations) {
            return [&, number, operations] {
                actors[number]->act(stage.in, options.seed, operations, options.seed % 2 == 0);
            };
        };
        const sched::Outcome outcome = sched::run(options, {act(0, 5), act(1, 5), act(2, 3)});
        EXPECT_EQ(outcome.failure, "");
        const std::string when = "seed " + std::to_string(options.seed) + ", victim's operation " +
                                 std::to_string(options.victim_operation) +
                                 (options.is_victim_resumed ? ", resumed" : ", killed");
        auto& watcher = stage.watcher.user();
        const bool is_killed = outcome.is_victim_hit && !options.is_victim_resumed;
        if (is_killed) {
            // One user knows that the victim is dead, the other one takes it for stopped.
            actors[1]->user().others.set_dead(0);
            sched::Options after;
            after.seed = options.seed;
            EXPECT_EQ(sched::run(after, {act(1, 3), act(2, 3)}).failure, "");
            watcher.others.set_dead(0);
            const SequenceUsers<sched::Atomic> all{stage.participants.data(), participants_max};
            EXPECT_TRUE(stage.shared.heap.recover(
                watcher.blocks.cache(), {0, 1}, [](std::uint32_t number) { return number == 0; },
                [&](heap::Offset block) { return all[0].has_made(table::number_of(block)); }));
            EXPECT_TRUE(watcher.sequence.recover(0)) << when;
        }
        expect_agreement(stage.tally, watcher.read(stage.in), is_killed ? 0 : users_max, when);
        stage.expect_nothing_lost(when);
        return outcome.is_victim_hit;
    });
}

TEST(Concurrency, of_processes_loses_no_word) {
    const test::ScopedWatchdog watchdog("processes");
    for (const bool is_queue : {false, true}) {
        SharedHeap shared;
        const SharedPages participants{SequenceUsers<std::atomic>::bytes(participants_max)};
        const SharedPages tally_pages{sizeof(Tally)};
        Tally& tally = *reinterpret_cast<Tally*>(tally_pages.data());
        Actor<std::atomic> watcher(shared, participants.data(), 5, tally);
        const BlockNumber in = watcher.user().sequence.make(SequenceKind::deque, 0, 16);
        watcher.user().sequence.keep();
        std::array<pid_t, 3> children{};
        for (std::uint32_t number = 0; number < children.size(); ++number) {
            children[number] = fork();
            if (children[number] != 0) continue;
            Actor<std::atomic> actor(shared, participants.data(), number, tally);
            actor.user().others.set_turns_most(200);
            actor.act(in, 1, 8'000, is_queue);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        for (const pid_t child : children) {
            int status = 0;
            waitpid(child, &status, 0);
            EXPECT_EQ(status, 0);
        }
        expect_agreement(tally, watcher.user().read(in), users_max, "processes");
        EXPECT_TRUE(watcher.user().sequence.destroy(in, SequenceKind::deque));
        EXPECT_EQ(shared.blocks_in_use(), 0U);
    }
}

}  // namespace
}  // namespace acp::sequence
