// SPDX-License-Identifier: BSD-3-Clause
// Issues one numbered operation, or two commands.
#include "message/signalled_put.hpp"

#include <array>
#include <cstdint>
#include <span>

#include "local/direct.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

namespace {

// Whether both ends may be good. An end that is known to be bad goes as a command, whose failure
// names that end, and the segment's size and the offset in it: an operation's failure has a code
// alone.
bool may_be_good(const local::Space& space, const gma::PointerCopy& put, std::uint64_t word) {
    constexpr std::uint64_t signal_bytes = sizeof(std::uint64_t);
    return space.is_elsewhere(put.address, put.end.bytes) &&
           space.is_elsewhere(word, signal_bytes) &&
           (!space.is_shared(word) || word % signal_bytes == 0);
}

// The operation that a gateway runs on memory of another node.
gma::Invocation invocation_of(const gma::Gma& gma, const operations::PutSignal& head) {
    gma::Invocation call;
    call.process = static_cast<std::uint32_t>(gma.space().layout().process(head.target));
    call.operation = operations::put_signal_add_number;
    call.arguments = std::as_bytes(std::span(&head, 1));
    return call;
}

// Issues one operation to another node, for a short put whose bytes can be read now.
gma::Handle issue_as_operation(gma::Gma& gma,
                               const gma::PointerCopy& put,
                               const gma::Signal& signal,
                               gma::Handle order) {
    const operations::PutSignal head{put.address, signal.word, signal.value};
    const char* source = put.end.memory;
    // A word that other threads write is read as one.
    std::array<char, local::few_bytes_max> few;  // NOLINT: written as far as read
    if (put.end.bytes != 0 && put.end.bytes <= few.size()) {
        local::move_bytes(few.data(), source, put.end.bytes);
        source = few.data();
    }
    gma::Invocation call = invocation_of(gma, head);
    call.tail = {std::as_bytes(std::span(source, put.end.bytes))};
    return gma.issue_invoke(call, order);
}

// Issues the put, and the operation that adds behind it: in one flight, where the link keeps their
// order.
gma::Handle issue_followed(gma::Gma& gma,
                           const gma::PointerCopy& put,
                           const gma::Signal& signal,
                           gma::Handle order) {
    const operations::PutSignal head{signal.word, signal.word, signal.value};
    return gma.issue_followed(put, invocation_of(gma, head), order);
}

}  // namespace

gma::Handle issue_signalled(gma::Gma& gma,
                            const gma::PointerCopy& put,
                            const gma::Signal& signal,
                            gma::Handle order) {
    const bool is_short = put.end.bytes <= operations::put_signal_bytes_max;
    const std::uint64_t tail_bytes = is_short ? put.end.bytes : 0;
    const bool is_operation =
        !gma.is_watching_sources() && (put.end.memory != nullptr || put.end.bytes == 0) &&
        gma.can_invoke(operations::put_signal_add_number,
                       sizeof(operations::PutSignal) + tail_bytes, put.address, signal.word) &&
        may_be_good(gma.space(), put, signal.word);
    if (is_operation && !is_short) return issue_followed(gma, put, signal, order);
    return is_operation && gma.is_satisfied(order) ? issue_as_operation(gma, put, signal, order)
                                                   : gma.issue_signalled(put, signal, order);
}

}  // namespace acp::message
