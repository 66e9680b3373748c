// SPDX-License-Identifier: MIT
//
// The kernel table: what a kernel library holds, as plain data. The build fills it from the declarations; the typed
// calls, the argument checks and the runner read it. A new kernel is one more entry here and nothing else.
#pragma once

#include <cstdint>

namespace heed {

/// Storage type of a tensor's elements.
enum class data_type : std::uint8_t { f32, i32, f16, bf16, i8 };

constexpr int bytes_of(data_type type) noexcept {
    return type == data_type::i8 ? 1 : type == data_type::f16 || type == data_type::bf16 ? 2 : 4;
}

constexpr const char *name_of(data_type type) noexcept {
    return type == data_type::f32    ? "f32"
           : type == data_type::i32  ? "i32"
           : type == data_type::f16  ? "f16"
           : type == data_type::i8   ? "i8"
           : type == data_type::bf16 ? "bf16"
                                     : "no type that there is";
}

/// The storage types of a kernel's tensors.
struct tensor_types {
    data_type query, key, value, output;

    constexpr tensor_types(data_type all = data_type::f32) noexcept : tensor_types(all, all, all, all) {}
    constexpr tensor_types(data_type q, data_type k, data_type v, data_type o) noexcept
        : query(q), key(k), value(v), output(o) {}

