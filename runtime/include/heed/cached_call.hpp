// SPDX-License-Identifier: MIT
//
// Calls on cached keys and values, without types: what generating text does. A cache is memory in pages of some number
// of tokens; a sequence lists the pages that hold its tokens, in order. A contiguous cache is one page per sequence, a
// ring buffer is a list whose pages are used again (see heed/key_value_cache.hpp, which keeps such lists).
//
// A call takes any number of sequences, each with its own number of new tokens and its own length: rows of prompts and
// of single tokens stand one behind another in the same tensors, without padding:
//
//     query        (1, heads, tokens, head_dim)     output       (1, heads, tokens, value_dim)
//     key          (1, groups, tokens, head_dim)    log_sum_exp  (1, heads, tokens)
//     value        (1, groups, tokens, value_dim)
//
// `append` stores the keys and values of the new tokens as they take part, which is after the variant's changes of keys
// and values (rotary positions, for one): they are made once, not in every call. `attend` reads what is stored: in each
// layer it comes after append, and tokens that nothing was stored for are whatever the page held before. Both come from
// the pass "cached" of heed_add_kernels.
//
// `batch` in a declaration is the number of the sequence in the call. What key_mod and value_mod make of it stays in
// the cache, so an input that they index by batch has to give a sequence the same in each call. The last new token of a
// sequence is at the position of its last key, unless `align` or `query_start` say otherwise.
//
// All of it runs on CPUs and in host memory.
//
// Of elements of type i8 a row is whole numbers from -127 to 127 times its largest magnitude over 127; a row with a NaN
// or an infinity becomes NaN as a whole. Calls on one cache may run at the same time if none of them appends to pages
// that another reads, and the lists of pages stay as they are meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include <heed/untyped_call.hpp>

namespace heed {

/// Keys and values in pages, in any order. Strides are free but for the last dimension; unused tokens may hold
/// anything.
struct cache_tensors {
    output_tensor key = {};          ///< (pages, groups, page_size, head_dim)
    output_tensor value = {};        ///< (pages, groups, page_size, value_dim)
    output_tensor key_scale = {};    ///< (pages, groups, page_size), f32: elements of type i8 are multiples of it
    output_tensor value_scale = {};  ///< the same for values; neither is given for other types
};

/// A sequence of a call.
struct cached_sequence {
    std::int64_t new_tokens = 0;          ///< its rows in the tensors of the call
    std::int64_t length = 0;              ///< its tokens in the cache, the new ones included
    const std::int32_t *pages = nullptr;  ///< number i: the page of tokens [i * page_size, (i + 1) * page_size)
                                          ///< or, where the mask hides all of them, -1
    std::int64_t first_writable = 0;      ///< tokens before it are in pages that others share: append refuses them
};

/// Everything that a call takes; `key` and `value` are for append, `query`, `output`, `log_sum_exp` for attend.
struct cached_arguments {
    const variant_description *variant = nullptr;
    tensor query = {};
    tensor key = {};
    tensor value = {};
    output_tensor output = {};
    output_tensor log_sum_exp = {};  ///< optional
    cache_tensors cache = {};
    const cached_sequence *sequences = nullptr;
    std::int64_t sequence_count = 0;
    const tensor *inputs = nullptr;  ///< in the order of variant->inputs
    int input_count = 0;
    int threads = 0;                                    ///< 0: see heed/threads.hpp
    const char *isa = nullptr;                          ///< null: see heed/isa.hpp
    const char *schedule = nullptr;                     ///< null: by the number of new tokens of each sequence
    device_preference device = device_preference::cpu;  ///< `gpu` is refused: kernels of these passes are for CPUs
    std::string *why_cpu = nullptr;                     ///< receives why `gpu_else_cpu` ran on the CPU; else emptied
    device_kind memory = device_kind::cpu;              ///< where the tensors and the cache lie; all else is refused
};

/// Stores the new tokens of each sequence, which are its last `new_tokens`. Throws a heed::error.
void append(const cached_arguments &arguments);

/// Attention of the new tokens of each sequence to its tokens in the cache. Throws a heed::error.
void attend(const cached_arguments &arguments);

/// The same without exceptions.
status try_append(const cached_arguments &arguments) noexcept;
status try_attend(const cached_arguments &arguments) noexcept;

}  // namespace heed
