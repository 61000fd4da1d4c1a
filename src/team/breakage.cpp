// SPDX-License-Identifier: BSD-3-Clause
// Finds out which members are gone, and notifies other members of a failure.
#include "team/breakage.hpp"

#include <array>
#include <cstddef>
#include <new>

#include "node/death.hpp"
#include "node/loss.hpp"

#include "operations/put_signal.hpp"

namespace acp::team {

using base::Code;
using base::Status;

Status Breakage::failure() const {
    return why_.empty() ? Status::bare(code_) : Status::worded(code_, [this] { return why_; });
}

void Breakage::note(Code code, std::string_view why) noexcept {
    if (is_broken()) return;
    code_ = code;
    try {
        why_ = why;
    } catch (const std::bad_alloc&) {
        why_.clear();  // only the code is kept
    }
}

// If several members are gone, the reason is the first death in the job: members that left because
// of it are not to blame.
bool Breakage::note_the_gone(std::span<const std::uint32_t> processes) noexcept {
    const node::Segment& segment = gma_.space().segment();
    std::size_t count = 0;
    std::uint32_t gone = 0;
    for (const std::uint32_t process : processes) {
        if (!node::is_gone(segment, process)) continue;
        gone = process;
        ++count;
    }
    if (count == 0) return false;
    const Status fate = Status::worded(Code::peer, [&] {
        return count > 1 ? node::first_fate(segment) : node::fate_of_process(segment, gone);
    });
    note(fate.code(), fate.message());
    return true;
}

void Breakage::tell(const TroubleTarget& target) noexcept {
    const auto code = static_cast<std::uint64_t>(code_);
    if (node::is_gone(gma_.space().segment(), target.process)) return;
    if (target.near != nullptr) return target.near->tell(code, why_);

    struct {
        operations::PutSignal head{};
        std::array<char, trouble_text_bytes> text{};
    } told;

    static_assert(sizeof told <= memory::invoke_bytes_max);
    told.head = {target.trouble + offsetof(Trouble, text), target.trouble + offsetof(Trouble, code),
                 code};
    why_.copy(told.text.data(), told.text.size() - 1);
    try {
        telling_.tell({target.process,
                       operations::put_signal_set_number,
                       std::as_bytes(std::span(&told, 1)),
                       {},
                       nullptr});
    } catch (const std::bad_alloc&) {
        // Without memory no notification is sent: the member waits until the liveness report of the
        // job reveals the failure.
    }
}

}  // namespace acp::team
