// SPDX-License-Identifier: BSD-3-Clause
// One rank of a job in which allocations of rank 0 are refused: issues commands of all kinds, waits
// for each, and checks that each has succeeded and moved its bytes, or has failed with
// ACP_ERR_MEMORY (or after a command that did) and left in its target old bytes, or some of the new
// ones. In a last round nothing is refused, and every command must succeed.
//   refused PHASE FIRST LAST STEP COUNT THREADS
//     PHASE  run, init, register, finalize: the part in which allocations are refused
//     FIRST .. LAST by STEP  the number of the refused allocation, one in each round;
//     COUNT  how many allocations are refused from there on, 0: all
// Exit code 0, or 1 with the failed check on stderr. Run by refusals_test.py.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "support/refuse_memory.hpp"

namespace {

using acp::test::Refusal;

constexpr unsigned seconds_max = 100;  // a round that takes longer hangs
constexpr std::size_t threads_max = 4;
constexpr std::size_t long_bytes = 300'000;
constexpr std::size_t region_bytes = 1024 * 1024;  // each thread of each initiator has one
constexpr int short_commands = 48;
constexpr int burst_commands = 300;
constexpr int chain_commands = 120;
constexpr std::uint64_t untouched = 0x1111111111111111;

bool has_failed = false;

#define CHECK(condition, ...)                                                 \
    do {                                                                      \
        if (!(condition)) {                                                   \
            std::fprintf(stderr, "rank %d, line %d: ", acp_rank(), __LINE__); \
            std::fprintf(stderr, __VA_ARGS__);                                \
            std::fputc('\n', stderr);                                         \
            has_failed = true;                                                \
        }                                                                     \
    } while (false)

struct Plan {
    std::string phase;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t step = 1;
    std::uint64_t count = 1;
    std::size_t threads = 1;
};

// The memory of this rank: a region for each thread of each initiator, and the sources of its own
// commands.
struct Ground {
    std::vector<char> bytes;
    acp_atkey_t key = ACP_ATKEY_NULL;
    std::vector<acp_ga_t> starts;  // addresses of all ranks' memories
};

struct Issued {
    acp_handle_t handle = 0;
    acp_ga_t target = 0;
    std::size_t size = 0;  // bytes of a copy that are checked; 0: none
    std::uint64_t value = 0;
    bool is_wild = false;
    bool has_gone_well = false;
};

class Worker {
public:
    //   is_alone  no other thread of this rank issues commands
    Worker(Ground& ground, std::size_t thread, bool is_alone)
        : ground_(ground),
          thread_(thread),
          is_alone_(is_alone),
          rank_(static_cast<std::size_t>(acp_rank())),
          procs_(static_cast<std::size_t>(acp_procs())) {
        issued_.reserve(4 * (short_commands + burst_commands + chain_commands));
    }

    // Issues all kinds of commands, and waits for all of them.
    //   is_refused  allocations may fail
    void round(std::uint64_t number, bool is_refused) {
        is_refused_ = is_refused;
        number_ = number;
        issued_.clear();
        next_ = {};
        put_words();
        issue_short();
        issue_chains();
        issue_burst();
        issue_pointers();
        issue_lists();
        issue_others();
        for (Issued& one : issued_) wait(one);
    }

    // Checks every target, while allocations succeed.
    void check() {
        for (const Issued& one : issued_) {
            if (one.size != 0) check_target(one);
        }
    }

private:
    // The start of this thread's region in a rank's memory.
    [[nodiscard]] acp_ga_t region(std::size_t rank) const {
        return ground_.starts[rank] + (rank_ * threads_max + thread_) * region_bytes;
    }

    [[nodiscard]] char* own(std::size_t offset) const {
        return ground_.bytes.data() + (rank_ * threads_max + thread_) * region_bytes + offset;
    }

    [[nodiscard]] std::size_t neighbour(std::size_t distance) const {
        return (rank_ + distance) % procs_;
    }

    [[nodiscard]] std::uint64_t value() const { return number_ << 20U | 0x5a; }

    // Fills the sources with one repeated word, so that any part of them has the same content.
    void put_words() const {
        const std::uint64_t word = value();
        for (std::size_t at = 0; at < source_bytes; at += sizeof word) {
            std::memcpy(own(at), &word, sizeof word);
        }
        auto* starter = static_cast<char*>(acp_query_address(acp_query_starter_ga(acp_rank())));
        std::memcpy(starter + thread_ * 64, &word, sizeof word);
    }

