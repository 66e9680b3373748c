// SPDX-License-Identifier: MIT
//
// What the runner does with kernels of a device, of which some are wrong. It runs in processes of its own, so this one
// must not use a driver: what is forked after that cannot.
#include <doctest/doctest.h>

#include <HalideRuntime.h>
#include <heed/kernel_table.hpp>

#include <string>
#include <vector>

#include "command.hpp"
#include "has_device.hpp"
#include "heed_device_kernels.hpp"

namespace {

using heed::device_kind;

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

using run_function = int (*)(void **);
run_function right_kernel = nullptr;

/// Of tensors in memory of the device nothing is written.
int run_in_host_memory_alone(void **arguments) {
    const bool on_device = static_cast<const halide_buffer_t *>(arguments[1])->host == nullptr;
    return on_device ? 0 : right_kernel(arguments);
}

/// The variant `dense` with its kernel for many queries on this kind of device alone.
class library_of_one {
  public:
    explicit library_of_one(device_kind kind) : variant_(kernels::dense.description()), library_{"one", &variant_, 1} {
        for (int i = 0; i < kernels::dense.description().kernel_count; ++i) {
            const heed::kernel_description &each = kernels::dense.description().kernels[i];
            if (each.device == kind && std::string(each.schedule) == "prefill") kernel_ = each;
        }
        variant_.kernels = &kernel_;
        variant_.kernel_count = 1;
    }
    library_of_one(const library_of_one &) = delete;
    library_of_one &operator=(const library_of_one &) = delete;

    void replace_kernel(run_function by) {
        right_kernel = kernel_.run;
        kernel_.run = by;
    }
    const heed::kernel_library &get() const { return library_; }

  private:
    heed::kernel_description kernel_{};
    heed::variant_description variant_;
    heed::kernel_library library_;
};

/// As the runner finds it.
bool runner_has_device(const library_of_one &library, const std::string &kind) {
    const command_result found = run_command(library.get(), {"devices", kind});
    if (found.status != 0) skip_or_fail(kind, found.out + found.err);
    return found.status == 0;
}

}  // namespace

TEST_CASE("verify calls kernels of a device on tensors in its memory, too, and finds what is wrong only there") {
    for (const device_kind kind : {device_kind::opencl, device_kind::vulkan}) {
        const std::string name = heed::name_of(kind);
        library_of_one library(kind);
        if (!runner_has_device(library, name)) continue;
        CAPTURE(name);
        const command_result right = run_command(library.get(), {"verify", "--quick", "--threads", "1"});
        CHECK_MESSAGE(right.status == 0, right.out);
        library.replace_kernel(run_in_host_memory_alone);
        const command_result wrong = run_command(library.get(), {"verify", "--quick", "--threads", "1"});
        CHECK(wrong.status == 1);
        CHECK_MESSAGE(contains(wrong.out, ", tensors in memory of the device\n    output["), wrong.out);
    }
}

TEST_CASE("explain names the device that kernels run on") {
    const library_of_one library(device_kind::opencl);
    if (!runner_has_device(library, "opencl")) return;
    const std::string listed = run_command(library.get(), {"devices", "opencl"}).out;
    const std::size_t begin = std::string("opencl: ").size();
    const std::string first_word = listed.substr(begin, listed.find_first_of(" ,", begin) - begin);
    const command_result explained = run_command(library.get(), {"explain", "dense"});
    CHECK_MESSAGE(contains(explained.out, "\nkernels for opencl run here: " + first_word), explained.out);
}
