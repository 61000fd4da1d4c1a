// SPDX-License-Identifier: BSD-3-Clause
// Critical sections: a pair of acp_lock and acp_unlock without bytes, and of locks to which 8 and 992
// bytes of shared pages are bound (acp_bind_dsm), which the section changes. On the own node beside a
// robust mutex of the C library in shared memory; from another node, alone and by two nodes in turn,
// beside two round trips (acp_get of 8 bytes). The rows alternate batch by batch; medians.
//   acprun -n 2 [--nodes 2] lock_speed
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <acp.h>

namespace {

constexpr int batches = 101;
constexpr double batch_ns = 1'000'000;
constexpr std::size_t long_words = ACP_BIND_BYTES_MAX / 8;

using Step = std::function<void()>;

double ns_per_call(const Step& step, int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) step();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / calls;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

struct Row {
    std::string name;
    Step step;
    int calls = 1;
    std::vector<double> ns = {};
};

// The first row is the yardstick.
void measure(const char* title, double yardsticks, std::vector<Row> rows) {
    for (Row& row : rows) {
        const double guess = std::min(ns_per_call(row.step, 20), ns_per_call(row.step, 20));
        row.calls = std::max(1, static_cast<int>(batch_ns / guess));
    }
    for (int batch = 0; batch < batches; ++batch)
        for (Row& row : rows) row.ns.push_back(ns_per_call(row.step, row.calls));
    std::printf("%s\n", title);
    const double unit = yardsticks * median(rows[0].ns);
    for (const Row& row : rows)
        std::printf("  %-48s %10.1f ns %8.3f\n", row.name.c_str(), median(row.ns),
                    median(row.ns) / unit);
}

void must(bool is_right) {
    if (!is_right) acp_abort(acp_error_message());
}

class RobustMutex {
public:
    RobustMutex()
        : mutex_(static_cast<pthread_mutex_t*>(
              mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(mutex_, &attributes);
    }

    void pair() {
        pthread_mutex_lock(mutex_);
        pthread_mutex_unlock(mutex_);
    }

private:
    pthread_mutex_t* mutex_;
};

// A lock in the heap of a rank, with words that are bound to it.
struct Guarded {
    acp_lock_t lock{ACP_GA_NULL};
    std::uint64_t* words = nullptr;
    std::size_t count = 0;

    void section() const {
        must(acp_lock(lock) >= 0);
        for (std::size_t i = 0; i < count; ++i) ++words[i];
        must(acp_unlock(lock) == 0);
    }
};

Guarded make(int home, std::uint64_t* words, std::size_t count) {
    const acp_ga_t shared = acp_query_starter_ga(home);
    Guarded made{{ACP_GA_NULL}, words, count};
    if (acp_rank() == home) {
        made.lock = acp_create_lock(home);
        acp_complete(acp_put(shared, &made.lock, sizeof made.lock, ACP_HANDLE_NULL));
    }
    acp_sync();
    acp_complete(acp_get(&made.lock, shared, sizeof made.lock, ACP_HANDLE_NULL));
    acp_sync();
    if (count != 0) must(acp_bind_dsm(made.lock, words, count * 8) == 0);
    return made;
}

// All ranks enter so many sections at once. Returns the time of one, on rank 0.
double contended_ns(const Guarded& guarded, int sections) {
    acp_sync();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < sections; ++i) guarded.section();
    acp_sync();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / sections / acp_procs();
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0 || acp_init_dsm(1 << 16) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    auto* const words = static_cast<std::uint64_t*>(acp_alloc_dsm(6 * 4096));
    must(words != nullptr);
    const int last = acp_procs() - 1;
    const auto page = [words](std::size_t number) { return words + number * 512; };
    const Guarded near = make(0, nullptr, 0);
    const Guarded near_short = make(0, page(0), 1);
    const Guarded near_long = make(0, page(1), long_words);
    const Guarded far = make(last, nullptr, 0);
    const Guarded far_short = make(last, page(2), 1);
    const Guarded far_long = make(last, page(3), long_words);
    const acp_ga_t there = acp_query_starter_ga(last);
    if (acp_rank() == 0) {
        RobustMutex mutex;
        std::uint64_t value = 0;
        measure("own node: ns, and multiples of a robust mutex", 1,
                {{"robust mutex, lock and unlock", [&] { mutex.pair(); }},
                 {"acp_lock and acp_unlock", [&] { near.section(); }},
                 {"with 8 bound bytes", [&] { near_short.section(); }},
                 {"with 992 bound bytes", [&] { near_long.section(); }}});
        measure("lock of the last rank: ns, and multiples of two round trips", 2,
                {{"acp_get of 8 bytes",
                  [&] { acp_complete(acp_get(&value, there, 8, ACP_HANDLE_NULL)); }},
                 {"acp_lock and acp_unlock", [&] { far.section(); }},
                 {"with 8 bound bytes", [&] { far_short.section(); }},
                 {"with 992 bound bytes", [&] { far_long.section(); }}});
    }
    std::vector<double> ns[3];
    for (int batch = 0; batch < batches; ++batch) {
        ns[0].push_back(contended_ns(near, 50));
        ns[1].push_back(contended_ns(near_short, 50));
        ns[2].push_back(contended_ns(near_long, 50));
    }
    if (acp_rank() == 0) {
        std::printf("all ranks at once: ns for a section\n");
        std::printf("  %-48s %10.1f ns\n", "acp_lock and acp_unlock", median(ns[0]));
        std::printf("  %-48s %10.1f ns\n", "with 8 bound bytes", median(ns[1]));
        std::printf("  %-48s %10.1f ns\n", "with 992 bound bytes", median(ns[2]));
    }
    return acp_finalize_dsm() == 0 && acp_finalize() == 0 ? 0 : 1;
}
