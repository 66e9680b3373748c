// SPDX-License-Identifier: MIT
#include "bench_record.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <heed/device.hpp>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "describe.hpp"
#include "table.hpp"

namespace heed::runner {

namespace {

using json = nlohmann::ordered_json;

bool is_of_device(const bench_record &record) { return record.kernel->device != device_kind::cpu; }

json fields(const bench_record &record) {
    json result{{"variant", record.variant->name},
                {"pass", record.kernel->pass},
                {"schedule", record.kernel->schedule},
                {"isa", record.kernel->isa},
                {"device", name_of(record.kernel->device)},
                {"dtype", types_text(record.kernel->types)},
                {"batch", record.sizes.batch},
                {"heads", record.variant->heads},
                {"groups", record.variant->groups},
                {"head_dim", record.variant->head_dim},
                {"value_dim", record.variant->value_dim},
                {"q_len", record.sizes.q_len},
                {"kv_len", record.sizes.kv_len},
                {"threads", record.threads},
                {"calls", record.calls},
                {"visible_pairs", record.visible_pairs},
                {"key_value_bytes", record.bytes},
                {"last_level_cache_bytes", last_level_cache_bytes()},
                {"min_s", record.min_s},
                {"median_s", record.median_s},
                {"gflops", record.gflops()},
                {"fma_peak_gflops", record.fma_peak * 1e-9},
                {"fraction_of_fma_peak", record.fraction_of_fma_peak()},
                {"read_gbps", record.read_gbps()},
                {"read_peak_gbps", record.read_peak * 1e-9},
                {"fraction_of_read_peak", record.fraction_of_read_peak()}};
    if (is_of_device(record)) {
        // Its caches are its own, and threads of the CPU take no part.
        result.erase("threads");
        result.erase("last_level_cache_bytes");
        result["device_name"] = device_of(record.kernel->device).name;
        result["tensor_bytes"] = record.all_bytes;
        result["tflops"] = record.gflops() * 1e-3;
        result["fma_peak_tflops"] = record.fma_peak * 1e-12;
        result["gbps"] = record.gbps();
        result["memory_bandwidth_gbps"] = record.read_peak * 1e-9;
        result["fraction_of_memory_bandwidth"] = record.fraction_of_memory_bandwidth();
    }
    if (record.torch_min_s) {
        result["torch_min_s"] = *record.torch_min_s;
        result["torch_median_s"] = *record.torch_median_s;
    }
    if (record.flex_min_s) {
        result["flex_min_s"] = *record.flex_min_s;
        result["flex_median_s"] = *record.flex_median_s;
        result["flex_block"] = *record.flex_block;
    }
    if (record.extra_bytes) result["extra_bytes"] = *record.extra_bytes;
    return result;
}

// Bandwidths of small tensors are those of a cache.
std::string cache_note(const std::vector<bench_record> &records) {
    const std::int64_t cache = last_level_cache_bytes();
    const auto cached = [&](const auto &record) {
        return !is_of_device(record) && record.bytes < static_cast<double>(cache);
    };
    if (std::none_of(records.begin(), records.end(), cached)) return "";
    return fmt::format(
        "Keys and values below {:.0f} MiB fit the last-level cache: they, and the read peak, come from it.\n",
        static_cast<double>(cache) / 0x1p20);
}

// What stands behind the kernels of devices.
std::string device_note(const std::vector<bench_record> &records) {
    std::string text;
    std::vector<device_kind> named;
    for (const bench_record &record : records) {
        if (!is_of_device(record) || std::find(named.begin(), named.end(), record.kernel->device) != named.end())
            continue;
        named.push_back(record.kernel->device);
        text += fmt::format("{}: {}. {}.\n", name_of(record.kernel->device), device_of(record.kernel->device).name,
                            record.read_peak > 0.0
                                ? "Its read peak is that of its memory; keys and values may come from its caches"
                                : "This program has nothing to measure its peaks with");
    }
    return text;
}

template <typename Member>
bool any(const std::vector<bench_record> &records, const Member &member) {
    return std::any_of(records.begin(), records.end(),
                       [&](const auto &record) { return (record.*member).has_value(); });
}

}  // namespace

std::int64_t last_level_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    return std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
#else
    return 0;
#endif
}

