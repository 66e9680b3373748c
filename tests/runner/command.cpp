// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <heed/runner.hpp>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace {

std::string contents(std::FILE *file) {
    std::string text;
    std::rewind(file);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

}  // namespace

command_result run_command(const heed::kernel_library &library, const std::vector<std::string> &arguments) {
    std::FILE *out = std::tmpfile(), *err = std::tmpfile();
    if (out == nullptr || err == nullptr) throw std::runtime_error("no temporary file");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        std::vector<std::string> words{"runner"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char *> argv;
        for (std::string &word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const int status = heed::run_command_line(library, static_cast<int>(words.size()), argv.data());
        std::fflush(nullptr);
        _exit(status);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

temporary_file::temporary_file(const std::string &ending) {
    static int count = 0;
    const std::string own = "heed-runner-test-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ending;
    name = (std::filesystem::temp_directory_path() / own).string();
}

temporary_file::~temporary_file() { std::remove(name.c_str()); }