    // The next unused `size` bytes of the region on a rank.
    acp_ga_t place(std::size_t rank, std::size_t size) {
        const std::size_t at = source_bytes + next_[rank];
        next_[rank] += (size + 7) / 8 * 8;
        if (at + size > region_bytes) std::abort();
        return region(rank) + at;
    }

    acp_handle_t note(acp_handle_t handle, acp_ga_t target, std::size_t size) {
        if (handle == ACP_HANDLE_NULL) {
            CHECK(is_refused_ && acp_errno() == ACP_ERR_MEMORY, "no handle: %s",
                  acp_error_message());
        }
        issued_.push_back({handle, target, size, value(), false, false});
        return handle;
    }

    acp_handle_t copy(std::size_t to, std::size_t size, acp_handle_t order) {
        const acp_ga_t target = place(to, size);
        return note(acp_copy(target, region(rank_), size, order), target, size);
    }

    void issue_short() {
        for (int i = 0; i < short_commands; ++i) {
            copy(neighbour(1), 8, ACP_HANDLE_NULL);
            copy(neighbour(2), 200, ACP_HANDLE_NULL);
            const acp_ga_t target = place(neighbour(1), 8);
            const acp_ga_t starter = acp_query_starter_ga(acp_rank()) + thread_ * 64;
            note(acp_copy(target, starter, 8, ACP_HANDLE_NULL), target, 8);
        }
    }

    void issue_chains() {
        acp_handle_t last = copy(neighbour(1), 3000, ACP_HANDLE_NULL);
        for (int i = 0; i < chain_commands; ++i) {
            last = copy(neighbour(static_cast<std::size_t>(i) % procs_), 8, last);
        }
        copy(neighbour(1), 5000, ACP_HANDLE_NULL);
        for (int i = 0; i < chain_commands; ++i) copy(neighbour(1), 8, ACP_HANDLE_CONT);
        copy(neighbour(2), 16, ACP_HANDLE_ALL);
    }

    void issue_burst() {
        for (int i = 0; i < burst_commands; ++i) copy(neighbour(1), 8, ACP_HANDLE_NULL);
    }

    // A long copy, a third-party copy, atomics, and, if this thread is alone, a copy from an
    // invalid address.
    void issue_others() {
        copy(neighbour(1), long_bytes, ACP_HANDLE_NULL);
        const acp_ga_t target = place(neighbour(2), 8);
        note(acp_copy(target, region(neighbour(1)) + region_bytes - 8, 8, ACP_HANDLE_NULL), target,
             0);
        const acp_ga_t counter = acp_query_starter_ga(static_cast<int>(neighbour(1))) + 4096;
        for (int i = 0; i < short_commands; ++i) {
            const acp_ga_t old = place(rank_, 8);
            note(acp_add8(old, counter + thread_ * 64, 1, ACP_HANDLE_NULL), old, 0);
            const acp_ga_t word = region(neighbour(1)) + region_bytes - 16;
            const acp_ga_t old_private = place(rank_, 8);
            note(acp_swap4(old_private, word, 7, ACP_HANDLE_NULL), old_private, 0);
        }
        // A wait for a prefix of commands also returns failures of other threads' commands in it.
        // With other threads the invalid address would fail their commands, with another error than
        // ACP_ERR_MEMORY.
        if (is_alone_) {
            note(acp_copy(region(rank_), 8, 8, ACP_HANDLE_NULL), 0, 0);
            issued_.back().is_wild = true;
        }
    }

    acp_handle_t put(std::size_t to, std::size_t size, acp_handle_t order) {
        const acp_ga_t target = place(to, size);
        return note(acp_put(target, own(0), size, order), target, size);
    }

    // Copies from and to plain pointers: short ones at once, others through blocks and by
    // registration, in order, and with a signal.
    void issue_pointers() {
        const acp_ga_t signal = region(neighbour(1)) + region_bytes - 32;
        acp_handle_t last = ACP_HANDLE_NULL;
        for (const std::size_t size : {std::size_t{8}, std::size_t{200}, std::size_t{5000}}) {
            for (int i = 0; i < 3; ++i) {
                put(neighbour(1), size, ACP_HANDLE_NULL);
                last = put(neighbour(2), size, last);
            }
            const acp_ga_t target = place(neighbour(1), size);
            note(acp_put_signal(target, own(0), size, signal, 1, ACP_HANDLE_NULL), target, size);
            note(acp_get(landing_.data(), region(neighbour(1)), size, ACP_HANDLE_NULL), 0, 0);
        }
    }

