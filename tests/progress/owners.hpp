// SPDX-License-Identifier: BSD-3-Clause
// Owners that do not help: a rank that sleeps, is stopped, or computes, without a call into the
// library, until the initiator releases it. Rank 0 is the initiator, all others are owners. Main
// thread.
#pragma once

#include <memory>
#include <sys/types.h>
#include <vector>

#include "support/arena.hpp"
#include "support/commons.hpp"
#include "support/ranked.hpp"

namespace acp::test {

enum class Absence { sleeping, stopped, computing };

[[nodiscard]] const char* name_of(Absence absence);

class ProgressTest : public RankedTest {
protected:
    void SetUp() override;

    // Runs the initiator's body on rank 0 while every other rank is absent. Collective.
    template <typename Body>
    void while_owners_are(Absence absence, Body&& body) {
        prepare();
        if (rank_ == 0) {
            await_absence(absence);
            body();
            release(absence);
        } else {
            be_absent(absence);
        }
        sync_ranks();
    }

    // A word for the tests, mapped by all ranks; zero when a test begins.
    [[nodiscard]] std::uint64_t& common_word() const { return (*notices_)->word; }

private:
    // A rank's last words before its absence, and the word that ends it.
    struct Notice {
        std::uint64_t is_leaving;
        std::uint64_t may_return;
    };

    static constexpr int ranks_max = 16;

    struct Notices {
        std::uint64_t word;
        Notice of[ranks_max];
    };

    [[nodiscard]] Notice& notice_of(int rank) const;
    void prepare() const;
    void be_absent(Absence absence) const;
    void await_absence(Absence absence) const;
    void release(Absence absence) const;

    std::unique_ptr<Commons<Notices>> notices_;
    std::vector<pid_t> processes_;
};

// The first offset at which tests may place starter arenas.
inline constexpr std::size_t arenas_begin = 8192;

}  // namespace acp::test
