// SPDX-License-Identifier: MIT
//
// The kernel table: what a kernel library holds, as plain data. The build fills it from the declarations; the typed
// calls, the argument checks and the runner read it. A new kernel is one more entry here and nothing else.
#pragma once

#include <cstdint>

namespace heed {

/// Storage type of a tensor's elements.
enum class data_type : std::uint8_t { f32, i32 };

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
};

/// One compiled kernel. `run` takes Halide's argument array: user context, query, key, value, the inputs in the order
/// of the description, q_len, kv_len, output, log_sum_exp. Buffers are Halide's, innermost dimension first, with the
/// query heads split into (head in group, group): query and output (dim, head in group, row, group, batch), key and
/// value (dim, key, group, batch), log_sum_exp (head in group, row, group, batch); inputs have their indices reversed.
struct kernel_description {
    const char *name;      ///< <variant>_<pass>_<schedule>_<dtype>_<isa>
    const char *pass;      ///< "forward"
    const char *schedule;  ///< "prefill"
    const char *isa;       ///< "avx512", "avx2" or "x86_64"; see isa.hpp
    data_type type;        ///< of query, key, value and output
    int query_tile;        ///< rows (of all heads of a group together) and keys of one tile
    int key_tile;
    int heads_per_tile;  ///< query heads whose rows share a tile
    int (*run)(void **arguments);
};

/// One declared variant with its kernels, the best instruction set first.
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
