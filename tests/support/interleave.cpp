// SPDX-License-Identifier: BSD-3-Clause
// The fibers and the random choice among them.
#include "support/interleave.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <ucontext.h>

#include "support/fiber_sanitizer.hpp"

namespace acp::test::sched {

namespace {

constexpr std::uint64_t operations_max = 1'000'000;
constexpr std::size_t stack_bytes = std::size_t{256} * 1024;

enum class State { ready, asleep, paused, over };

struct Fiber {
    ucontext_t context{};
    FiberMark mark;
    State state = State::ready;
    const void* word = nullptr;  // the word on which it sleeps
    std::uint64_t operations = 0;
    const std::function<void()>* body = nullptr;
};

class Scheduler {
public:
    Scheduler(const Options& options, const std::vector<std::function<void()>>& bodies);
    Outcome run();

    void before_operation() noexcept;
    void note_plain(const void* address, bool is_write) noexcept;
    void sleep_on(const void* word) noexcept;
    void wake_all(const void* word) noexcept;
    std::uint64_t random() noexcept;
    [[noreturn]] void end_of_current() noexcept;

    [[nodiscard]] const std::function<void()>& current_body() const { return *me().body; }

    [[nodiscard]] WeakMemory& memory() noexcept { return memory_; }

    [[nodiscard]] int current() const noexcept { return current_; }

    [[nodiscard]] int fibers() const noexcept { return static_cast<int>(fibers_.size()); }

    void arrive_on_new_stack() noexcept { finish_switch(me().mark, home_mark_); }

private:
    [[nodiscard]] Fiber& me() noexcept { return fibers_[static_cast<std::size_t>(current_)]; }

    [[nodiscard]] const Fiber& me() const noexcept {
        return fibers_[static_cast<std::size_t>(current_)];
    }

    [[nodiscard]] int choose() noexcept;
    [[nodiscard]] bool relieve();
    void enter(int fiber) noexcept;
    void leave() noexcept;
    void fail(const std::string& what) noexcept;

