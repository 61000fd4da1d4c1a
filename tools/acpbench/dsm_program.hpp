// SPDX-License-Identifier: BSD-3-Clause
// A program on shared pages as the experiment `dsm-programs` runs it: on all ranks, and on one
// process's private memory, with the same result. One file each; functions here make them.
// Collective calls unless said otherwise; each rank's main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <acp.h>

#include "job.hpp"

namespace acp::bench {

class DsmProgram {
public:
    DsmProgram() = default;
    DsmProgram(const DsmProgram&) = delete;
    DsmProgram& operator=(const DsmProgram&) = delete;
    // Frees what lies in shared pages.
    virtual ~DsmProgram() = default;

    // Makes the input, the same each time. Ends with a barrier.
    virtual void prepare() = 0;

    // What is timed. Ends with a barrier.
    virtual void run() = 0;

    // Nanoseconds of the last run() on this rank after its third barrier; 0: the program does not
    // say.
    [[nodiscard]] virtual double settled_ns() const { return 0; }

    // Not collective, any rank: the same from the same input in private memory, without any call of
    // ACP. Makes the input first, and returns the nanoseconds of the rest.
    virtual double run_alone() = 0;

    // Not collective, after run() and run_alone() on this rank: whether this rank's part of the
    // result is that of run_alone(). A rank reads no other one's part: pages that another node has
    // read once cost their home more in each later run.
    [[nodiscard]] virtual bool is_right() = 0;
};

// A rank's place, and the size of the problems.
struct ProgramPlace {
    int rank = 0;
    int ranks = 1;
    bool is_quick = false;

    [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(rank); }

    [[nodiscard]] std::size_t all() const { return static_cast<std::size_t>(ranks); }

    // Where this rank's part of `count` elements begins; `rank` + 1: where it ends.
    [[nodiscard]] std::size_t cut(std::size_t count, std::size_t at) const {
        return count * at / all();
    }
};

// An array of elements in shared pages; its pages follow their writers unless a policy is given.
template <typename T>
class SharedArray {
public:
    explicit SharedArray(std::size_t count,
                         acp_home_t policy = ACP_HOME_MIGRATING,
                         std::uint64_t argument = 0)
        : count_(count),
          data_(static_cast<T*>(acp_alloc_home_dsm(count * sizeof(T), policy, argument))) {
        must(data_ != nullptr);
    }

    SharedArray(const SharedArray&) = delete;
    SharedArray& operator=(const SharedArray&) = delete;

    ~SharedArray() { must(acp_free_dsm(data_) == 0); }

    [[nodiscard]] T* data() const { return data_; }

    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

    [[nodiscard]] T& operator[](std::size_t i) const { return data_[i]; }

private:
    std::size_t count_;
    T* data_;
};

inline void program_barrier() {
    must(acp_barrier_dsm() == 0);
}

// The i-th number of a fixed random sequence.
[[nodiscard]] inline std::uint64_t random_at(std::uint64_t i) {
    std::uint64_t x = i * 0x9e3779b97f4a7c15U + 0x1234567;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

using ProgramMaker = std::unique_ptr<DsmProgram> (*)(const ProgramPlace& place);

// SOR on 1024 x 2048 doubles, whose rows fill pages; on 1022 x 2050, where the page at the border
// of two ranks has both as writers; with two OpenMP threads in each rank; and by hand with acp_put.
std::unique_ptr<DsmProgram> make_sor_aligned(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_sor_unaligned(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_sor_hinted(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_sor_threaded(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_sor_by_hand(const ProgramPlace& place);

// Jacobi's method on 128^3 doubles, divided into slabs.
std::unique_ptr<DsmProgram> make_jacobi_3d(const ProgramPlace& place);

// LU decomposition without pivoting of 512 x 512 doubles, rows dealt to the ranks in turn: with
// each page's home on the node that writes it, and with all homes on the node of rank 0 at first.
std::unique_ptr<DsmProgram> make_lu(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_lu_wrong_homes(const ProgramPlace& place);

// The product of two matrices of 512 x 512 doubles: the second one comes by faults, or by
// acp_prefetch_dsm; with two OpenMP threads in each rank; and by hand with acp_get.
std::unique_ptr<DsmProgram> make_matrix(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_matrix_prefetched(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_matrix_threaded(const ProgramPlace& place);
std::unique_ptr<DsmProgram> make_matrix_by_hand(const ProgramPlace& place);

// Join of 2^17 with 2^18 tuples of 16 bytes: each rank moves its tuples to partitions, and joins
// one of them.
std::unique_ptr<DsmProgram> make_hash_join(const ProgramPlace& place);

// Sorts 2^20 numbers of 8 bytes by regular samples.
std::unique_ptr<DsmProgram> make_sort(const ProgramPlace& place);

// Counters in one shared page that all ranks increment, each increment under a lock, by acp_get and
// acp_put.
std::unique_ptr<DsmProgram> make_counters(const ProgramPlace& place);
// The same with the counters bound to the lock (acp_bind_dsm).
std::unique_ptr<DsmProgram> make_bound_counters(const ProgramPlace& place);

}  // namespace acp::bench
