// SPDX-License-Identifier: BSD-3-Clause
// What the experiments on copies share: the memory of each rank, the four directions of paper 000,
// and the bare copies they are compared with. Knows nothing of rows. Rank 0's main thread, after
// set-up by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "os/mapping.hpp"

#include <acp.h>

#include "job.hpp"

namespace acp::bench {

struct Direction {
    const char* name;
    int target;  // rank
    int source;
};

inline constexpr Direction directions[] = {
    {"remote-to-remote", 2, 1},
    {"remote-to-local", 0, 1},
    {"local-to-remote", 1, 0},
    {"local-to-local", 0, 0},
};

// Two regions of every rank: what is copied from, and what is copied to. Filled with a pattern of
// the rank's. Made by all ranks together.
class Regions {
public:
    enum class Kind { starter, registered };

    // `bytes`: of one region, cut to what the starter memory holds.
    Regions(Job& job, Kind kind, std::size_t bytes);
    ~Regions();
    Regions(const Regions&) = delete;
    Regions& operator=(const Regions&) = delete;

    [[nodiscard]] Kind kind() const { return kind_; }

    [[nodiscard]] const char* name() const {
        return kind_ == Kind::starter ? "starter" : "registered";
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    [[nodiscard]] acp_ga_t source_ga(int rank) const {
        return sites_[static_cast<std::size_t>(rank)].ga;
    }

    [[nodiscard]] acp_ga_t target_ga(int rank) const { return source_ga(rank) + bytes_; }

    // Where this process reaches them; for registered memory of others nullptr.
    [[nodiscard]] char* source(int rank) const {
        return sites_[static_cast<std::size_t>(rank)].mapped;
    }

    [[nodiscard]] char* target(int rank) const {
        return source(rank) == nullptr ? nullptr : source(rank) + bytes_;
    }

    // Where and in which process they lie, for the kernel's copies.
    [[nodiscard]] int pid(int rank) const { return sites_[static_cast<std::size_t>(rank)].pid; }

    [[nodiscard]] std::uint64_t address(int rank) const {
        return sites_[static_cast<std::size_t>(rank)].address;
    }

    // true when `bytes` bytes at `data` are the first of the source region of that rank.
    [[nodiscard]] static bool is_pattern(int rank, const char* data, std::size_t bytes);

private:
    struct Site {
        acp_ga_t ga;
        char* mapped;
        std::uint64_t address;
        int pid;
    };

    void fill(char* source, int rank) const;

    Kind kind_;
    std::size_t bytes_;
    os::Mapping own_;
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    std::vector<Site> sites_;
};

// Loops of one body each, never merged with what surrounds them and never seeing a constant size.
void copy_and_complete(acp_ga_t target, acp_ga_t source, std::size_t bytes, std::uint64_t count);
void copy_streamed(acp_ga_t target, acp_ga_t source, std::size_t bytes, std::uint64_t count);
// With copies_under_way of them issued and not yet completed.
inline constexpr std::uint64_t copies_under_way = 16;
void copy_deep(acp_ga_t target, acp_ga_t source, std::size_t bytes, std::uint64_t count);
// libc's memcpy by a call of it.
void copy_by_memcpy(char* target, const char* source, std::size_t bytes, std::uint64_t count);

// The kernel's copies between the regions of two ranks for a direction: one call when this process
// is an end, else two through `bounce`.
class KernelCopy {
public:
    KernelCopy(const Regions& regions, const Direction& direction, char* bounce)
        : regions_(regions), direction_(direction), bounce_(bounce) {}

    void run(std::size_t bytes, std::uint64_t count) const;

private:
    const Regions& regions_;
    Direction direction_;
    char* bounce_;
};

}  // namespace acp::bench
