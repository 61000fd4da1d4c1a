// SPDX-License-Identifier: BSD-3-Clause
// Counters under a lock. If they are bound to it, their bytes travel with the lock, and a rank
// increments them by plain stores. Otherwise only barriers move the bytes of shared pages between
// nodes: a rank that holds the lock gets the counter from the page's home, and puts it back there
// before it releases the lock.
#include <array>

#include "os/clock.hpp"

#include "dsm_program.hpp"

namespace acp::bench {

namespace {

constexpr std::size_t counter_count = 16;

class CountersProgram final : public DsmProgram {
public:
    CountersProgram(const ProgramPlace& place, bool is_bound)
        : place_(place),
          is_bound_(is_bound),
          steps_(place.is_quick ? 50 : 1000),
          counters_(counter_count, ACP_HOME_RANK, 0) {
        acp_lock_t lock = {ACP_GA_NULL};
        if (place.rank == 0) {
            lock = acp_create_lock(0);
            must(lock.ga != ACP_GA_NULL);
        }
        must(acp_broadcast_team(acp_world_team(), &lock, sizeof lock, 0) == 0);
        lock_ = lock;
        if (is_bound_) must(acp_bind_dsm(lock_, counters_.data(), counters_.bytes()) == 0);
    }

    CountersProgram(const CountersProgram&) = delete;
    CountersProgram& operator=(const CountersProgram&) = delete;

    ~CountersProgram() override {
        if (is_bound_) must(acp_bind_dsm(lock_, counters_.data(), 0) == 0);
        if (place_.rank == 0) must(acp_free_lock(lock_) == 0);
    }

    void prepare() override {
        if (place_.rank == 0) {
            must(acp_lock(lock_) == 0);
            for (std::size_t i = 0; i < counter_count; ++i) counters_[i] = 0;
            must(acp_unlock(lock_) == 0);
        }
        program_barrier();
    }

    void run() override {
        for (std::uint64_t step = 0; is_bound_ && step < steps_; ++step) {
            must(acp_lock(lock_) == 0);
            ++counters_[counter_at(place_.own(), step)];
            must(acp_unlock(lock_) == 0);
        }
        for (std::uint64_t step = 0; !is_bound_ && step < steps_; ++step) {
            const acp_ga_t counter = acp_query_ga_dsm(&counters_[counter_at(place_.own(), step)]);
            must(counter != ACP_GA_NULL);
            must(acp_lock(lock_) == 0);
            std::uint64_t value = 0;
            must(acp_wait(acp_get(&value, counter, sizeof value, ACP_HANDLE_NULL), -1) == 0);
            ++value;
            must(acp_wait(acp_put(counter, &value, sizeof value, ACP_HANDLE_NULL), -1) == 0);
            must(acp_unlock(lock_) == 0);
        }
        program_barrier();
    }

    double run_alone() override {
        alone_.fill(0);
        const std::uint64_t start = os::now_ns();
        for (std::size_t rank = 0; rank < place_.all(); ++rank) {
            for (std::uint64_t step = 0; step < steps_; ++step) {
                volatile std::uint64_t& counter = alone_[counter_at(rank, step)];
                counter = counter + 1;
            }
        }
        return static_cast<double>(os::now_ns() - start);
    }

    // Rank 0 is on the home of the counters.
    bool is_right() override {
        if (place_.rank != 0) return true;
        for (std::size_t i = 0; i < counter_count; ++i) {
            if (counters_[i] != alone_[i]) return false;
        }
        return true;
    }

private:
    [[nodiscard]] std::size_t counter_at(std::size_t rank, std::uint64_t step) const {
        return random_at(rank * steps_ + step) % counter_count;
    }

    ProgramPlace place_;
    bool is_bound_;
    std::uint64_t steps_;
    SharedArray<std::uint64_t> counters_;
    acp_lock_t lock_{ACP_GA_NULL};
    std::array<std::uint64_t, counter_count> alone_{};
};

}  // namespace

std::unique_ptr<DsmProgram> make_counters(const ProgramPlace& place) {
    return std::make_unique<CountersProgram>(place, false);
}

std::unique_ptr<DsmProgram> make_bound_counters(const ProgramPlace& place) {
    return std::make_unique<CountersProgram>(place, true);
}

}  // namespace acp::bench
