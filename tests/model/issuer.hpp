// SPDX-License-Identifier: BSD-3-Clause
// An issuer: a thread of a rank (or several threads that alternate) that runs random programs on
// its own strips of every rank's memory and compares the strips with the model after each. It
// shares only counters with other issuers. Used by one thread, except for issue_step(), which the
// threads of a relay call in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <acp.h>

#include "model/program.hpp"
#include "support/arena.hpp"

namespace acp::test {

// The memory of a run. Locations 0 .. procs-1 are the ranks' starter memories, procs .. 2*procs-1
// their registered ones; each begins with the shared counters, and then has the strips of all
// issuers.
class Field {
public:
    static constexpr std::size_t header_bytes = 64;

    // Collective.
    Field(std::size_t issuers, std::size_t strip_bytes);

    [[nodiscard]] std::size_t locations() const noexcept { return 2 * procs_; }

    [[nodiscard]] std::size_t strip_bytes() const noexcept { return strip_bytes_; }

    [[nodiscard]] acp_ga_t counter(std::size_t location, std::size_t number) const;
    [[nodiscard]] acp_ga_t strip(std::size_t location, std::size_t issuer) const;

    // The address at which this process can load the strip, or nullptr.
    [[nodiscard]] const std::byte* mapped_strip(std::size_t location, std::size_t issuer) const;

    // The caller's own counters of its starter (kind 0) or registered (kind 1) memory.
    [[nodiscard]] std::uint64_t own_counter(std::size_t kind, std::size_t number) const;

    // The locations that this rank can reach in this mode.
    [[nodiscard]] std::vector<std::size_t> reachable() const;

private:
    [[nodiscard]] acp_ga_t begin(std::size_t location) const;

    std::size_t procs_;
    std::size_t strip_bytes_;
    Arena starter_;
    Arena registered_;
};

class Issuer {
public:
    //   number  among all issuers of the job
    Issuer(const Field& field, std::size_t number, Shape shape);
    Issuer(const Issuer&) = delete;
    Issuer& operator=(const Issuer&) = delete;
    ~Issuer();

    // Makes the next program from a seed.
    const Program& prepare(std::uint64_t seed);

    // Issues one step and does what the program says after it. Steps come in order, from any
    // thread.
    void issue_step(std::size_t index);

    // Completes the program and compares memory with the model. Returns "" or the first difference.
    [[nodiscard]] std::string finish();

    [[nodiscard]] const Program& program() const noexcept { return program_; }

    [[nodiscard]] const Model& model() const noexcept { return model_; }

private:
    [[nodiscard]] acp_ga_t address(const Spot& spot) const;
    [[nodiscard]] acp_handle_t issue(const Step& step, acp_ga_t target, acp_handle_t order) const;
    [[nodiscard]] acp_handle_t order_of(const Step& step) const;
    [[nodiscard]] acp_ga_t target_of(std::size_t index) const;
    void follow(const Step& step);
    [[nodiscard]] std::string collect_failures();
    [[nodiscard]] std::string compare();

    const Field& field_;
    std::size_t number_;
    Shape shape_;
    Model model_;
    Program program_;
    std::vector<acp_handle_t> handles_;
    std::vector<std::byte> scratch_;  // sinks of counting steps, then the strips read back
    acp_atkey_t scratch_key_;
    acp_ga_t scratch_address_;
    std::string trouble_;
};

}  // namespace acp::test
