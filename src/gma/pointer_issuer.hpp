// SPDX-License-Identifier: BSD-3-Clause
// Issuing copies one end of which is a plain pointer of the caller: acp_put, acp_get,
// acp_put_signal. If the order is satisfied and the other end is mapped here, or the kernel reaches
// it, the calling thread moves the bytes at once, because its own memory needs no address. Else the
// end is given one (local_ends.hpp), and the command is an ordinary copy. Any thread.
// Tests: tests/conformance/put_test.cpp, put_signal_test.cpp.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/issuer.hpp"
#include "gma/local_ends.hpp"

namespace acp::gma {

// A copy between a pointer and an address.
struct PointerCopy {
    GlobalAddress address = 0;
    LocalEnds::End end;  // the pointer, the bytes, the direction
    memory::IssuedBy call = memory::IssuedBy::put;
};

// The add that follows a put.
struct Signal {
    GlobalAddress word = 0;
    std::uint64_t value = 0;
};

class PointerIssuer {
public:
    //   parts, hazards, attach, ends, marks  must outlive this
    PointerIssuer(Issuer& issuer,
                  const Issuer::Parts& parts,
                  local::Hazards& hazards,
                  local::Attach& attach,
                  LocalEnds& ends,
                  const Marks& marks,
                  const base::Config& config,
                  const local::Space& space) noexcept;

    // Always gives a handle; a bad pointer or address gives a failed one.
    // Errors: of a copy; argument (the pointer is null, or its memory is not mapped), limit (no
    // room for a registration).
    Handle issue(const PointerCopy& copy, Handle order);

    // issue() of a put, then an add on a word without a target, under one handle. The add runs when
    // the put has ended well; a failure of either is the handle's.
    Handle issue_signalled(const PointerCopy& put, const Signal& signal, Handle order);

    // issue() of a put that cannot run at once, with an operation behind it: Issuer::issue_followed().
    Handle issue_followed(const PointerCopy& put, const Invocation& call, Handle order);

    // The add as a command of acp_put_signal.
    [[nodiscard]] static Command add_of(
        const Signal& signal, memory::IssuedBy call = memory::IssuedBy::put_signal) noexcept;

private:
    [[nodiscard]] bool run_at_once(const PointerCopy& copy, Handle order);
    [[nodiscard]] bool move(const PointerCopy& copy, memory::HazardLine& line);
    [[nodiscard]] base::Status give_address(const PointerCopy& copy,
                                            Handle order,
                                            Command& command);
    [[nodiscard]] base::Result<LocalEnds::Loan> lend(const PointerCopy& copy, Handle order);
    [[nodiscard]] LocalEnds::Loan wait_for_block(const LocalEnds::End& end);
    [[nodiscard]] base::Result<LocalEnds::Loan> wait_for_registration(const PointerCopy& copy);
    Handle issue_queued(const Command& command, Command* second, Handle order);
    [[gnu::cold]] base::Status bad_pointer(const PointerCopy& copy, base::Status why) const;

    Issuer& issuer_;
    Issuer::Parts parts_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    LocalEnds& ends_;
    const Marks& marks_;
    const local::Space& space_;
    std::uint64_t at_once_bytes_max_;
    bool may_run_at_once_;
    bool is_link_polled_here_;
};

}  // namespace acp::gma
