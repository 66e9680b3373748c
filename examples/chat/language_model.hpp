// SPDX-License-Identifier: MIT
//
// SmolLM2 (a LLaMA) in f32: the next tokens of some sequences in, the logits of the token after them out. Matrix
// products are Eigen's on top of OpenBLAS, attention is Heed's.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "attention.hpp"

namespace chat {

/// Where the time of `forward` went, in seconds.
struct forward_times {
    double matrix_products = 0;
    double attention = 0;  ///< storing keys and values, too
    double total = 0;

    forward_times &operator+=(const forward_times &more);
};

class language_model {
  public:
    /// Reads config.json and model.safetensors. Throws input_error if they are broken or of another kind of model than
    /// the attention kernels were compiled for.
    explicit language_model(const std::filesystem::path &folder);

    /// The next tokens of a sequence: a whole prompt, or the one token that was chosen last.
    struct next_tokens {
        cached_attention::sequence sequence;
        std::span<const std::int32_t> tokens;  // at least one
    };
    /// Any number of sequences, each with any number of tokens. One row of logits for each, for the token after its
    /// last; valid until the next call.
    const matrix &forward(const std::vector<next_tokens> &step, cached_attention &attention, forward_times &times);

    std::int64_t layer_count() const { return static_cast<std::int64_t>(layers_.size()); }
    /// Longest text that the model was trained for, in tokens; most distinct ids.
    std::int64_t max_tokens() const { return max_tokens_; }
    std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(embeddings_.rows()); }

  private:
    using row_vector = Eigen::RowVectorXf;
    struct layer {
        row_vector attention_norm;
        matrix query_key_value;  // the three stacked, so that one product makes them side by side
        matrix attention_output;
        row_vector inner_norm;
        matrix gate_up;  // the same
        matrix down;
    };
    struct buffers {  // kept from call to call
        matrix hidden, normalised, query_key_value, context, gate_up, inner, last, logits;
    };

    void embed(const std::vector<next_tokens> &step);
    void run_layer(const layer &layer, int number, cached_attention &attention, forward_times &times);
    void normalise(const row_vector &weight, const matrix &rows, matrix &result) const;

    std::vector<layer> layers_;
    matrix embeddings_;  // which also tell how well a hidden state fits each token
    row_vector last_norm_;
    float epsilon_ = 0;
    std::int64_t max_tokens_ = 0;
    buffers buffers_;
};

}  // namespace chat
