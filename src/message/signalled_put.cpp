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
    gma::Invocation call;
    call.process = static_cast<std::uint32_t>(gma.space().layout().process(put.address));
    call.operation = operations::put_signal_add_number;
    call.arguments = std::as_bytes(std::span(&head, 1));
    call.tail = {std::as_bytes(std::span(source, put.end.bytes))};
    return gma.issue_invoke(call, order);
}

}  // namespace

gma::Handle issue_signalled(gma::Gma& gma,
                            const gma::PointerCopy& put,
                            const gma::Signal& signal,
                            gma::Handle order) {
    const bool is_operation =
        put.end.bytes <= operations::put_signal_bytes_max && !gma.is_watching_sources() &&
        (put.end.memory != nullptr || put.end.bytes == 0) &&
        gma.can_invoke(operations::put_signal_add_number,
                       sizeof(operations::PutSignal) + put.end.bytes, put.address, signal.word) &&
        may_be_good(gma.space(), put, signal.word) && gma.is_satisfied(order);
    return is_operation ? issue_as_operation(gma, put, signal, order)
                        : gma.issue_signalled(put, signal, order);
}

}  // namespace acp::message
