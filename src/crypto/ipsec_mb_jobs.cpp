// SPDX-License-Identifier: BSD-3-Clause
// The constants and layouts of libipsec-mb 1.3, and running one job at a time.
#include "crypto/ipsec_mb_jobs.hpp"

#include <string>
#include <utility>

#include "base/assert.hpp"

namespace acp::crypto {

namespace {

constexpr std::uint32_t cipher_chacha20_poly1305 = 19;
constexpr std::uint32_t hash_chacha20_poly1305 = 29;
constexpr std::uint32_t cipher_then_hash = 1;
constexpr std::uint32_t hash_then_cipher = 2;
constexpr std::uint32_t status_done = 3;
constexpr std::uint64_t key_bytes = 32;

}  // namespace

// The library's IMB_JOB. The caller writes the fields up to `additional_bytes` and from `cipher` to
// `order`, the library the others.
struct IpsecMbJobs::Job {
    const void* sealing_key;
    const void* opening_key;
    std::uint64_t key_bytes;
    const void* in;
    void* out;
    std::uint64_t cipher_at;
    std::uint64_t cipher_bytes;
    std::uint64_t hash_at;
    std::uint64_t hash_bytes;
    const void* nonce;
    std::uint64_t nonce_bytes;
    void* tag;
    std::uint64_t tag_bytes;
    const void* additional;
    std::uint64_t additional_bytes;
    void* context;  // only for messages in several parts
    std::uint32_t status;
    std::uint32_t cipher;
    std::uint32_t direction;
    std::uint32_t hash;
    std::uint32_t order;
};

// The first words of the library's IMB_MGR, which only the library writes.
struct IpsecMbJobs::Manager {
    std::uint64_t flags;
    std::uint64_t features;
    std::uint64_t reserved[5];
    std::uint32_t variant;
    std::int32_t error;
    Submit next_job;
    Submit submit_checked;
    Submit submit;
    Submit completed_job;
    Submit flush;
};

Result<std::unique_ptr<IpsecMbJobs>> IpsecMbJobs::open(std::shared_ptr<const IpsecMb> library) {
    static_assert(offsetof(Job, nonce) == 72 && offsetof(Job, additional) == 104);
    static_assert(offsetof(Job, status) == 128 && offsetof(Job, order) == 144);
    static_assert(offsetof(Manager, next_job) == 64 && offsetof(Manager, flush) == 96);
    std::unique_ptr<IpsecMbJobs> jobs(new IpsecMbJobs(std::move(library)));
    if (auto status = jobs->start(); !status.is_ok()) return status;
    return jobs;
}

base::Status IpsecMbJobs::start() {
    const os::SharedLibrary& file = library_->file();
    std::uint32_t (*version)() = nullptr;
    Manager* (*allocate)(std::uint64_t flags) = nullptr;
    void (*initialize)(Manager*, std::uint32_t * variant) = nullptr;
    if (!file.find("imb_get_version", version) || version() != version_known ||
        !file.find("alloc_mb_mgr", allocate) || !file.find("init_mb_mgr_auto", initialize) ||
        !file.find("free_mb_mgr", free_manager_)) {
        return {base::Code::unsupported,
                file.name() +
                    " computes ChaCha20-Poly1305 for us in version 1.3 only; "
                    "ask for libcrypto, or for aes-128-gcm"};
    }
    manager_ = allocate(0);
    if (manager_ == nullptr) {
        return {base::Code::memory, file.name() + ": no memory for its manager of jobs"};
    }
    initialize(manager_, nullptr);
    if (manager_->error != 0 || manager_->next_job == nullptr || manager_->submit == nullptr) {
        return {base::Code::unsupported, file.name() + " does not know this processor (error " +
                                             std::to_string(manager_->error) +
                                             "); ask for libcrypto"};
    }
    return {};
}

IpsecMbJobs::~IpsecMbJobs() {
    if (manager_ != nullptr) free_manager_(manager_);
}

void IpsecMbJobs::run(Direction direction, const Message& message) noexcept {
    Job* job = manager_->next_job(manager_);
    job->sealing_key = message.key;
    job->opening_key = message.key;
    job->key_bytes = key_bytes;
    job->in = message.in.data();
    job->out = message.out;
    job->cipher_at = 0;
    job->cipher_bytes = message.in.size();
    job->hash_at = 0;
    job->hash_bytes = message.in.size();
    job->nonce = message.nonce.data();
    job->nonce_bytes = message.nonce.size();
    job->tag = message.tag;
    job->tag_bytes = datagram::tag_bytes;
    job->additional = message.additional.data();
    job->additional_bytes = message.additional.size();
    job->context = nullptr;
    job->cipher = cipher_chacha20_poly1305;
    job->direction = static_cast<std::uint32_t>(direction);
    job->hash = hash_chacha20_poly1305;
    job->order = direction == Direction::seal ? cipher_then_hash : hash_then_cipher;
    const Job* done = manager_->submit(manager_);
    // The library computes jobs of this cipher one by one, so a submitted job is never kept back.
    ACP_ASSERT(done == job && done->status == status_done);
}

}  // namespace acp::crypto
