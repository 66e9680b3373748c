// SPDX-License-Identifier: MIT
//
// The attention of all layers, with the keys and values of all sequences that are being written.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <heed/key_value_cache.hpp>
#include <map>
#include <string>
#include <vector>

namespace chat {

/// Row-major, one token per row.
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// What the kernels were compiled for.
struct attention_shape {
    std::int64_t heads, groups, head_dim;
};
attention_shape compiled_shape();

/// Types of stored keys and values by the names that users give them.
extern const std::map<std::string, heed::data_type> cache_types;

class cached_attention {
  public:
    using sequence = heed::key_value_cache::sequence;

    /// Each token sees the `window` most recent ones, itself included, and the first of the text.
    cached_attention(const heed::cache_options &options, std::int64_t window);

    /// Most pages that a sequence has at a time.
    static std::int64_t pages_needed(std::int64_t prompt, std::int64_t whole_text, std::int64_t page_size,
                                     std::int64_t window);

    sequence add() { return cache_.add(); }
    void remove(sequence number) { cache_.remove(number); }

    struct growing_sequence {
        cached_attention::sequence sequence;
        std::int64_t new_tokens;
    };
    /// Makes room for the next tokens of some sequences, which stand one behind another in the rows of `attend`.
    void extend(const std::vector<growing_sequence> &growing);

    /// In each layer once for each `extend`. A row of `query_key_value` holds the heads of the query, then those of key
    /// and value.
    void attend(int layer, const matrix &query_key_value, matrix &output);

    /// Size of all keys and values.
    std::int64_t bytes() const { return cache_.bytes(); }

  private:
    heed::key_value_cache cache_;
    std::int64_t window_;
    std::vector<heed::cached_sequence> sequences_;  // of the step that `extend` began
};

}  // namespace chat
