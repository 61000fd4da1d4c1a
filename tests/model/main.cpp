// SPDX-License-Identifier: BSD-3-Clause
// Random programs of copies, atomics and orders on all ranks at once, each compared with a
// sequential model. Styles:
//   single  one issuer per rank
//   strips  several threads per rank, each an issuer of its own
//   relay   one issuer per rank whose steps are issued by several threads in turn
// A failure prints the seed; --seed, --first and --programs 1 run the same program again.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "model/issuer.hpp"
#include "support/clock.hpp"
#include "support/ranked.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

struct Options {
    std::uint64_t seed = 0;
    std::uint64_t first = 0;
    std::uint64_t programs = 1000;  // number of programs of the whole job
    std::string style = "single";
    std::size_t threads = 3;
    std::size_t strip_bytes = 256;
    unsigned watchdog_seconds = 170;
};

struct Run {
    Options options;
    Field field;
    std::size_t rank;
    std::size_t procs;
    std::atomic<std::uint64_t> steps{0};

    explicit Run(const Options& wanted)
        : options(wanted),
          field(static_cast<std::size_t>(acp_procs()) * wanted.threads, wanted.strip_bytes),
          rank(static_cast<std::size_t>(acp_rank())),
          procs(static_cast<std::size_t>(acp_procs())) {}

    [[nodiscard]] std::size_t own_issuers() const {
        return options.style == "strips" ? options.threads : 1;
    }

    [[nodiscard]] std::size_t issuers() const { return procs * own_issuers(); }

    // A program's seed depends on the run's, its issuer and its number only.
    [[nodiscard]] std::uint64_t seed_of(std::size_t issuer, std::uint64_t program) const {
        Random mixer(options.seed ^ (static_cast<std::uint64_t>(issuer) << 48) ^ program);
        return mixer.next();
    }
};

[[noreturn]] void report(const Run& run,
                         const Issuer& issuer,
                         std::uint64_t program,
                         const std::string& what) {
    std::fprintf(
        stderr,
        "rank %zu: program %llu of seed %llu (style %s, %zu threads, strips of %zu): %s\n%s",
        run.rank, static_cast<unsigned long long>(program),
        static_cast<unsigned long long>(run.options.seed), run.options.style.c_str(),
        run.options.threads, run.options.strip_bytes, what.c_str(),
        describe(issuer.program()).c_str());
    std::fflush(nullptr);
    _exit(1);
}

// Distributes the steps of each program to threads: the thread that a step names issues it, after
// its predecessor was issued.
class Relay {
public:
    Relay(Issuer& issuer, std::size_t threads) : issuer_(issuer) {
        for (std::size_t thread = 0; thread < threads; ++thread) {
            runners_.emplace_back([this, thread] { run(thread); });
        }
    }

    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    ~Relay() {
        give_turn(stop_turn);
        for (std::thread& runner : runners_) {
            runner.join();
        }
    }

    // Issues all steps of the issuer's program; it has at least one.
    void run_program() {
        hand_over(0);
        for (std::uint64_t seen = load_turn(); seen != idle_turn; seen = load_turn()) {
            turn_.wait(seen, std::memory_order_acquire);  // released by hand_over
        }
    }

private:
    // A turn is the number of a step and, above it, of the thread that issues it: only that thread
    // may access the program.
    static constexpr std::uint64_t thread_shift = 32;
    static constexpr std::uint64_t idle_turn = ~0ULL;
    static constexpr std::uint64_t stop_turn = idle_turn - 1;

    // Partner of the store in give_turn: makes what the predecessors wrote visible.
    std::uint64_t load_turn() const { return turn_.load(std::memory_order_acquire); }

    void give_turn(std::uint64_t turn) {
        turn_.store(turn, std::memory_order_release);  // pairs with load_turn
        turn_.notify_all();
    }

    // Called by the thread that has the turn: passes it to the thread of a step, or back if there
    // is no such step.
    void hand_over(std::size_t step) {
        const Program& program = issuer_.program();
        give_turn(step < program.size()
                      ? (static_cast<std::uint64_t>(program[step].thread) << thread_shift) | step
                      : idle_turn);
    }

