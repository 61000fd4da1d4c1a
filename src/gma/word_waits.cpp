// SPDX-License-Identifier: BSD-3-Clause
// The condition, its naps, and the ends of a wait.
#include "gma/word_waits.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gma/nap_pacer.hpp"
#include "node/death.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/cpu_time.hpp"

namespace acp::gma {

namespace {

template <typename Word>
std::uint64_t load_word(const volatile void* place) noexcept {
    return __atomic_load_n(static_cast<const volatile Word*>(place), __ATOMIC_ACQUIRE);
}

}  // namespace

std::uint64_t AwaitedWord::load() const noexcept {
    switch (bytes) {
        case 1:
            return load_word<std::uint8_t>(place);
        case 2:
            return load_word<std::uint16_t>(place);
        case 4:
            return load_word<std::uint32_t>(place);
        default:
            return load_word<std::uint64_t>(place);
    }
}

bool AwaitedWord::is_met() const noexcept {
    const std::uint64_t held = load();
    switch (comparison) {
        case node::WordComparison::equal:
            return held == value;
        case node::WordComparison::not_equal:
            return held != value;
        case node::WordComparison::less:
            return held < value;
        case node::WordComparison::less_equal:
            return held <= value;
        case node::WordComparison::greater:
            return held > value;
        case node::WordComparison::greater_equal:
            return held >= value;
    }
    return false;
}

std::string AwaitedWord::describe() const {
    return node::describe_word(comparison, const_cast<const void*>(place), bytes, value, load());
}

class WordWaits::WordCondition final : public Condition {
public:
    WordCondition(const WordWaits& waits, const AwaitedWord& word) noexcept
        : waits_(waits),
          word_(word),
          sleepers_(waits.segment_.slot(waits.gma_.space().slot()).word_sleepers),
          // acquire, both: partner is the store of gone_told_, and count_loss() and mark_dead()
          told_(waits.gone_told_.load(std::memory_order_acquire)),
          looks_(waits.is_look_dear_ ? 1 : looks_between) {}

    WordCondition(const WordCondition&) = delete;
    WordCondition& operator=(const WordCondition&) = delete;

    ~WordCondition() override {
        if (is_counted_) sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }

    LookResult look() override {
        if (std::exchange(is_announced_, false)) {
            // Between the count of this sleeper and the look at the word; partners:
            // detail::ring_if_awaited(), ring_word_sleepers()
            waits_.gma_.hazards().order_with_readers();
        }
        for (int i = 0;;) {
            is_met_ = word_.is_met();
            if (is_met_) return LookResult::all;
            if (++i == looks_) break;
            os::relax();
        }
        return has_found_gone() ? LookResult::all : LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        is_announced_ = true;
        if (!std::exchange(is_counted_, true)) {
            // seq_cst: before the look that follows; partner: as in look()
            sleepers_.fetch_add(1, std::memory_order_seq_cst);
            began_ns_ = since_ns;
            cpu_began_ns_ = os::own_cpu_ns();
        }
        memory::Command told;
        told.operation = static_cast<memory::Operation>(word_.comparison);
        told.width = static_cast<std::uint8_t>(word_.bytes);
        told.bytes = word_.load();
        told.target = word_.value;
        told.source = reinterpret_cast<std::uintptr_t>(word_.place);
        entry.tell(node::WaitFor::word, since_ns, &told);
    }

    // Only the word is polled between two naps: threads that change anything else ring.
    os::Wake sleep_on(const std::atomic<std::uint32_t>& bell,
                      std::uint32_t value,
                      std::int64_t timeout_ns,
                      os::SignalGate* signals) override {
        const std::uint64_t end_ns = os::now_ns() + static_cast<std::uint64_t>(timeout_ns);
        for (std::uint64_t now_ns = os::now_ns(); now_ns < end_ns; now_ns = os::now_ns()) {
            const std::uint64_t nap_ns =
                NapPacer::next(now_ns - began_ns_, os::own_cpu_ns() - cpu_began_ns_);
            const os::Wake wake = Condition::sleep_on(
                bell, value, static_cast<std::int64_t>(std::min(nap_ns, end_ns - now_ns)), signals);
            if (wake != os::Wake::timeout || word_.is_met()) return wake;
        }
        return os::Wake::timeout;
    }

    // When look() has answered `all`: the word; else a rank is gone.
    [[nodiscard]] bool is_met() const noexcept { return is_met_; }

    [[nodiscard]] const AwaitedWord& word() const noexcept { return word_; }

private:
    // Whether a rank is gone that no call has reported to this process.
    bool has_found_gone() noexcept {
        // acquire: the losses themselves; partner: mark_dead(), count_loss()
        const std::uint32_t deaths =
            waits_.segment_.control().deaths.load(std::memory_order_acquire);
        if (deaths != deaths_seen_) [[unlikely]] {
            deaths_seen_ = deaths;
            gone_ = waits_.count_gone();
        }
        return gone_ > told_;
    }

