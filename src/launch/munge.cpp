// SPDX-License-Identifier: BSD-3-Clause
// The declarations of libmunge.so.2 that are used, as its manual (munge.3, munge_ctx.3) states
// them.
#include "launch/munge.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "os/process.hpp"
#include "os/secret_memory.hpp"
#include "os/shared_library.hpp"

namespace acp::launch {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr int option_cipher = 0;
constexpr int option_ttl = 4;
constexpr int option_uid_restriction = 9;
constexpr int strongest_cipher = 5;  // AES-256
constexpr int longest_ttl = -1;

using Context = void*;

struct Munge {
    os::SharedLibrary library;
    Context (*create)() = nullptr;
    void (*destroy)(Context) = nullptr;
    int (*set)(Context, int, ...) = nullptr;
    int (*encode)(char**, Context, const void*, int) = nullptr;
    int (*decode)(const char*, Context, void**, int*, unsigned*, unsigned*) = nullptr;
    const char* (*error_of)(Context) = nullptr;
    const char* (*error_text)(int) = nullptr;
};

Result<Munge> load() {
    constexpr std::array<const char*, 1> names{"libmunge.so.2"};
    auto library = os::SharedLibrary::open(names);
    if (!library.is_ok()) return std::move(library).failure();
    Munge munge{std::move(library).value()};
    const os::SharedLibrary& from = munge.library;
    const bool is_whole =
        from.find("munge_ctx_create", munge.create) &&
        from.find("munge_ctx_destroy", munge.destroy) && from.find("munge_ctx_set", munge.set) &&
        from.find("munge_encode", munge.encode) && from.find("munge_decode", munge.decode) &&
        from.find("munge_ctx_strerror", munge.error_of) &&
        from.find("munge_strerror", munge.error_text);
    if (!is_whole) return Status(Code::unsupported, "libmunge.so.2 lacks a function");
    return munge;
}

// A context of one call, with the words for its failure.
class Call {
public:
    explicit Call(const Munge& munge) : munge_(munge), context_(munge.create()) {}

    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    ~Call() { munge_.destroy(context_); }

    [[nodiscard]] bool is_made() const noexcept { return context_ != nullptr; }

    [[nodiscard]] Context context() const noexcept { return context_; }

    [[nodiscard]] Status failure(int error) const {
        const char* words = munge_.error_of(context_);
        return {Code::unsupported,
                "munge: " + std::string(words != nullptr ? words : munge_.error_text(error))};
    }

private:
    const Munge& munge_;
    Context context_;
};

Status no_memory() {
    return {Code::memory, "munge: no memory"};
}

}  // namespace

Result<std::string> seal_key(JobKey& key) {
    auto loaded = load();
    if (!loaded.is_ok()) return std::move(loaded).failure();
    const Munge& munge = loaded.value();
    const Call call(munge);
    if (!call.is_made()) return no_memory();
    for (const auto& [option, value] :
         {std::pair{option_cipher, strongest_cipher}, std::pair{option_ttl, longest_ttl},
          std::pair{option_uid_restriction, static_cast<int>(os::own_user())}}) {
        if (const int error = munge.set(call.context(), option, value); error != 0) {
            return call.failure(error);
        }
    }
    char* text = nullptr;
    const int error =
        munge.encode(&text, call.context(), key.bytes().data(), static_cast<int>(job_key_bytes));
    const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
    if (error != 0) return call.failure(error);
    return std::string(text);
}

Result<JobKey> open_sealed_key(const std::string& credential) {
    auto loaded = load();
    if (!loaded.is_ok()) return std::move(loaded).failure();
    const Munge& munge = loaded.value();
    const Call call(munge);
    if (!call.is_made()) return no_memory();
    void* opened = nullptr;
    int bytes = 0;
    unsigned user = 0;
    unsigned group = 0;
    const int error =
        munge.decode(credential.c_str(), call.context(), &opened, &bytes, &user, &group);
    const std::unique_ptr<void, decltype(&std::free)> owned(opened, &std::free);
    const auto size = static_cast<std::size_t>(std::max(bytes, 0));
    const std::span<std::byte> secret(static_cast<std::byte*>(opened),
                                      opened == nullptr ? 0 : size);
    Result<JobKey> key = JobKey::create();
    if (key.is_ok() && error == 0 && secret.size() == job_key_bytes) {
        std::copy(secret.begin(), secret.end(), key.value().bytes().begin());
    }
    const bool is_key = secret.size() == job_key_bytes;
    os::wipe(secret);
    if (error != 0) return call.failure(error);
    if (!is_key || user != os::own_user()) {
        return Status(Code::argument,
                      "munge: what was opened is not the key of a job of this user");
    }
    return key;
}

}  // namespace acp::launch