    void run(std::uint64_t thread) {
        for (std::uint64_t turn = load_turn(); turn != stop_turn; turn = load_turn()) {
            if (turn != idle_turn && turn >> thread_shift == thread) {
                const auto step = static_cast<std::size_t>(turn & 0xffff'ffffULL);
                issuer_.issue_step(step);
                hand_over(step + 1);
            } else {
                turn_.wait(turn, std::memory_order_acquire);  // released by give_turn
            }
        }
    }

    Issuer& issuer_;
    std::atomic<std::uint64_t> turn_{idle_turn};
    std::vector<std::thread> runners_;
};

// Runs an issuer's share of the programs. relay may be null: then the caller issues all steps.
void run_share(Run& run, Issuer& issuer, std::size_t number, Relay* relay) {
    const std::uint64_t share = (run.options.programs + run.issuers() - 1) / run.issuers();
    for (std::uint64_t count = 0; count < share; ++count) {
        const std::uint64_t program = run.options.first + count;
        const std::size_t steps = issuer.prepare(run.seed_of(number, program)).size();
        if (relay != nullptr) {
            relay->run_program();
        } else {
            for (std::size_t index = 0; index < steps; ++index) {
                issuer.issue_step(index);
            }
        }
        if (const std::string difference = issuer.finish(); !difference.empty()) {
            report(run, issuer, program, difference);
        }
        run.steps.fetch_add(steps, std::memory_order_relaxed);  // read after the threads are joined
    }
}

Shape shape_of(const Run& run) {
    Shape shape;
    shape.locations = run.field.reachable();
    shape.copy_bytes_max = run.options.strip_bytes * 2 / 5;
    shape.are_failures_allowed = run.options.style != "strips";
    shape.is_cont_allowed = run.options.style != "strips";
    shape.threads = run.options.style == "relay" ? run.options.threads : 1;
    return shape;
}

// Compares the owners' counters with the effects of all issuers of the job. Collective.
bool check_counters(const Run& run, const std::vector<std::unique_ptr<Issuer>>& issuers) {
    bool is_good = true;
    for (std::size_t location = 0; location < run.field.locations(); ++location) {
        for (std::size_t number = 0; number < counters; ++number) {
            std::uint64_t added = 0;
            std::uint64_t flipped = 0;
            for (const auto& issuer : issuers) {
                added += issuer->model().added[location][number];
                flipped ^= issuer->model().flipped[location][number];
            }
            // Even counters are added to, odd ones flipped.
            std::uint64_t wanted = 0;
            for (const std::uint64_t part : exchange(number % 2 == 0 ? added : flipped)) {
                wanted = number % 2 == 0 ? wanted + part : wanted ^ part;
            }
            if (location % run.procs != run.rank) {
                continue;
            }
            const std::uint64_t seen = run.field.own_counter(location / run.procs, number);
            if (seen != wanted) {
                std::fprintf(
                    stderr, "rank %zu: counter %zu of location %zu is %llu, not %llu (seed %llu)\n",
                    run.rank, number, location, static_cast<unsigned long long>(seen),
                    static_cast<unsigned long long>(wanted),
                    static_cast<unsigned long long>(run.options.seed));
                is_good = false;
            }
        }
    }
    return is_good;
}

bool run_all(const Options& options) {
    Run run(options);
    const std::size_t own_issuers = run.own_issuers();
    std::vector<std::unique_ptr<Issuer>> issuers;
    std::vector<std::size_t> numbers;
    for (std::size_t index = 0; index < own_issuers; ++index) {
        numbers.push_back(run.rank * options.threads + index);
        issuers.push_back(std::make_unique<Issuer>(run.field, numbers.back(), shape_of(run)));
    }
    sync_ranks();
    const std::int64_t start = now_ns();
    if (options.style == "relay") {
        Relay relay(*issuers[0], options.threads);
        run_share(run, *issuers[0], numbers[0], &relay);
    } else {
        std::vector<std::thread> threads;
        for (std::size_t index = 1; index < own_issuers; ++index) {
            threads.emplace_back(
                [&, index] { run_share(run, *issuers[index], numbers[index], nullptr); });
        }
        run_share(run, *issuers[0], numbers[0], nullptr);
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    acp_complete(ACP_HANDLE_ALL);
    sync_ranks();
    const std::int64_t end = now_ns();
    const bool is_good = check_counters(run, issuers);
    if (run.rank == 0) {
        std::printf(
            "%llu programs (style %s, %zu ranks, seed %llu), %llu steps by rank 0, %.2f s\n",
            static_cast<unsigned long long>(options.programs), options.style.c_str(), run.procs,
            static_cast<unsigned long long>(options.seed),
            static_cast<unsigned long long>(run.steps.load(std::memory_order_relaxed)),
            static_cast<double>(end - start) / static_cast<double>(second_ns));
    }
    return is_good;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::Options options;
    CLI::App app("Random programs against a sequential model; start it under acprun");
    app.add_option("--seed", options.seed, "repeats a run; default: a fresh one");
    app.add_option("--first", options.first, "number of the first program of every issuer");
    app.add_option("--programs", options.programs, "programs of the whole job");
    app.add_option("--style", options.style)->check(CLI::IsMember({"single", "strips", "relay"}));
    app.add_option("--threads", options.threads)->check(CLI::Range(1, 64));
    app.add_option("--strip", options.strip_bytes, "bytes per issuer and location")
        ->check(CLI::Range(64, 1 << 20));
    app.add_option("--watchdog", options.watchdog_seconds, "seconds");
    CLI11_PARSE(app, argc, argv);
    acp::test::arm_watchdog(options.watchdog_seconds, "random programs");
    if (acp_init(nullptr, nullptr) != 0) {
        std::fprintf(stderr, "acp_init: %s\n", acp_error_message());
        return 2;
    }
    // All ranks need the same seed: rank 0's.
    if (options.seed == 0) {
        options.seed = acp::test::exchange(acp::test::fresh_seed() >> 16).front();
    }
    const bool is_good = acp::test::run_all(options);
    if (acp_finalize() != 0) {
        std::fprintf(stderr, "acp_finalize: %s\n", acp_error_message());
        return 2;
    }
    return is_good ? 0 : 1;
}
