// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "describe.hpp"
#include "invoke.hpp"
#include "table.hpp"

namespace heed::runner {

namespace {

using json = nlohmann::ordered_json;

json variant_record(const variant_description &variant) {
    json arguments = json::array();
    for (const argument_text &argument : arguments_of(variant))
        arguments.push_back({{"name", argument.name},
                             {"type", argument.type},
                             {"shape", argument.shape},
                             {"rank", argument.shape.size()},
                             {"role", argument.role}});
    json kernels = json::array();
    for (int i = 0; i < variant.kernel_count; ++i) {
        const kernel_description &kernel = variant.kernels[i];
        json record{{"name", kernel.name},
                    {"pass", kernel.pass},
                    {"schedule", kernel.schedule},
                    {"isa", kernel.isa},
                    {"device", name_of(kernel.device)},
                    {"dtype", types_text(kernel.types)},
                    {"query_tile", kernel.query_tile},
                    {"key_tile", kernel.key_tile},
                    {"runs_here", runs_here(kernel)}};
        if (kernel.device != device_kind::cpu) {
            record["threads_of_block"] = kernel.block.threads;
            record["shared_bytes_of_block"] = kernel.block.shared_bytes;
            // null: unknown
            for (const auto &[name, registers] : {std::pair("registers_sm_80", kernel.block.registers_sm_80),
                                                  std::pair("registers_sm_90", kernel.block.registers_sm_90)})
                record[name] = registers > 0 ? json(registers) : json();
        }
        kernels.push_back(record);
    }
    return {{"name", variant.name},     {"formula", variant.formula},   {"heads", variant.heads},
            {"groups", variant.groups}, {"head_dim", variant.head_dim}, {"value_dim", variant.value_dim},
            {"scale", variant.scale},   {"arguments", arguments},       {"kernels", kernels}};
}

}  // namespace

int list(const kernel_library &library, bool as_json) {
    if (as_json) {
        json variants = json::array();
        for (int i = 0; i < library.variant_count; ++i) variants.push_back(variant_record(library.variants[i]));
        fmt::print("{}\n", variants.dump(2));
        return 0;
    }
    for (int i = 0; i < library.variant_count; ++i) {
        const variant_description &variant = library.variants[i];
        fmt::print("{}{}\n", i > 0 ? "\n" : "", variant.name);
        fmt::print("{}", indented(variant.formula));
        for (const argument_text &argument : arguments_of(variant))
            fmt::print("  {:<12} {} {} {}\n", argument.name, argument.type, shape_text(argument), argument.role);
        for (int k = 0; k < variant.kernel_count; ++k) {
            const kernel_description &kernel = variant.kernels[k];
            fmt::print("  kernel {} (pass {}, {}, tile {} x {}){}\n", kernel.name, kernel.pass,
                       types_text(kernel.types), kernel.query_tile, kernel.key_tile,
                       runs_here(kernel)                   ? ""
                       : kernel.device == device_kind::cpu ? ", not for this machine"
                                                           : ", not here: " + why_not_here(kernel));
        }
    }
    return 0;
}

}  // namespace heed::runner
