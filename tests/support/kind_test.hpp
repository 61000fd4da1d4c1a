// SPDX-License-Identifier: BSD-3-Clause
// A ranked test that runs over both kinds of memory: the parameter is the kind. Collective; main
// thread.
#pragma once

#include <gtest/gtest.h>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {

class KindTest : public RankedTest, public ::testing::WithParamInterface<Kind> {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(120);
    }

    // Whether this rank reaches another's memory of the kind.
    [[nodiscard]] bool reaches(int owner) const {
        return GetParam() == Kind::starter || owner == rank_ || mode().reaches_private_memory();
    }

    // The rank `distance` after this one, in a circle; negative: before it.
    [[nodiscard]] int rank_at(int distance) const { return (rank_ + distance + procs_) % procs_; }

    [[nodiscard]] int next() const { return rank_at(1); }

    [[nodiscard]] int previous() const { return rank_at(-1); }
};

}  // namespace acp::test
