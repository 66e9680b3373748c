// SPDX-License-Identifier: MIT
#include "selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "invoke.hpp"

namespace heed::runner {

std::vector<const variant_description *> select_variants(const kernel_library &library,
                                                         const std::vector<std::string> &names) {
    std::vector<std::string> present;
    std::vector<const variant_description *> result;
    for (int i = 0; i < library.variant_count; ++i) {
        const variant_description &variant = library.variants[i];
        present.emplace_back(variant.name);
        if (names.empty() || std::find(names.begin(), names.end(), variant.name) != names.end())
            result.push_back(&variant);
    }
    for (const std::string &name : names)
        if (std::find(present.begin(), present.end(), name) == present.end())
            throw std::invalid_argument(
                fmt::format("{} has no variant '{}'; it has: {}", library.name, name, fmt::join(present, ", ")));
    return result;
}

std::vector<const kernel_description *> select_kernels(const variant_description &variant,
                                                       const std::vector<std::string> &isas, const char *pass) {
    std::vector<std::string> present;
    std::vector<const kernel_description *> result;
    for (int i = 0; i < variant.kernel_count; ++i) {
        const kernel_description &kernel = variant.kernels[i];
        if (pass != nullptr && std::string(pass) != kernel.pass) continue;
        if (std::find(present.begin(), present.end(), kernel.isa) == present.end()) present.emplace_back(kernel.isa);
        const bool asked = isas.empty() || std::find(isas.begin(), isas.end(), kernel.isa) != isas.end();
        if (!asked) continue;
        if (runs_here(kernel)) {
            result.push_back(&kernel);
        } else if (!isas.empty()) {
            throw std::invalid_argument(fmt::format("{}: this machine cannot run the kernel for '{}': {}", variant.name,
                                                    kernel.isa, why_not_here(kernel)));
        }
    }
    if (pass != nullptr && present.empty()) return {};
    for (const std::string &isa : isas)
        if (std::find(present.begin(), present.end(), isa) == present.end())
            throw std::invalid_argument(
                fmt::format("{} has no kernel for '{}'; it has: {}", variant.name, isa, fmt::join(present, ", ")));
    return result;
}

std::vector<const kernel_description *> suited_kernels(const std::vector<const kernel_description *> &kernels,
                                                       std::int64_t q_len, const std::string &schedule) {
    std::vector<const kernel_description *> result;
    for (const kernel_description *kernel : kernels) {
        if (!schedule.empty() && schedule != kernel->schedule) continue;
        const auto served = std::find_if(result.begin(), result.end(), [&](const kernel_description *other) {
            return std::string(other->isa) == kernel->isa && std::string(other->pass) == kernel->pass &&
                   other->types == kernel->types;
        });
        if (served == result.end()) {
            result.push_back(kernel);
        } else if (!suits(**served, q_len)) {
            *served = kernel;
        }
    }
    return result;
}

void print_skipped(const std::vector<const variant_description *> &variants,
                   const std::function<bool(const variant_description &, const kernel_description &)> &counts) {
    std::map<std::string, int> skipped;
    for (const variant_description *variant : variants)
        for (int i = 0; i < variant->kernel_count; ++i) {
            const kernel_description &kernel = variant->kernels[i];
            if (kernel.device == device_kind::cpu || runs_here(kernel)) continue;
            if (counts && !counts(*variant, kernel)) continue;
            ++skipped[fmt::format("{}: {}", kernel.isa, why_not_here(kernel))];
        }
    for (const auto &[reason, count] : skipped) fmt::print("[SKIP] {} kernels for {}\n", count, reason);
}

}  // namespace heed::runner
