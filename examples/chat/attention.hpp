// SPDX-License-Identifier: MIT
//
// The attention of all layers, with the keys and values of all sequences that are being written.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <heed/kernel_table.hpp>
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
/// Tokens at the beginning of a text that every token sees, whatever the window.
inline constexpr std::int64_t first_tokens = 4;

/// Types of stored keys and values by the names that users give them.
extern const std::map<std::string, heed::data_type> cache_types;

struct cache_settings {
    heed::data_type type = heed::data_type::f32;  ///< one of cache_types
    std::int64_t layers = 0;
    std::int64_t pages = 0;      ///< for the sequences of one layer together
    std::int64_t page_size = 0;  ///< tokens
    std::int64_t window = 0;     ///< the most recent tokens that a token sees, itself included
};

class cached_attention {
  public:
    using sequence = int;

    explicit cached_attention(const cache_settings &settings);

    /// A sequence without tokens; its number is given out again after `remove`.
    sequence add();
    void remove(sequence sequence);

    struct growing_sequence {
        cached_attention::sequence sequence;
        std::int64_t new_tokens;
    };
    /// Makes room for the next tokens of some sequences, which stand one behind another in the rows of `attend`.
    void extend(const std::vector<growing_sequence> &growing);

    /// In each layer once for each `extend`. A row of `query_key_value` holds the heads of the query, then those of key
    /// and value.
    void attend(std::int64_t layer, const matrix &query_key_value, matrix &output);

    /// Of all keys and values that there is room for.
    std::int64_t bytes() const;

  private:
    struct layer_rows {
        std::vector<float> key, value;
    };
    cache_settings settings_;
    std::vector<std::vector<layer_rows>> sequences_;
    std::vector<growing_sequence> growing_;
};

}  // namespace chat
