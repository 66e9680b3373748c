// SPDX-License-Identifier: MIT

#include <heed/isa.hpp>

#include <doctest/doctest.h>

#include <string>

#include "environment_variable.hpp"
#include "fake_control.hpp"
#include "problem.hpp"

namespace {

const char *best_of_this_cpu() {
    for (const char *name : heed::isa_names) {
        if (heed::isa_available(name)) {
            return name;
        }
    }
    return "none";
}

std::string kernel_that_ran(problem &p, const char *isa = nullptr) {
    control.reset();
    models::mha(p.query, p.key, p.value, p.output, {{}, 1, isa});
    CHECK(p.error(false) < 1e-6);
    return control.isa.load();
}

std::string refusal(const heed::variant_description &variant, const char *isa) {
    try {
        (void)heed::choose_kernel(variant, isa);
    } catch (const heed::unsupported_error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("which levels there are") {
    CHECK(heed::isa_available("x86_64"));
    CHECK_FALSE(heed::isa_available("neon"));
    CHECK_FALSE(heed::isa_available("sse9"));
    CHECK_FALSE(heed::isa_available(""));
    CHECK_FALSE(heed::isa_available(nullptr));
    CHECK(std::string(heed::isa_names[0]) == "avx512");
    // A level includes the lower ones.
    CHECK((!heed::isa_available("avx512") || heed::isa_available("avx2")));
}

TEST_CASE("the best level is chosen") {
    const control_scope scope;
    problem p = problem::mha(1, 3, 3);
    CHECK(kernel_that_ran(p) == best_of_this_cpu());
    CHECK(kernel_that_ran(p, "") == best_of_this_cpu());
}

TEST_CASE("a level is forced") {
    const control_scope scope;
    problem p = problem::mha(1, 3, 3);
    for (const char *name : heed::isa_names) {
        if (heed::isa_available(name)) {
            CHECK(kernel_that_ran(p, name) == name);
            const environment_variable forced("HEED_ISA", name);
            CHECK(kernel_that_ran(p) == name);
            CHECK(kernel_that_ran(p, "x86_64") == "x86_64");  // the option counts more
        }
    }
}

TEST_CASE("the schedule is chosen by the number of queries, or forced") {
    heed::variant_description variant = fake_kernels.variants[1];
    const heed::kernel_description &any = variant.kernels[variant.kernel_count - 1];
    heed::kernel_description kernels[] = {any, any};
    kernels[0].schedule = "decode";
    kernels[0].most_queries = 16;
    kernels[1].schedule = "prefill";
    variant.kernels = kernels;
    variant.kernel_count = 2;
    const auto chosen = [&](std::int64_t q_len, const char *schedule = nullptr) {
        return std::string(heed::choose_kernel(variant, nullptr, "forward", nullptr, q_len, schedule).schedule);
    };
    CHECK(chosen(0) == "decode");
    CHECK(chosen(16) == "decode");
    CHECK(chosen(17) == "prefill");
    CHECK(chosen(1, "prefill") == "prefill");
    CHECK(chosen(1000, "decode") == "decode");
    CHECK_THROWS_WITH_AS(chosen(1, "sideways"),
                         "mha: the library has no schedule \"sideways\" for the pass \"forward\". Fix: add it to "
                         "SCHEDULES of heed_add_kernels, or leave it out.",
                         heed::unsupported_error);
    variant.kernel_count = 1;  // the one for few queries has to do
    CHECK(chosen(1000) == "decode");
}

TEST_CASE("levels that cannot be had") {
    const heed::variant_description &mha = fake_kernels.variants[1];
    heed::variant_description small = mha;
    small.kernels = mha.kernels + 2;
    small.kernel_count = 1;
    CHECK(
        refusal(small, "sse9") ==
        "mha: instruction set \"sse9\" (option 'isa' of the call) is not the name of an instruction set. Names: "
        "avx512, avx2, x86_64, neon; in the library for such calls: x86_64; usable here: x86_64. Fix: choose a usable "
        "one, or none to get the best.");
    if (heed::isa_available("avx2")) {
        CHECK(
            refusal(small, "avx2") ==
            "mha: instruction set \"avx2\" (option 'isa' of the call) is not among the targets that the library was "
            "built for. Names: avx512, avx2, x86_64, neon; in the library for such calls: x86_64; usable here: x86_64. "
            "Fix: choose a usable one, or none to get the best.");
        const environment_variable forced("HEED_ISA", "avx2");
        CHECK(refusal(small, nullptr).find("\"avx2\" (environment variable HEED_ISA)") != std::string::npos);
    }
    if (!heed::isa_available("avx512")) {
        CHECK(refusal(mha, "avx512").find("is not supported by this CPU") != std::string::npos);
    }
    heed::variant_description none = mha;
    none.kernel_count = 0;
    CHECK(refusal(none, nullptr)
              .find("mha: this CPU cannot run any kernel of the library. In the library: none; this "
                    "CPU has: ") == 0);

    problem p = problem::mha(1, 3, 3);
    const heed::status status = models::mha.try_run(p.query, p.key, p.value, p.output, {p.log_sum_exp, 0, "sse9"});
    CHECK(status.code() == heed::status_code::unsupported);
    CHECK(p.nothing_written());
}

namespace {

/// mha with the kernels of one level of CPUs and one of CUDA, for a pass each.
struct passes_variant {
    heed::kernel_description kernels[4];
    heed::variant_description description = fake_kernels.variants[1];

    passes_variant() {
        for (heed::kernel_description &each : kernels) {
            each = description.kernels[2];
        }
        kernels[0].isa = "cuda_80";
        kernels[0].device = heed::device_kind::cuda;
        kernels[1].pass = "weights";
        kernels[2].pass = "append";
        kernels[3].pass = "cached";
        description.kernels = kernels;
        description.kernel_count = 4;
    }
    passes_variant(const passes_variant &) = delete;
    passes_variant &operator=(const passes_variant &) = delete;

    std::string refusal(const char *isa, const char *pass, const heed::tensor_types &types = {},
                        const char *schedule = nullptr) const {
        try {
            (void)heed::choose_kernel(description, isa, pass, &types, 1, schedule);
        } catch (const heed::unsupported_error &error) {
            return error.what();
        }
        return "nothing was thrown";
    }
};

constexpr const char *names_and_level =
    ". Names: avx512, avx2, x86_64, neon; in the library for such calls: x86_64; usable here: x86_64. Fix: ";

}  // namespace

TEST_CASE("passes that only CPUs have kernels for ignore an environment that names a device") {
    const passes_variant variant;
    for (const char *name : {"cuda_80", "cuda", "opencl"}) {
        const environment_variable forced("HEED_ISA", name);
        for (const char *pass : {"weights", "append", "cached"}) {
            CHECK(variant.refusal(nullptr, pass) == "nothing was thrown");
        }
    }
    const environment_variable misspelled("HEED_ISA", "cuda80");
    CHECK(variant.refusal(nullptr, "weights") ==
          std::string("mha: instruction set \"cuda80\" (environment variable HEED_ISA) is not the name of an "
                      "instruction set") +
              names_and_level + "choose a usable one, or none to get the best.");
}

TEST_CASE("a level that the library has for other calls") {
    passes_variant variant;
    for (const char *name : {"cuda_80", "cuda"}) {
        CHECK(variant.refusal(name, "weights") ==
              std::string("mha: instruction set \"") + name +
                  "\" (option 'isa' of the call) cannot be used: the library has no kernel of " + name +
                  " for the pass \"weights\"" + names_and_level +
                  "call it for the CPU, devices have the pass \"forward\" only; or choose a usable one, or none to get "
                  "the best.");
    }
    // Of other types.
    variant.kernels[1].pass = "forward";
    variant.kernels[0].types = heed::data_type::f16;
    const std::string of_types = variant.refusal("cuda_80", "forward");
    CHECK(of_types ==
          std::string("mha: instruction set \"cuda_80\" (option 'isa' of the call) cannot be used: the library has "
                      "kernels of cuda_80 for tensors (query:key:value:output) of f16:f16:f16:f16, none for "
                      "f32:f32:f32:f32") +
              names_and_level +
              "pass tensors of such types or add theirs to DTYPES of heed_add_kernels; or choose a usable one, or none "
              "to get the best.");
    // Of another schedule; and of both.
    variant.kernels[1].schedule = "decode";
    CHECK(variant.refusal("cuda_80", "forward", {}, "decode") == of_types);
    variant.kernels[0].types = heed::data_type::f32;
    CHECK(variant.refusal("cuda_80", "forward", {}, "decode") ==
          std::string("mha: instruction set \"cuda_80\" (option 'isa' of the call) cannot be used: the library has no "
                      "kernel of cuda_80 with the schedule \"decode\" for the pass \"forward\"") +
              names_and_level +
              "leave the schedule out or add it to SCHEDULES of heed_add_kernels; or choose a usable one, or none to "
              "get the best.");
    // Of CPUs.
    variant.kernels[1].isa = "avx512";
    variant.kernels[1].pass = "weights";
    CHECK(variant.refusal("avx512", "append")
              .find("\"avx512\" (option 'isa' of the call) cannot be used: the library has no kernel of avx512 for the "
                    "pass \"append\". Names: ") != std::string::npos);
}

TEST_CASE("\"cuda\" is a name, whatever the library holds") {
    CHECK(refusal(fake_kernels.variants[1], "cuda")
              .find("\"cuda\" (option 'isa' of the call) is not among the targets "
                    "that the library was built for. Names: ") != std::string::npos);
}
