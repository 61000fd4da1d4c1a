// SPDX-License-Identifier: BSD-3-Clause
// Keeps the ranges in static memory, which the handler reads without a lock, and the actions that
// the process had before. A mutex orders the threads that make and end ranges.
#include "os/fault_handler.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/futex.hpp"
#include "os/signal_hold.hpp"
#include "os/system_error.hpp"

#if defined(__aarch64__)
#include <asm/sigcontext.h>
#endif

namespace acp::os {

using base::Code;
using base::Status;

// Written by create() and by the destructor; read by handlers of any thread.
struct FaultRange::Slot {
    // In `users`: no range is in the slot, and handlers leave the other fields alone.
    static constexpr std::uint32_t closed = std::uint32_t{1} << 31;

    std::atomic<std::uint32_t> users{closed};  // handlers that look at the slot
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<RepairFault> repair{nullptr};
    std::atomic<void*> owner{nullptr};
    bool is_taken = false;  // under the mutex

    // relaxed: a thread that faults in the range was given it after create() by other means, and
    // enter() checks again
    [[nodiscard]] bool has(std::uintptr_t address) const noexcept {
        return address >= begin.load(std::memory_order_relaxed) &&
               address < end.load(std::memory_order_relaxed);
    }
};

namespace {

using FaultSlot = FaultRange::Slot;

constexpr std::array<int, 2> fault_signals = {SIGBUS, SIGSEGV};

// The action that the process had before this handler. Written under the mutex, and only while the
// handler is not installed for the signal or cannot be reached by it.
struct FormerAction {
    struct sigaction action;
    std::atomic<bool> has_run;  // with SA_RESETHAND its second signal is the default action's
    bool is_installed;          // this handler, on top or beneath the program's one
};

constinit std::array<FaultSlot, FaultRange::ranges_max> fault_slots{};
constinit std::array<FormerAction, fault_signals.size()> former_actions{};
constinit std::mutex ranges_mutex;

bool is_default_or_ignored(const struct sigaction& action) noexcept {
    return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
}

// Sent by a process or a thread, not raised by an instruction.
bool is_sent(const siginfo_t& info) noexcept {
    return info.si_code <= 0;
}

std::optional<FaultCause> cause_of(const siginfo_t& info) noexcept {
    if (info.si_signo == SIGBUS && info.si_code == BUS_ADRERR) return FaultCause::absent;
    if (info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR) return FaultCause::rights;
    if (info.si_signo == SIGSEGV && info.si_code == SEGV_MAPERR) return FaultCause::unmapped;
    return std::nullopt;
}

#if defined(__x86_64__)

// Bit 1 of a page fault's error code: Intel SDM volume 3, 4.7.
FaultAccess access_of(const ucontext_t& context) noexcept {
    const bool is_write = (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
    return is_write ? FaultAccess::write : FaultAccess::read;
}

#elif defined(__aarch64__)

// Bit 6 (WnR) of the syndrome of a data abort, which the kernel stores in one of the records behind
// the registers: Arm ARM, ESR_EL1.
FaultAccess access_of(const ucontext_t& context) noexcept {
    constexpr std::uint64_t data_abort_of_user_mode = 0x24;
    const auto* at = context.uc_mcontext.__reserved;
    const auto* const end = at + sizeof context.uc_mcontext.__reserved;
    _aarch64_ctx head{};
    while (at + sizeof(esr_context) <= end) {
        std::memcpy(&head, at, sizeof head);
        if (head.magic == ESR_MAGIC) {
            esr_context record{};
            std::memcpy(&record, at, sizeof record);
            const bool is_write =
                record.esr >> 26 == data_abort_of_user_mode && (record.esr & 1U << 6) != 0;
            return is_write ? FaultAccess::write : FaultAccess::read;
        }
        if (head.size == 0) break;
        at += head.size;
    }
    return FaultAccess::unknown;
}

#else

FaultAccess access_of(const ucontext_t& /*context*/) noexcept {
    return FaultAccess::unknown;
}

#endif

void leave(FaultSlot& slot) noexcept {
    // release: the effects of the repair; partner: the load of ~FaultRange
    if (slot.users.fetch_sub(1, std::memory_order_release) == (FaultSlot::closed | 1U)) {
        futex_wake(slot.users, everybody);
    }
}

// Registers a handler at the slot; false, and not registered, if the slot has no range.
bool enter(FaultSlot& slot) noexcept {
    // acquire: the fields that create() wrote; partner: its fetch_and
    if ((slot.users.fetch_add(1, std::memory_order_acquire) & FaultSlot::closed) == 0) return true;
    leave(slot);
    return false;
}

bool repair_in(FaultSlot& slot, const MemoryFault& fault) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(fault.address);
    if (!slot.has(address) || !enter(slot)) return false;
    const bool is_repaired =
        slot.has(address) && slot.repair.load(std::memory_order_relaxed)(
                                 slot.owner.load(std::memory_order_relaxed), fault);
    leave(slot);
    return is_repaired;
}

// Lets the default action end the process when the handler returns: the kernel delivers the signal
// that waits then, with the same information, before the thread runs its next instruction.
void end_by_default(int signal, siginfo_t& info) noexcept {
    struct sigaction by_default {};

    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
    const long result =
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, &info);
    if (result != 0) (void)raise(signal);
}

// Blocks what the kernel would block while it runs the action's handler.
void set_mask_of(const struct sigaction& action, int signal, const ucontext_t& context) noexcept {
    sigset_t mask = action.sa_mask;
    if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
    sigorset(&mask, &mask, &context.uc_sigmask);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

FormerAction& former_of(int signal) noexcept {
    return former_actions[signal == fault_signals[0] ? 0 : 1];
}

void pass_on(int signal, siginfo_t& info, void* context) noexcept {
    FormerAction& former = former_of(signal);
    const struct sigaction& action = former.action;
    if (action.sa_handler == SIG_IGN && is_sent(info)) return;
    // relaxed: the kernel orders a thread's own signals, and no data hangs on it
    const bool is_spent = (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0 &&
                          former.has_run.exchange(true, std::memory_order_relaxed);
    if (is_spent || is_default_or_ignored(action)) {
        end_by_default(signal, info);
        return;
    }
    set_mask_of(action, signal, *static_cast<const ucontext_t*>(context));
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, &info, context);
    } else {
        action.sa_handler(signal);
    }
}

void on_fault_signal(int signal, siginfo_t* info, void* context) {
    if (!handle_fault(*info, context)) pass_on(signal, *info, context);
}

bool is_own(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault_signal;
}

// Under the mutex.
Status install_for(int signal) {
    FormerAction& former = former_of(signal);

    struct sigaction current {};

    if (sigaction(signal, nullptr, &current) != 0) {
        return system_failure("sigaction", errno, "for signal " + std::to_string(signal));
    }
    // The program's handler may pass signals on to this one: above it, each would call the other.
    const bool is_beneath = former.is_installed && !is_default_or_ignored(current);
    if (is_own(current) || is_beneath) return {};

    struct sigaction own {};

    own.sa_sigaction = on_fault_signal;
    // A handler of the program that runs during a repair could wait for that very repair.
    own.sa_mask = holdable_signals();
    own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    if (is_default_or_ignored(current) || (current.sa_flags & SA_RESTART) != 0) {
        own.sa_flags |= SA_RESTART;
    }
    former.action = current;
    former.has_run.store(false, std::memory_order_relaxed);
    if (sigaction(signal, &own, nullptr) != 0) {
        return system_failure("sigaction", errno, "for signal " + std::to_string(signal));
    }
    former.is_installed = true;
    return {};
}

// Under the mutex.
void restore_for(int signal) noexcept {
    FormerAction& former = former_of(signal);

    struct sigaction current {};

    if (sigaction(signal, nullptr, &current) != 0 || !is_own(current)) return;
    struct sigaction action = former.action;
    if (former.has_run.load(std::memory_order_relaxed)) action.sa_handler = SIG_DFL;
    former.is_installed = sigaction(signal, &action, nullptr) != 0;
}

Status install_everywhere() {
    for (const int signal : fault_signals) {
        if (Status status = install_for(signal); !status.is_ok()) return status;
    }
    return {};
}

}  // namespace