    const Options& options_;
    std::vector<Fiber> fibers_;
    ucontext_t home_{};
    FiberMark home_mark_;
    int current_ = WeakMemory::outside;
    std::uint64_t random_state_;
    // how many of 16 times a fiber makes its next operation without a switch
    std::uint64_t stay_of_16_ = 0;
    std::uint64_t operations_ = 0;
    bool was_stall_called_ = false;
    Outcome outcome_;
    WeakMemory memory_;
};

// The run in progress; there is one at a time, in one thread.
Scheduler* active = nullptr;

// Stacks are kept from run to run.
char* stack_of(std::size_t fiber) {
    static std::array<std::unique_ptr<char[]>, fibers_max> stacks;
    if (!stacks[fiber]) stacks[fiber].reset(new char[stack_bytes]);
    return stacks[fiber].get();
}

void fiber_main() {
    active->arrive_on_new_stack();
    active->current_body()();
    active->end_of_current();
}

Scheduler::Scheduler(const Options& options, const std::vector<std::function<void()>>& bodies)
    : options_(options), fibers_(bodies.size()), random_state_(options.seed) {
    stay_of_16_ = std::array<std::uint64_t, 4>{0, 8, 13, 15}[random() % 4];
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
        Fiber& fiber = fibers_[i];
        fiber.body = &bodies[i];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stack_of(i);
        fiber.context.uc_stack.ss_size = stack_bytes;
        fiber.context.uc_link = nullptr;
        fiber.mark.open(stack_of(i), stack_bytes);
        makecontext(&fiber.context, fiber_main, 0);
    }
}

// splitmix64: any seed is good, also 0 and its neighbours.
std::uint64_t Scheduler::random() noexcept {
    random_state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = random_state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

// A random ready fiber, -1 when there is none.
int Scheduler::choose() noexcept {
    std::array<int, fibers_max> ready{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
        if (fibers_[i].state == State::ready) ready[count++] = static_cast<int>(i);
    }
    return count == 0 ? -1 : ready[random() % count];
}

// Called when no fiber is ready: calls on_stall, or resumes a paused victim. false when all fibers
// have ended or are stuck.
bool Scheduler::relieve() {
    const auto has = [this](State state) {
        return std::any_of(fibers_.begin(), fibers_.end(),
                           [state](const Fiber& fiber) { return fiber.state == state; });
    };
    if (has(State::asleep) && options_.on_stall && !was_stall_called_) {
        was_stall_called_ = true;
        options_.on_stall();
        if (has(State::ready)) return true;
    }
    if (has(State::paused)) {
        for (Fiber& fiber : fibers_) {
            if (fiber.state == State::paused) fiber.state = State::ready;
        }
        return true;
    }
    if (has(State::asleep)) fail("a fiber sleeps and nobody will wake it");
    return false;
}

Outcome Scheduler::run() {
    while (outcome_.failure.empty()) {
        const int next = choose();
        if (next >= 0) {
            enter(next);
        } else if (!relieve()) {
            break;
        }
    }
    for (Fiber& fiber : fibers_) fiber.mark.close();
    return outcome_;
}

void Scheduler::enter(int fiber) noexcept {
    const LeaksAllowed leaks(fiber == options_.victim && !options_.is_victim_resumed);
    current_ = fiber;
    start_switch(home_mark_, me().mark);
    swapcontext(&home_, &me().context);
    finish_switch(home_mark_, me().mark);
    current_ = WeakMemory::outside;
}

// Switches to run(); returns when this fiber is chosen again.
void Scheduler::leave() noexcept {
    Fiber& fiber = me();
    start_switch(fiber.mark, home_mark_);
    swapcontext(&fiber.context, &home_);
    finish_switch(fiber.mark, home_mark_);
}

void Scheduler::end_of_current() noexcept {
    me().state = State::over;
    leave();
    std::abort();  // not reached: run() switches to no ended fiber
}

void Scheduler::before_operation() noexcept {
    if (current_ == WeakMemory::outside) return;
    Fiber& fiber = me();
    if (++operations_ > operations_max) {
        fail("more than 10^6 operations: the fibers do not come to an end");
        leave();
    }
    if (current_ == options_.victim && fiber.operations == options_.victim_operation) {
        outcome_.is_victim_hit = true;
        fiber.state = options_.is_victim_resumed ? State::paused : State::over;
        ++fiber.operations;
        leave();
        return;
    }
    ++fiber.operations;
    if (random() % 16 >= stay_of_16_) leave();
}

void Scheduler::note_plain(const void* address, bool is_write) noexcept {
    const std::string wrong = memory_.plain(current_, address, is_write);
    if (!wrong.empty()) fail(wrong);
}

void Scheduler::sleep_on(const void* word) noexcept {
    if (current_ == WeakMemory::outside) return;
    me().state = State::asleep;
    me().word = word;
    leave();
}

void Scheduler::wake_all(const void* word) noexcept {
    for (Fiber& fiber : fibers_) {
        if (fiber.state == State::asleep && fiber.word == word) fiber.state = State::ready;
    }
}

void Scheduler::fail(const std::string& what) noexcept {
    if (!outcome_.failure.empty()) return;
    outcome_.failure = what + "; seed " + std::to_string(options_.seed);
    if (options_.victim >= 0) {
        outcome_.failure += ", victim " + std::to_string(options_.victim) + " at operation " +
                            std::to_string(options_.victim_operation);
    }
}

}  // namespace

Outcome run(const Options& options, const std::vector<std::function<void()>>& fibers) {
    if (active != nullptr || fibers.size() > fibers_max) std::abort();
    Scheduler scheduler(options, fibers);
    active = &scheduler;
    Outcome outcome = scheduler.run();
    active = nullptr;
    return outcome;
}

void for_each_seed(std::uint64_t count, const std::function<void(std::uint64_t seed)>& test) {
    std::uint64_t first = 1;
    // Sanitizers make a change of stacks hundreds of times dearer and see nothing new here.
    if (is_sanitized) count = (count + 49) / 50;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
    if (const char* text = std::getenv("ACP_TEST_SEED"); text != nullptr) {
        first = std::strtoull(text, nullptr, 0);
        count = 1;
    }
    for (std::uint64_t seed = first; seed - first < count; ++seed) {
        test(seed);
        if (testing::Test::HasFailure()) {
            std::cerr << "failed with seed " << seed << "; repeat with ACP_TEST_SEED=" << seed
                      << std::endl;
            return;
        }
    }
}

void for_each_death(int victim,
                    std::uint64_t count,
                    const std::function<bool(const Options& options)>& test) {
    for (const bool is_resumed : {false, true}) {
        bool is_reached = true;
        for (std::uint64_t operation = 0; is_reached; ++operation) {
            is_reached = false;
            for_each_seed(count, [&](std::uint64_t seed) {
                Options options;
                options.seed = seed;
                options.victim = victim;
                options.victim_operation = operation;
                options.is_victim_resumed = is_resumed;
                is_reached = test(options) || is_reached;
            });
            if (testing::Test::HasFailure()) return;
        }
    }
}

void pause() noexcept {
    before_operation();
}

void sleep_while(const void* word, bool is_expected) noexcept {
    if (active != nullptr && is_expected) active->sleep_on(word);
}

void wake_all(const void* word) noexcept {
    before_operation();
    if (active != nullptr) active->wake_all(word);
}

void note_read(const void* address) noexcept {
    if (active != nullptr) active->note_plain(address, false);
}

void note_write(const void* address) noexcept {
    if (active != nullptr) active->note_plain(address, true);
}

void before_operation() noexcept {
    if (active != nullptr) active->before_operation();
}

std::uint64_t load_value(const void* word,
                         std::uint64_t newest,
                         std::memory_order order,
                         bool may_be_stale) noexcept {
    if (active == nullptr) return newest;
    const std::uint64_t chance = may_be_stale ? active->random() : 1;
    return active->memory().load(active->current(), word, newest, order, chance);
}

void note_store(const void* word,
                std::uint64_t old,
                std::uint64_t value,
                std::memory_order order) noexcept {
    if (active != nullptr) active->memory().store(active->current(), word, old, value, order);
}

void note_update(const void* word,
                 std::uint64_t old,
                 std::uint64_t value,
                 std::memory_order order) noexcept {
    if (active != nullptr) active->memory().update(active->current(), word, old, value, order);
}

void fence() noexcept {
    before_operation();
    if (active != nullptr) active->memory().fence(active->current());
}

// Two rounds: the first one collects the stores of each fiber, the second one makes them visible to
// all.
void fence_all() noexcept {
    before_operation();
    if (active == nullptr) return;
    for (int round = 0; round < 2; ++round) {
        for (int fiber = 0; fiber < active->fibers(); ++fiber) active->memory().fence(fiber);
    }
}

std::uint32_t current_fiber() noexcept {
    return active == nullptr ? 0 : static_cast<std::uint32_t>(active->current());
}

bool is_spurious_failure() noexcept {
    return active != nullptr && active->random() % 8 == 0;
}

}  // namespace acp::test::sched
