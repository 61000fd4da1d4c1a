// SPDX-License-Identifier: BSD-3-Clause
// A program that is not linked to ACP and loads plugins that are.
//   unload_probe SCENARIO PLUGIN [PLUGIN]
// It ends with 0 if every check held, else with 1 and a reason.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <future>
#include <string>
#include <thread>

namespace {

void check(bool is_right, const char* what, const char* reason = "") {
    if (is_right) return;
    std::fprintf(stderr, "wrong: %s %s\n", what, reason != nullptr ? reason : "");
    std::_Exit(1);
}

// A loaded plugin; the destructor does not unload it.
struct Plugin {
    explicit Plugin(const char* path, bool is_in_own_namespace = false)
        : handle(is_in_own_namespace ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL)
                                     : dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        check(handle != nullptr, "dlopen", handle == nullptr ? dlerror() : "");
    }

    int call(const char* function) const {
        return reinterpret_cast<int (*)()>(dlsym(handle, function))();
    }

    std::string reason() const {
        return reinterpret_cast<const char* (*)()>(dlsym(handle, "plugin_reason"))();
    }

    void expect_right(const char* function) const {
        check(call(function) == 0, function, reason().c_str());
    }

    void unload() const { check(dlclose(handle) == 0, "dlclose"); }

    void* handle;
};

// A thread that uses the plugin, and ends on request.
class User {
public:
    explicit User(const Plugin& plugin)
        : thread_([this, &plugin] {
              plugin.expect_right("plugin_use");
              used_.set_value();
              end_.get_future().wait();
          }) {
        used_.get_future().wait();
    }

    void end() {
        end_.set_value();
        thread_.join();
    }

private:
    std::promise<void> used_;
    std::promise<void> end_;
    std::thread thread_;
};

// The plugin joins, leaves and is unloaded twice; threads that used it end after that.
void again(const char* path) {
    for (int round = 0; round < 2; ++round) {
        const Plugin plugin(path);
        plugin.expect_right("plugin_join");
        User user(plugin);
        plugin.expect_right("plugin_use");
        plugin.expect_right("plugin_leave");
        plugin.unload();
        user.end();
    }
}

// The plugin is unloaded while it is in the job, and loaded again.
void live(const char* path) {
    const Plugin first(path);
    first.expect_right("plugin_join");
    User user(first);
    first.unload();
    user.end();
    const Plugin second(path);
    second.expect_right("plugin_use");
    second.expect_right("plugin_leave");
    second.unload();
}

// The plugin is unloaded without having joined, and joins when it is loaded again.
void unused(const char* path) {
    const Plugin first(path);
    check(first.call("plugin_join") == 0 && first.call("plugin_leave") == 0, "first use");
    first.unload();
    again(path);
}

void expect_refused(const Plugin& second) {
    check(second.call("plugin_join") != 0, "a second copy has joined");
    check(second.reason().find("another copy of ACP") != std::string::npos,
          "the reason of a second copy", second.reason().c_str());
}

// A second copy of the library does not join, and does not disturb the first one.
void second_copy(const char* path, const char* other, bool is_in_own_namespace) {
    const Plugin first(path);
    first.expect_right("plugin_join");
    expect_refused(Plugin(other, is_in_own_namespace));
    first.expect_right("plugin_use");
    first.expect_right("plugin_leave");
}

}  // namespace

int main(int argc, char** argv) {
    check(argc == 4, "three arguments are needed");
    const std::string scenario = argv[1];
    if (scenario == "again")
        again(argv[2]);
    else if (scenario == "live")
        live(argv[2]);
    else if (scenario == "unused")
        unused(argv[2]);
    else if (scenario == "second")
        second_copy(argv[2], argv[3], false);
    else if (scenario == "namespace")
        second_copy(argv[2], argv[3], true);
    else
        check(false, "no such scenario");
    return 0;
}
