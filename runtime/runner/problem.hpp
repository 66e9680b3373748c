// SPDX-License-Identifier: MIT
//
// One call to check or time: sizes, tensors and inputs of a variant.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <map>
#include <string>

#include "inputs.hpp"
#include "tensor.hpp"

namespace heed::runner {

enum class score_kind {
    ordinary,  ///< queries and keys of variance 1: scores of magnitude 1
    peaked,    ///< queries 100 times as large: nearly all weights vanish
    far        ///< all scores between -131075 and -131072: no number may stand in for -inf
};

struct problem {
    const variant_description *variant;
    call_sizes sizes;
    tensor query, key, value;
    input_tables inputs;
    tensor_types types;
    std::int64_t page_size;  ///< of the cache, for kernels that read keys and values from one

    int heads_per_group() const { return variant->heads / variant->groups; }
};

/// What a kernel computes: the forward pass its output, the pass "weights" the attention matrix.
enum class computed { output, weights };

computed computed_by(const kernel_description &kernel);

/// Whether a kernel reads keys and values from a cache; calls then have no more queries than keys.
bool reads_cache(const kernel_description &kernel);

/// Whether it solves problems by itself; those of the pass "append" are a part of calls with a cache.
bool is_called(const kernel_description &kernel);

struct problem_options {
    arrangement how = arrangement::row_major;
    score_kind scores = score_kind::ordinary;
    integer_fill fill = integer_fill::lengths;
    tensor_types types;  ///< values are such as these hold exactly
    std::uint64_t seed = 1;
    input_settings settings;
    std::int64_t page_size = 64;
};

/// Throws std::runtime_error if the tensors of a call do not fit the memory of this machine.
void check_memory(const variant_description &variant, const call_sizes &sizes);

/// The values depend on the sizes, the seed and the kinds, not on the arrangement (`broadcast` excepted).
problem make_problem(const variant_description &variant, const call_sizes &sizes, const problem_options &options);

/// The results of a call, in memory filled with a pattern that no kernel writes.
struct results {
    tensor output;       ///< (batch, heads, q_len, value_dim), or the weights, (batch, heads, q_len, kv_len)
    tensor log_sum_exp;  ///< (batch, heads, q_len), row-major
};

results make_results(const problem &of, arrangement how, computed what = computed::output);

/// The pattern: a NaN with a payload of its own. `is_untouched` compares bits.
float untouched_pattern();
bool is_untouched(float value);

}  // namespace heed::runner