    constexpr bool operator==(const tensor_types &other) const noexcept {
        return query == other.query && key == other.key && value == other.value && output == other.output;
    }
};

/// What runs a kernel.
enum class device_kind : std::uint8_t { cpu, cuda, opencl, vulkan };

constexpr const char *name_of(device_kind kind) noexcept {
    return kind == device_kind::cpu      ? "cpu"
           : kind == device_kind::cuda   ? "cuda"
           : kind == device_kind::opencl ? "opencl"
           : kind == device_kind::vulkan ? "vulkan"
                                         : "no device that there is";
}

/// One `input<"name", type>` of a variant. A rank of 0 is a single number.
struct input_description {
    const char *name;
    data_type type;
    int rank;
};

/// The sizes that vary from call to call.
struct call_sizes {
    std::int64_t batch;
    std::int64_t q_len;
    std::int64_t kv_len;
};

/// One pair of query and key. Positions are absolute: q_pos = query_start + row.
struct pair_position {
    std::int64_t batch;
    std::int64_t head;
    std::int64_t q_pos;
    std::int64_t kv_pos;
};

/// A row of a query or result (head, q_row), or of a key or value (group, key).
struct row_position {
    std::int64_t batch;
    std::int64_t head_or_group;
    std::int64_t row_or_key;
};

/// Reads one element of input number `input` of a variant, for the readings below.
struct input_reader {
    double (*read)(const void *context, int input, const std::int64_t *indices);
    const void *context;
};

/// Closed range of the values of one index. `known` is false where the declaration does not bound it.
struct index_range {
    std::int64_t lowest;
    std::int64_t highest;
    bool known;
};

/// A rectangle of pairs: query heads [first_head, first_head + head_count), query rows, keys.
struct tile_bounds {
    std::int64_t batch;
    std::int64_t first_head, head_count;
    std::int64_t first_row, row_count;
    std::int64_t first_key, key_count;
};

/// What the range reading proves of a tile: no pair attends, some may, all do.
enum class tile_class : std::uint8_t { empty, mixed, full };

/// The declaration itself, read in double precision without Halide: the oracle of `verify`, the map of `explain`, the
/// extents that the argument check asks for.
struct variant_readings {
    bool (*attends)(const call_sizes &, const pair_position &, const input_reader &);
    /// score_mod; `score` is scale * <query, key>.
    double (*modified_score)(const call_sizes &, const pair_position &, double score, const input_reader &);
    /// Null where the variant has no sink.
    double (*sink_logit)(const call_sizes &, std::int64_t batch, std::int64_t head, const input_reader &);
    std::int64_t (*query_start)(const call_sizes &, std::int64_t batch, const input_reader &);
    /// Values that the index `dimension` (outermost first) of an input takes in a call of these sizes.
    index_range (*input_index)(const call_sizes &, int input, int dimension);
    tile_class (*classify)(const call_sizes &, const tile_bounds &, const input_reader &);
    /// The weight of a modified score where weights are no softmax; else null.
    double (*weight_of_score)(const call_sizes &, const pair_position &, double score, const input_reader &) = nullptr;
    /// Null where the factor is 1.
    double (*weight_factor)(const call_sizes &, const pair_position &, const input_reader &) = nullptr;
    /// Change a row in memory into the one that takes part, and a result into the one that is stored; null where that
    /// is the same.
    void (*modify_query)(const call_sizes &, const row_position &, double *row, const input_reader &) = nullptr;
    void (*modify_key)(const call_sizes &, const row_position &, double *row, const input_reader &) = nullptr;
    void (*modify_value)(const call_sizes &, const row_position &, double *row, const input_reader &) = nullptr;
    void (*modify_output)(const call_sizes &, const row_position &, double *row, const input_reader &) = nullptr;
};

/// A table that a kernel reads besides the caller's tensors: the lowest and highest element of an input over each tile
/// of queries or keys. Its dimensions, innermost first, are (2, tiles, heads of a group / heads_per_tile, groups,
/// batch).
struct tile_table_description {
    data_type type;
    bool by_key;  ///< tiles of keys, else of queries
};

/// What is known of a kernel of a GPU since it was compiled: of its main part, which goes over tiles of keys. A block
/// of threads has query_tile rows and goes over key_tile keys at a time. 0 where it is unknown; all 0 for CPUs.
struct gpu_block {
    int threads = 0;
    int shared_bytes = 0;       ///< of memory that the block shares
    int rows_of_thread = 0;     ///< whose scores and results a thread computes
    int keys_of_thread = 0;     ///< of the scores of its rows, in one step
    int columns_of_thread = 0;  ///< of the results of its rows
    int keys_of_part = 0;       ///< that a block goes over, at most; 0: all, and nothing is merged
    int registers_sm_80 = 0;    ///< of a thread, as NVIDIA's assembler gives for compute capability 8.0
    int registers_sm_90 = 0;    ///< and for 9.0
};

/// One compiled kernel. `run` takes Halide's argument array: user context, query, key, value, the inputs in the order
/// of the description, q_len, kv_len, output, log_sum_exp. Buffers are Halide's, innermost dimension first, with the
/// query heads split into (head in group, group): query and output (dim, head in group, row, group, batch), key and
/// value (dim, key, group, batch), log_sum_exp (head in group, row, group, batch); inputs have their indices reversed.
/// A kernel of the pass "weights" takes no value, and its output is (key, head in group, row, group, batch).
/// One of the pass "cached" serves one sequence of a call, whose number is the only index of the batch dimensions; key
/// and value are those of a cache, (element, token, group, page), where elements count through all tokens and pages
/// from the lowest address on and a row is head_dim of them, and after them it takes the scales (token, group, page) of
/// key and of value, where these hold i8, and the pages of the sequence (block). One of the pass "append" stores tokens
/// of one sequence in one page: it takes user context, key and value (dim, token, group, batch), inputs, q_len, kv_len,
/// and writes the cache's key and value, then their scales, with indices like these. Tables stand between inputs and
/// q_len; `make_tables` fills them and takes user context, inputs, q_len, kv_len, tables.
struct kernel_description {
    const char *name;      ///< <variant>_<pass>_<schedule>_<dtype>_<isa>
    const char *pass;      ///< "forward", or "weights": see call.hpp; "append", "cached": see cached_call.hpp
    const char *schedule;  ///< "decode", for few queries, or "prefill"; of append "rows"
    const char *isa;       ///< "avx512", "avx2", "x86_64" or "neon", see isa.hpp; or of a device, see device.hpp
    tensor_types types;
    int query_tile;  ///< rows (of all heads of a group together) and keys of one tile
    int key_tile;
    int heads_per_tile;  ///< query heads whose rows share a tile
    int (*run)(void **arguments);
    const tile_table_description *tables = nullptr;
    int table_count = 0;
    int (*make_tables)(void **arguments) = nullptr;
    int most_queries = 0;  ///< calls with more of them have a better kernel further down the list; 0: any number
    device_kind device = device_kind::cpu;  ///< of others, elements of two bytes are UInt(16) to Halide
    int device_version = 0;                 ///< that the device must have, as heed::device counts them
    gpu_block block = {};
};

/// Whether no kernel further down the list serves so many queries better.
constexpr bool suits(const kernel_description &kernel, std::int64_t q_len) noexcept {
    return kernel.most_queries == 0 || q_len <= kernel.most_queries;
}

/// One declared variant with its kernels in the order in which a call looks for one that suits it: the best instruction
/// set first, then the schedules for few queries.
struct variant_description {
    const char *name;
    const char *formula;  ///< the declaration, as the text reading prints it
    int heads, groups, head_dim, value_dim;
    double scale;
    const input_description *inputs;
    int input_count;
    const kernel_description *kernels;
    int kernel_count;
    variant_readings readings;
};

/// All that one heed_add_kernels target holds.
struct kernel_library {
    const char *name;
    const variant_description *variants;
    int variant_count;
};

}  // namespace heed