std::string bench_table(const std::vector<bench_record> &records) {
    const bool sdpa = any(records, &bench_record::torch_min_s), flex = any(records, &bench_record::flex_min_s),
               memory = any(records, &bench_record::extra_bytes),
               passes = std::any_of(records.begin(), records.end(),
                                    [](const auto &record) { return std::string(record.kernel->pass) != "forward"; });
    std::vector<std::string> header{"variant",         "schedule",  "isa",
                                    "dtype",           "batch",     "q_len",
                                    "kv_len",          "threads",   "min (ms)",
                                    "median (ms)",     "GFLOP/s",   "FMA peak (GFLOP/s)",
                                    "of FMA peak (%)", "K+V (MiB)", "K+V read (GB/s)",
                                    "of read peak (%)"};
    if (passes) header.insert(header.begin() + 1, "pass");
    if (sdpa) header.insert(header.end(), {"SDPA min (ms)", "SDPA / Heed (x)"});
    if (flex) header.insert(header.end(), {"Flex min (ms)", "Flex / Heed (x)"});
    if (memory) header.emplace_back("extra memory (MiB)");
    text_table table(header);
    for (const bench_record &record : records) {
        std::vector<std::string> row{record.variant->name,
                                     record.kernel->schedule,
                                     record.kernel->isa,
                                     types_text(record.kernel->types),
                                     fmt::format("{}", record.sizes.batch),
                                     fmt::format("{}", record.sizes.q_len),
                                     fmt::format("{}", record.sizes.kv_len),
                                     is_of_device(record) ? "-" : fmt::format("{}", record.threads),
                                     fmt::format("{:.3f}", record.min_s * 1e3),
                                     fmt::format("{:.3f}", record.median_s * 1e3),
                                     fmt::format("{:.1f}", record.gflops()),
                                     fmt::format("{:.1f}", record.fma_peak * 1e-9),
                                     fmt::format("{:.1f}", 100.0 * record.fraction_of_fma_peak()),
                                     fmt::format("{:.1f}", record.bytes / 0x1p20),
                                     fmt::format("{:.2f}", record.read_gbps()),
                                     fmt::format("{:.1f}", 100.0 * record.fraction_of_read_peak())};
        if (passes) row.insert(row.begin() + 1, record.kernel->pass);
        const auto add_peer = [&](const std::optional<double> &seconds) {
            row.push_back(seconds ? fmt::format("{:.3f}", *seconds * 1e3) : "");
            row.push_back(seconds ? fmt::format("{:.2f}", *seconds / record.min_s) : "");
        };
        if (sdpa) add_peer(record.torch_min_s);
        if (flex) add_peer(record.flex_min_s);
        if (memory)
            row.push_back(record.extra_bytes ? fmt::format("{:.1f}", static_cast<double>(*record.extra_bytes) / 0x1p20)
                                             : "");
        table.add(row);
    }
    return table.text() + cache_note(records) + device_note(records);
}

std::string bench_json(const std::vector<bench_record> &records) {
    json list = json::array();
    for (const bench_record &record : records) list.push_back(fields(record));
    return list.dump(2) + "\n";
}

std::string bench_csv(const std::vector<bench_record> &records) {
    // Every record has the columns of the fullest one.
    std::vector<std::string> columns;
    for (const bench_record &record : records) {
        const json values = fields(record);
        for (const auto &item : values.items())
            if (std::find(columns.begin(), columns.end(), item.key()) == columns.end()) columns.push_back(item.key());
    }
    std::string text;
    for (std::size_t i = 0; i < columns.size(); ++i) text += (i > 0 ? "," : "") + columns[i];
    text += "\n";
    for (const bench_record &record : records) {
        const json values = fields(record);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (i > 0) text += ",";
            if (!values.contains(columns[i])) continue;
            const json &value = values[columns[i]];
            text += value.is_string() ? value.get<std::string>() : value.dump();
        }
        text += "\n";
    }
    return text;
}

}  // namespace heed::runner
