// SPDX-License-Identifier: BSD-3-Clause
// A rank that joins and leaves its node without the public interface, and otherwise does what its
// arguments say: "[RANK:]VERB[=VALUE]" like act.c. Lets the tests see what a death does to the
// other ranks.
#include "node/member.hpp"

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>

#include "job/identity.hpp"
#include "os/process.hpp"

namespace {

using namespace acp;

void say(const std::string& text) {
    std::cout << text << std::endl;
}

void finish(const base::Status& status) {
    if (status.is_ok()) return;
    say("error: " + std::string(status.message()));
    std::_Exit(7);
}

class Rank {
public:
    void act(const std::string& verb, const std::string& value) {
        if (verb == "join") {
            join();
        } else if (verb == "meet") {
            finish(member_->synchronize());
        } else if (verb == "outlive") {  // a barrier that must fail
            const auto status = member_->synchronize();
            say(status.is_ok() ? "met" : "error: " + std::string(status.message()));
        } else if (verb == "leave") {
            member_->leave();
        } else if (verb == "print") {
            say(value);
        } else if (verb == "exit") {
            std::_Exit(std::stoi(value));
        } else if (verb == "signal") {
            std::signal(std::stoi(value), SIG_DFL);  // a sanitizer may have taken it
            std::raise(std::stoi(value));
        } else if (verb == "pause") {
            for (;;) pause();
        } else {
            say("unknown verb " + verb);
            std::_Exit(97);
        }
    }

private:
    void join() {
        auto identity = job::identity_of(os::environment());
        if (!identity.is_ok()) finish(std::move(identity).failure());
        auto segment = node::Segment::open(os::FileDescriptor(identity.value().node_file));
        if (!segment.is_ok()) finish(std::move(segment).failure());
        member_ = std::make_unique<node::Member>(std::move(segment).value(), identity.value().slot);
        finish(member_->take_slot());
    }

    std::unique_ptr<node::Member> member_;
};

}  // namespace

int main(int argc, char** argv) {
    const char* own = std::getenv("ACP_RANK");
    Rank rank;
    for (int i = 1; i < argc; ++i) {
        std::string verb = argv[i];
        std::string value;
        if (const auto equals = verb.find('='); equals != std::string::npos) {
            value = verb.substr(equals + 1);
            verb.resize(equals);
        }
        if (const auto colon = verb.find(':'); colon != std::string::npos) {
            if (verb.substr(0, colon) != (own != nullptr ? own : "0")) continue;
            verb.erase(0, colon + 1);
        }
        rank.act(verb, value);
    }
    std::_Exit(0);
}