    // Five ranges under one handle, each a command of its own.
    void issue_lists() {
        constexpr std::size_t pieces = 5;
        constexpr std::size_t size = 1000;
        acp_handle_t last = ACP_HANDLE_NULL;
        for (int i = 0; i < 3; ++i) {
            const acp_ga_t target = place(neighbour(1), pieces * size);
            std::array<acp_copy_range_t, pieces> ranges{};
            for (std::size_t piece = 0; piece < pieces; ++piece) {
                ranges[piece] = {target + piece * size, region(rank_) + piece * size, size};
            }
            last = note(acp_copy_v(ranges.data(), pieces, last), target, pieces * size);
        }
    }

    // All commands before it were awaited, so every failure reported now belongs to this command.
    void wait(Issued& one) {
        if (one.handle == ACP_HANDLE_NULL) return;
        one.has_gone_well = true;
        for (int code = acp_wait(one.handle, -1); code != 0; code = acp_wait(one.handle, -1)) {
            one.has_gone_well = false;
            const bool is_want =
                code == ACP_ERR_MEMORY || code == ACP_ERR_LIMIT || code == ACP_ERR_ORDER;
            CHECK((one.is_wild && code == ACP_ERR_ADDRESS) || (is_refused_ && is_want),
                  "a command ended with %d: %s", code, acp_error_message());
            if (has_failed) return;
        }
        CHECK(!one.is_wild || !one.has_gone_well, "a wild address was copied from");
    }

    void check_target(const Issued& one) {
        std::vector<char> seen(one.size);
        for (std::size_t at = 0; at < one.size;) {
            const std::size_t part = std::min(one.size - at, scratch_bytes);
            acp_complete(
                acp_copy(region(rank_) + scratch_at, one.target + at, part, ACP_HANDLE_NULL));
            std::memcpy(seen.data() + at, own(scratch_at), part);
            at += part;
        }
        std::uint64_t word = 0;
        for (std::size_t at = 0; at + 8 <= one.size; at += 8) {
            std::memcpy(&word, seen.data() + at, sizeof word);
            const bool is_new = word == one.value;
            const bool is_older = word == 0 || (word < one.value && (word & 0xfffffU) == 0x5a);
            CHECK(is_new || (is_older && !one.has_gone_well),
                  "round %llu: byte %zu of %zu is in word %llx",
                  static_cast<unsigned long long>(number_), at, one.size,
                  static_cast<unsigned long long>(word));
            if (has_failed) return;
        }
    }

    static constexpr std::size_t source_bytes = long_bytes / 8 * 8;
    static constexpr std::size_t scratch_bytes = 8192;
    static constexpr std::size_t scratch_at = source_bytes - scratch_bytes;