    const WordWaits& waits_;
    AwaitedWord word_;
    node::SharedU32& sleepers_;
    std::uint32_t told_;
    int looks_;
    bool is_announced_ = false;
    bool is_counted_ = false;
    bool is_met_ = false;
    std::uint64_t began_ns_ = 0;  // start of the first sleep, like the next
    std::uint64_t cpu_began_ns_ = 0;
    std::uint32_t deaths_seen_ = 0;  // ControlBlock::deaths when gone_ was counted
    std::uint32_t gone_ = 0;
};

WordWaits::WordWaits(Gma& gma)
    : gma_(gma),
      segment_(gma.space().segment()),
      is_look_dear_(segment_.shape().has_own_gateways != 0),
      gone_told_(0),
      reported_(segment_) {
    if (count_gone() == 0) return;
    (void)report_gone();
}

std::uint32_t WordWaits::count_gone() const noexcept {
    std::uint32_t gone = 0;
    for (std::uint32_t process = 0; process < segment_.shape().procs; ++process) {
        gone += node::is_gone(segment_, process) ? 1U : 0U;
    }
    return gone;
}

// A handler that runs during this is indistinguishable from one that ran before the call.
bool WordWaits::looks_at_once_find(const AwaitedWord& word) const noexcept {
    const int looks = is_look_dear_ ? 1 : looks_at_once;
    for (int i = 0; i < looks; ++i) {
        if (word.is_met()) return true;
        os::relax();
    }
    return false;
}

base::Status WordWaits::peer_gone(const AwaitedWord& word) {
    const std::uint32_t gone = count_gone();
    base::Status failure = base::Status::worded(base::Code::peer, [&] {
        return report_gone() + "; this process waited until " + word.describe();
    });
    // Without memory for the message, too, the process has reported them.
    std::uint32_t told = gone_told_.load(std::memory_order_relaxed);
    // release: partner is the next call's acquire
    while (told < gone && !gone_told_.compare_exchange_weak(told, gone, std::memory_order_release,
                                                            std::memory_order_relaxed)) {
    }
    return failure;
}

// Notes all processes that are gone as reported. The first report describes the first death of the
// job; a later one a process that was not reported before, or, when there is none, the one that
// another call in flight has just named.
std::string WordWaits::report_gone() {
    const std::scoped_lock lock(mutex_);
    const bool is_first_report = !reported_.is_reserved();
    reported_.reserve();
    std::uint32_t found = 0;
    for (auto gone = reported_.find_new(); gone; gone = reported_.find_new(*gone + 1)) {
        reported_.note(*gone);
        if (found++ == 0 && !is_first_report) last_named_ = *gone;
    }
    // release: partner is the next call's acquire
    gone_told_.store(reported_.count(), std::memory_order_release);
    std::string text =
        last_named_ ? node::fate_of_process(segment_, *last_named_) : node::first_fate(segment_);
    if (found > 1) text += "; others that are gone: " + std::to_string(found - 1);
    return text;
}

node::Outcome WordWaits::wait_until(WordCondition& condition,
                                    std::int64_t timeout_ns,
                                    const LongWordWait* tell_long_wait) {
    if (tell_long_wait == nullptr || (timeout_ns >= 0 && timeout_ns <= long_wait_ns)) [[likely]]
        return gma_.wait_until(condition, timeout_ns, true);
    ShownWait shown(gma_.space());
    const node::Outcome outcome = gma_.wait_until(condition, long_wait_ns, true, &shown);
    if (outcome != node::Outcome::timeout) return outcome;
    (*tell_long_wait)(condition.word().describe());
    return gma_.wait_until(condition, timeout_ns < 0 ? timeout_ns : timeout_ns - long_wait_ns, true,
                           &shown);
}

base::Status WordWaits::wait(const AwaitedWord& word,
                             std::int64_t timeout_ns,
                             const LongWordWait* tell_long_wait) {
    if (looks_at_once_find(word)) return {};
    WordCondition condition(*this, word);
    const node::Outcome outcome = wait_until(condition, timeout_ns, tell_long_wait);
    if (outcome == node::Outcome::interrupted) {
        return base::Status::worded(base::Code::interrupted, [] {
            return std::string("a signal handler ran while waiting");
        });
    }
    if (outcome == node::Outcome::timeout) {
        return base::Status::worded(base::Code::timeout, [&] {
            return "after " + std::to_string(timeout_ns) + " ns: until " + word.describe();
        });
    }
    if (condition.is_met()) return {};
    return peer_gone(word);
}

}  // namespace acp::gma
