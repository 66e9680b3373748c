// SPDX-License-Identifier: MIT
//
// The thread pool must not keep a process from ending, nor a forked one from working.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "build_kind.hpp"
#include "fake_control.hpp"
#include "problem.hpp"

namespace {

constexpr int skipped = 77;

bool compute() {
    problem p = problem::mha(8, 2, 3);
    models::mha(p.query, p.key, p.value, p.output, {{}, 4});
    return p.error(false) < 1e-6;
}

/// A caller whose static destructor still calls a kernel, after or before the pool has ended.
struct late_caller {
    ~late_caller() {
        if (!compute()) {
            _exit(3);
        }
    }
};

int forked() {
    for (int generation = 0; generation < 20; ++generation) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            const bool right = compute() && compute();
            std::exit(right ? 0 : 1);
        }
        int result = -1;
        if (waitpid(child, &result, 0) != child || result != 0 || !compute()) {
            std::printf("generation %d: child ended with %d\n", generation, result);
            return 1;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    alarm(60);
    static late_caller before;
    if (!compute()) {
        return 2;
    }
    static late_caller after;
    if (std::strcmp(how, "return") == 0) {
        return 0;
    }
    if (std::strcmp(how, "quick") == 0) {
        std::quick_exit(0);
    }
    if (std::strcmp(how, "busy") == 0) {  // exit while another thread computes
        std::thread([] {
            for (;;) {
                compute();
            }
        }).detach();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::exit(0);
    }
    if (std::strcmp(how, "task") == 0) {  // exit from a task
        control.in_task = [](int task) {
            if (task == 5) {
                control.in_task = nullptr;
                std::exit(0);
            }
        };
        compute();
        return 4;
    }
    if (std::strcmp(how, "fork") == 0) {
        return sanitized_build ? skipped : forked();
    }
    return 5;
}
