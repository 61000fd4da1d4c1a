// SPDX-License-Identifier: BSD-3-Clause
// The sentences about races on shared pages (dsm/race_check.hpp), as the program's author reads them:
// the bytes by their address and their place in the allocation, the nodes, and their ranks. Pure.
// Tests: tests/unit/dsm/race_report_test.cpp.
#pragma once

#include <string>

#include "dsm/race_check.hpp"
#include "dsm/window.hpp"
#include "team/membership.hpp"

#include "pages/allocated_pages.hpp"

namespace acp::dsm {

// All of them outlive the report.
class RaceReport {
public:
    //   ranks  all of the job
    RaceReport(const Window& window,
               const pages::AllocatedPages& allocated,
               const team::Membership& ranks) noexcept
        : window_(window), allocated_(allocated), ranks_(ranks) {}

    // "nodes 0 and 1 have both written 8 bytes of shared pages without an order: ..."
    [[nodiscard]] std::string sentence_of(const PageRace& race) const;

    // Of all races of a barrier, for an error: the first one, and the number of the others.
    //   log  has one or more
    [[nodiscard]] std::string summary_of(const RaceLog& log) const;

    // Prints a line for each race of a barrier that the log lists, and one for all that it does not have.
    //   stops  the races are an error of the barrier: only the rest is printed
    void print(const RaceLog& log, bool stops) const;

private:
    [[nodiscard]] std::string writer_of(const PageRace& race, std::size_t which) const;

    const Window& window_;
    const pages::AllocatedPages& allocated_;
    const team::Membership& ranks_;
};

}  // namespace acp::dsm
