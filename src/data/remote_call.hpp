// SPDX-License-Identifier: BSD-3-Clause
// The caller's side of typed operations (local/typed_operation.hpp) on the heap of any process. A heap of this node is mapped here, so the
// calling thread runs the operation itself, on the caller's own request and buffers; else the gateway of the owner's node runs it, in one
// round trip. Any thread; blocks where another node is asked.
// Tests: tests/unit/data/remote_call_test.cpp, tests/conformance/list_container_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/ask.hpp"
#include "gma/gma.hpp"
#include "local/typed_operation.hpp"

namespace acp::data {

// A value as the bytes of a message; none of Nothing.
template <local::WireValue Value>
[[nodiscard]] auto wire_of(Value& value) noexcept {
    if constexpr (std::is_const_v<Value>) {
        return std::as_bytes(std::span(&value, std::is_empty_v<Value> ? 0 : 1));
    } else {
        return std::as_writable_bytes(std::span(&value, std::is_empty_v<Value> ? 0 : 1));
    }
}

template <typename Operation>
class RemoteCall {
public:
    using Input = typename Operation::Input;
    using Output = typename Operation::Output;
    using Tail = local::OperationTail<Operation>;

    // What an operation returned.
    struct Returned {
        Output output{};
        std::size_t tail_bytes = 0;  // of the caller's room that were written
    };

    //   both outlive this
    RemoteCall(gma::Gma& gma, Allocator& allocator) noexcept : gma_(gma), allocator_(allocator) {}

    ~RemoteCall() = default;
    RemoteCall(const RemoteCall&) = delete;
    RemoteCall& operator=(const RemoteCall&) = delete;

    // Runs the operation on the heap of a process (< procs).
    //   tail  follows the input; room  takes what follows the output, as much as fits
    // Errors: those of the operation's check() and run(); unsupported (the job has no heaps), peer (the owner's node is lost)
    [[nodiscard]] base::Result<Returned> run(std::uint32_t process,
                                             const Input& input,
                                             const Tail& tail = {},
                                             std::span<std::byte> room = {}) {
        allocator::NodeHeap* known = allocator_.heap_if_known(process);
        if (known == nullptr) [[unlikely]] {
            auto heap = allocator_.heap_of(process);
            if (!heap.is_ok()) return std::move(heap).failure();
            known = heap.value();
        }
        Returned returned;
        auto status = known != nullptr ? run_here(*known, process, {input, tail}, room, returned)
                                       : run_there(process, {input, tail}, room, returned);
        if (!status.is_ok()) return status;
        return returned;
    }

    // The operation as a command of Asks (data/ask.hpp), on the heap of a process of another node.
    //   output, room  written until it has ended; room has result_tail_max bytes
    //   bytes         then the length of output and tail together
    [[nodiscard]] static gma::Invocation request(std::uint32_t process,
                                                 const Input& input,
                                                 const local::TailParts& tail,
                                                 Output& output,
                                                 std::span<std::byte> room,
                                                 std::uint32_t& bytes) noexcept {
        gma::Invocation call = request(process, input, tail, output);
        call.result_tail = room;
        call.result_bytes = &bytes;
        return call;
    }

    // Does so for an operation whose output has no tail.
    [[nodiscard]] static gma::Invocation request(std::uint32_t process,
                                                 const Input& input,
                                                 const local::TailParts& tail,
                                                 Output& output) noexcept {
        gma::Invocation call;
        call.process = process;
        call.operation = local::operation_number<Operation>;
        call.arguments = wire_of(input);
        call.tail = tail;
        call.result = wire_of(output);
        return call;
    }

private:
    using Call = local::OperationCall<Input, Tail>;

    base::Status run_here(allocator::NodeHeap& heap,
                          std::uint32_t process,
                          const Call& asked,
                          std::span<std::byte> room,
                          Returned& returned) {
        const local::Space& space = gma_.space();
        const base::Code checked = Operation::check(asked, local::owner_shape(space, process));
        const auto run = [&](const memory::HazardLine& line) {
            typename Operation::Owner owner(space, heap, gma_.hazards().index_of(line));
            local::ResultTail following(room);
            local::OperationReply<Output> reply{returned.output, following};
            const base::Code code = Operation::run(owner, asked, reply);
            returned.tail_bytes = following.used();
            return code;
        };
        base::Code code = checked;
        if (const memory::HazardLine* line = gma_.hazards().free_line();
            checked == base::Code::ok && line != nullptr) [[likely]] {
            code = run(*line);
        } else if (checked == base::Code::ok) {
            local::Hazards::Lease lease(gma_.hazards());
            code = run(lease.line());
        }
        if (code == base::Code::ok) return {};
        return gma_.invoke_failure(
            request(process, asked.input, local::parts_of(asked.tail), returned.output), code);
    }

    base::Status run_there(std::uint32_t process,
                           const Call& asked,
                           std::span<std::byte> room,
                           Returned& returned) {
        room = room.first(std::min<std::size_t>(room.size(), Operation::result_tail_max));
        // What does not fit into the caller's room comes here first.
        std::array<std::byte, std::max(Operation::result_tail_max, 1U)> spare;  // NOLINT
        const bool is_spared = room.size() < Operation::result_tail_max;
        std::uint32_t bytes = 0;
        const gma::Invocation call =
            request(process, asked.input, local::parts_of(asked.tail), returned.output,
                    is_spared ? std::span(spare).first(Operation::result_tail_max) : room, bytes);
        auto status = ask(gma_, call);
        if (!status.is_ok()) return status;
        if (bytes < call.result.size()) {
            return gma_.invoke_failure(call, base::Code::mismatch);
        }
        returned.tail_bytes = std::min(bytes - call.result.size(), room.size());
        if (is_spared && returned.tail_bytes != 0)
            std::memcpy(room.data(), spare.data(), returned.tail_bytes);
        return {};
    }

    gma::Gma& gma_;
    Allocator& allocator_;
};

}  // namespace acp::data
