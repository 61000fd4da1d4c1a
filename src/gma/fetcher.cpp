// SPDX-License-Identifier: BSD-3-Clause
// Fetches into a loaned word, or else into one of this stack.
#include "gma/fetcher.hpp"

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "node/public_call.hpp"

namespace acp::gma {

namespace {

// A failure of the command names acp_add8, which the program has not called: it has called
// acp_fetch_add8, or a call of which this is a step.
base::Status renamed(const Command& command, base::Status failure) {
    const std::string_view written = memory::call_name(command);
    const std::string_view message = failure.message();
    const std::string_view call = node::PublicCall::name();
    if (!message.starts_with(written)) return failure;
    return base::Status::worded(failure.code(), [&] {
        return std::string(call.starts_with("acp_fetch_") ? call : "an atomic")
            .append(message.substr(written.size()));
    });
}

}  // namespace

base::Result<std::uint64_t> Fetcher::fetch(Command command) {
    FetchWords::Loan word(words_);
    if (!word) [[unlikely]] {
        return fetch_into_registered_word(command);
    }
    command.target = word.address();
    if (auto status = completion_.wait_for_one(issuer_.issue(command, handle_null));
        !status.is_ok()) {
        return renamed(command, std::move(status));
    }
    return word.take_value();
}

// The target is a word of this stack, registered for the length of the call: a late write of the
// old value finds no registration.
base::Result<std::uint64_t> Fetcher::fetch_into_registered_word(Command command) {
    alignas(8) std::uint64_t old = 0;
    auto key = registry_.add(&old, sizeof old, 0);
    if (!key.is_ok()) {
        return std::move(key).failure().within("the word for an old value");
    }

    class Lent {
    public:
        Lent(local::Registry& registry, local::Key key) noexcept : registry_(registry), key_(key) {}

        ~Lent() { (void)registry_.remove(key_); }  // it is a live key

        Lent(const Lent&) = delete;
        Lent& operator=(const Lent&) = delete;

    private:
        local::Registry& registry_;
        local::Key key_;
    };

    const Lent lent(registry_, key.value());
    if (auto status = service_.ensure(); !status.is_ok()) {  // the word's owner may need it
        return status;
    }
    command.target = key.value();
    if (auto status = completion_.wait_for_one(issuer_.issue(command, handle_null));
        !status.is_ok()) {
        return renamed(command, std::move(status));
    }
    // relaxed: the end of the command, which was acquired, comes after its old value. Only the low
    // half of 4 bytes.
    return std::atomic_ref(old).load(std::memory_order_relaxed);
}

}  // namespace acp::gma