Result<FaultRange> FaultRange::create(char* address,
                                      std::uint64_t bytes,
                                      RepairFault repair,
                                      void* owner) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t end = begin + bytes;
    const std::string range =
        std::to_string(bytes) + " bytes at address " + std::to_string(begin) + ": ";
    if (end <= begin) return Status(Code::argument, range + "no range of memory");
    const std::lock_guard lock(ranges_mutex);
    Slot* free_slot = nullptr;
    for (Slot& slot : fault_slots) {
        if (!slot.is_taken) free_slot = &slot;
        if (slot.is_taken && begin < slot.end.load(std::memory_order_relaxed) &&
            end > slot.begin.load(std::memory_order_relaxed)) {
            return Status(Code::argument,
                          range + "overlaps another range whose faults are repaired");
        }
    }
    if (free_slot == nullptr) {
        return Status(Code::limit, range + "the faults of " + std::to_string(ranges_max) +
                                       " ranges are repaired already");
    }
    if (Status status = install_everywhere(); !status.is_ok()) return status;
    free_slot->is_taken = true;
    free_slot->begin.store(begin, std::memory_order_relaxed);
    free_slot->end.store(end, std::memory_order_relaxed);
    free_slot->repair.store(repair, std::memory_order_relaxed);
    free_slot->owner.store(owner, std::memory_order_relaxed);
    // release: the fields; partner: enter(). A handler that looks at the slot may be registered.
    free_slot->users.fetch_and(~Slot::closed, std::memory_order_release);
    return FaultRange(free_slot);
}

FaultRange::~FaultRange() {
    if (slot_ == nullptr) return;
    // relaxed: the loop below acquires
    slot_->users.fetch_or(Slot::closed, std::memory_order_relaxed);
    for (;;) {
        // acquire: what the repairs did; partner: leave()
        const std::uint32_t users = slot_->users.load(std::memory_order_acquire);
        if (users == Slot::closed) break;
        futex_wait(slot_->users, users, -1);
    }
    const std::lock_guard lock(ranges_mutex);
    slot_->begin.store(0, std::memory_order_relaxed);
    slot_->end.store(0, std::memory_order_relaxed);
    slot_->is_taken = false;
    for (const Slot& slot : fault_slots) {
        if (slot.is_taken) return;
    }
    for (const int signal : fault_signals) restore_for(signal);
}

bool handle_fault(const siginfo_t& info, const void* context) noexcept {
    const std::optional<FaultCause> cause = cause_of(info);
    if (!cause.has_value()) return false;
    MemoryFault fault{static_cast<char*>(info.si_addr), FaultAccess::unknown, *cause};
    if (context != nullptr) fault.access = access_of(*static_cast<const ucontext_t*>(context));
    const int error = errno;
    bool is_repaired = false;
    for (FaultSlot& slot : fault_slots) is_repaired = is_repaired || repair_in(slot, fault);
    errno = error;
    return is_repaired;
}

}  // namespace acp::os