    Ground& ground_;
    std::size_t thread_;
    bool is_alone_;
    std::size_t rank_;
    std::size_t procs_;
    std::uint64_t number_ = 0;
    bool is_refused_ = false;
    std::vector<Issued> issued_;
    std::vector<char> landing_ = std::vector<char>(20'000);  // target of gets
    std::array<std::size_t, 64> next_{};
};

Ground make_ground() {
    Ground ground;
    const auto procs = static_cast<std::size_t>(acp_procs());
    ground.bytes.resize(procs * threads_max * region_bytes);
    ground.key = acp_register_memory(ground.bytes.data(), ground.bytes.size(), 0);
    CHECK(ground.key != ACP_ATKEY_NULL, "%s", acp_error_message());
    auto* starter = static_cast<acp_ga_t*>(acp_query_address(acp_query_starter_ga(acp_rank())));
    starter[256] = acp_query_ga(ground.key, ground.bytes.data());
    acp_sync();
    ground.starts.resize(procs);
    for (std::size_t rank = 0; rank < procs; ++rank) {
        const acp_ga_t own = acp_query_starter_ga(acp_rank()) + 257 * sizeof(acp_ga_t);
        const acp_ga_t theirs =
            acp_query_starter_ga(static_cast<int>(rank)) + 256 * sizeof(acp_ga_t);
        acp_complete(acp_copy(own, theirs, sizeof(acp_ga_t), ACP_HANDLE_NULL));
        ground.starts[rank] = starter[257];
    }
    acp_sync();
    return ground;
}

// Runs a round on all threads of this rank at the same time.
void all_do(std::vector<Worker>& workers, std::uint64_t number, bool is_refused, const Plan* plan) {
    std::vector<std::thread> threads;
    threads.reserve(workers.size());
    std::atomic<std::size_t> arrived{0};
    const auto work = [&](Worker& worker) {
        arrived.fetch_add(1);
        while (arrived.load() < workers.size()) std::this_thread::yield();
        worker.round(number, is_refused);
    };
    for (std::size_t i = 1; i < workers.size(); ++i) {
        threads.emplace_back(work, std::ref(workers[i]));
    }
    if (plan != nullptr) {
        const Refusal refusal(number, plan->count == 0 ? acp::test::all_from_there : plan->count);
        work(workers[0]);
        for (std::thread& thread : threads) thread.join();
    } else {
        work(workers[0]);
        for (std::thread& thread : threads) thread.join();
    }
}

// Registers and unregisters while allocations are refused: each call fails with a reason, or has
// its effect.
void register_refused(const Plan& plan) {
    std::vector<char> bytes(100'000);
    for (std::uint64_t number = plan.first; number <= plan.last; number += plan.step) {
        acp_atkey_t key = ACP_ATKEY_NULL;
        {
            const Refusal refusal(number, plan.count == 0 ? acp::test::all_from_there : plan.count);
            key = acp_register_memory(bytes.data(), bytes.size(), 0);
            CHECK(key != ACP_ATKEY_NULL || acp_errno() == ACP_ERR_MEMORY, "%s",
                  acp_error_message());
        }
        if (key == ACP_ATKEY_NULL) key = acp_register_memory(bytes.data(), bytes.size(), 0);
        CHECK(key != ACP_ATKEY_NULL, "with memory again: %s", acp_error_message());
        int result = 0;
        {
            const Refusal refusal(number, plan.count == 0 ? acp::test::all_from_there : plan.count);
            result = acp_unregister_memory(key);
            CHECK(result == 0 || acp_errno() == ACP_ERR_MEMORY, "%s", acp_error_message());
        }
        if (result != 0) result = acp_unregister_memory(key);
        CHECK(result == 0, "with memory again: %s", acp_error_message());
    }
}

void run(const Plan& plan) {
    const bool is_victim = acp_rank() == 0;
    Ground ground = make_ground();
    std::vector<Worker> workers;
    for (std::size_t i = 0; i < plan.threads; ++i)
        workers.emplace_back(ground, i, plan.threads == 1);
    std::uint64_t number = plan.first;
    for (; number <= plan.last && !has_failed; number += plan.step) {
        alarm(seconds_max);
        all_do(workers, number, true, is_victim ? &plan : nullptr);
        const std::uint64_t seen = Refusal::seen();
        for (Worker& worker : workers) worker.check();
        if (acp_sync() != 0) return;
        if (is_victim && number == plan.first) {
            std::printf("%llu requests\n", static_cast<unsigned long long>(seen));
        }
    }
    all_do(workers, plan.last + 1000, false, nullptr);
    for (Worker& worker : workers) worker.check();
    acp_sync();
    CHECK(acp_unregister_memory(ground.key) == 0, "%s", acp_error_message());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    Plan plan;
    plan.phase = argv[1];
    plan.first = std::strtoull(argv[2], nullptr, 10);
    plan.last = std::strtoull(argv[3], nullptr, 10);
    plan.step = std::strtoull(argv[4], nullptr, 10);
    plan.count = std::strtoull(argv[5], nullptr, 10);
    plan.threads = std::strtoull(argv[6], nullptr, 10);
    const std::uint64_t count = plan.count == 0 ? acp::test::all_from_there : plan.count;
    alarm(seconds_max);
    const char* rank = std::getenv("ACP_RANK");
    const bool is_victim = rank == nullptr || std::atoi(rank) == 0;
    int joined = 0;
    if (plan.phase == "init" && is_victim) {
        const Refusal refusal(plan.first, count);
        joined = acp_init(&argc, &argv);
    } else {
        joined = acp_init(&argc, &argv);
    }
    if (joined != 0) {
        // After the ranks' first barrier acp_init fails on all of them; else the others still wait
        // for the rank whose allocation was refused.
        std::printf("acp_init: %s\n", acp_error_message());
        const bool is_reason = acp_errno() == ACP_ERR_MEMORY || acp_errno() == ACP_ERR_LIMIT;
        if (plan.phase != "init" || !is_reason) return 1;
        joined = acp_init(&argc, &argv);
        CHECK(joined == 0, "acp_init, with memory again: %s", acp_error_message());
        if (joined != 0) return 1;
    }
    if (plan.phase == "register" && is_victim) register_refused(plan);
    if (plan.phase == "run") run(plan);
    int left = 0;
    if (plan.phase == "finalize" && is_victim) {
        const Refusal refusal(plan.first, count);
        left = acp_finalize();
    } else {
        left = acp_finalize();
    }
    CHECK(left == 0 || plan.phase == "finalize", "acp_finalize: %s", acp_error_message());
    return has_failed ? 1 : 0;
}
