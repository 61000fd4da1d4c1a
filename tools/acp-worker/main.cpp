// SPDX-License-Identifier: BSD-3-Clause
// acp-worker: the process of an accelerator of kind `proc`. The library starts it with memory that
// both share; the work is in worker/.
#include <iostream>
#include <string>

#include "os/log_line.hpp"
#include "os/standard_streams.hpp"

#include "common/cli.hpp"
#include "common/guard.hpp"
#include "worker/worker.hpp"

namespace {

using namespace acp;

constexpr int exit_usage = 2;
constexpr int exit_failed = 1;

int work(int argc, char** argv) {
    cli::App app("The process of an accelerator; started by the library, not by hand.",
                 "acp-worker");
    worker::WorkerPlan plan;
    app.add_version_flag();
    app.add_option("--memory", plan.memory, "descriptor of the memory shared with the rank");
    app.add_option("--life", plan.life,
                   "descriptor whose closing shows that this program has ended");
    app.add_option("--device", plan.device, "descriptor of the device memory");
    app.add_option("--device-bytes", plan.device_bytes, "its bytes");
    app.add_option("--device-address", plan.device_address, "where the program maps it");
    app.add_option("--owner", plan.owner, "process id of the rank");
    app.add_flag("--dispatch", plan.dispatches_system_calls,
                 "hand all system calls of functions to the executor");
    try {
        app.parse(argc, argv);
        if (plan.memory < 0) throw cli::RequiredError("--memory");
        if (plan.life < 0) throw cli::RequiredError("--life");
        if (plan.owner <= 0) throw cli::RequiredError("--owner");
    } catch (const cli::Success& answer) {
        return app.exit(answer);
    } catch (const cli::ParseError& error) {
        std::cerr << "acp-worker: " << error.what() << "; a rank starts it\n";
        return exit_usage;
    }
    auto created = worker::Worker::create(plan);
    base::Status status = created.is_ok() ? created.value()->run() : std::move(created).failure();
    os::write_line(os::standard_error, "acp-worker: " + std::string(status.message()));
    return exit_failed;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr acp::tool::Guard guard{"acp-worker", exit_failed};
    return acp::tool::run_guarded(guard, work, argc, argv);
}
