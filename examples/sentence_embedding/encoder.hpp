// SPDX-License-Identifier: MIT
//
// The MiniLM encoder (a BERT) in f32: token ids in, one unit vector per sentence out. Matrix products are Eigen's on
// top of OpenBLAS, attention is Heed's. Sentences of different lengths share a batch: short ones are padded, and the
// attention kernel is told how many tokens of each are real.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace minilm {

/// Row-major, one token or sentence per row.
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using row_vector = Eigen::RowVectorXf;

/// Where the time of `embed` went, in seconds.
struct embed_times {
    double matrix_products = 0;  ///< with their biases
    double attention = 0;
    double total = 0;
};

/// What attention does with one sentence.
struct attention_look {
    std::int64_t layers = 0, heads = 0, tokens = 0;  ///< heads: of each layer
    std::vector<float> weights;                      ///< (layers, heads, tokens, tokens)
    std::vector<float> log_sum_exp;                  ///< (layers, heads, tokens)
};

/// Bytes of the activations of a run: what exists at the same time while one layer follows the other.
struct activation_bytes {
    double query_key_value = 0, attention_output = 0;
    double attention_scratch = 0;  ///< what the kernel takes on one thread and keeps for the next call
    double inner = 0, others = 0;  ///< between the two feed-forward products; hidden states and the result of a product
};

class encoder {
  public:
    /// Reads config.json and model.safetensors. Throws input_error if they are broken or of another kind of model than
    /// the attention kernel was compiled for.
    explicit encoder(const std::filesystem::path &folder);

    /// One row per sentence: the mean of its last hidden states, scaled to length 1. Sentences are processed in batches
    /// of at most `batch_size` of similar length; neither that nor their order changes a row beyond rounding.
    matrix embed(const std::vector<std::vector<std::int32_t>> &sentences, int batch_size, embed_times &times) const;

    /// The attention matrices of all layers for one sentence. `embed` never has them: its kernels keep no matrix.
    attention_look look_at(const std::vector<std::int32_t> &sentence) const;

    /// Of a run with one sentence of so many tokens.
    activation_bytes count_activations(std::int64_t tokens) const;

    /// Longest sentence in tokens, most distinct ids, length of an embedding.
    int max_tokens() const { return static_cast<int>(position_embeddings_.rows()); }
    int vocabulary_size() const { return static_cast<int>(word_embeddings_.rows()); }
    int embedding_size() const { return static_cast<int>(word_embeddings_.cols()); }

  private:
    /// y = x * weight^T + bias
    struct linear {
        matrix weight;
        row_vector bias;
    };
    struct layer_norm {
        row_vector weight, bias;
        float epsilon;
    };
    struct layer {
        linear query_key_value;  // the three stacked, so that one product makes them side by side
        linear attention_output;
        layer_norm attention_norm;
        linear intermediate;
        linear output;
        layer_norm output_norm;
    };
    struct padded_batch {
        Eigen::Index length;  // of the longest sentence
        std::vector<const std::vector<std::int32_t> *> sentences;
        std::vector<std::int32_t> lengths;
    };

    struct buffers {  // kept from layer to layer
        matrix hidden, query_key_value, context, inner, product;
    };

    void check_tokens(const std::vector<std::int32_t> &ids) const;
    void embed_tokens(const padded_batch &batch, matrix &hidden) const;
    /// `look`, if given, also takes down the attention of the layer.
    static void run_layer(const layer &layer, const padded_batch &batch, buffers &buffers, embed_times &times,
                          attention_look *look = nullptr);
    static void run_attention(const padded_batch &batch, buffers &buffers);
    static void add_weights(const padded_batch &batch, const buffers &buffers, attention_look &look);

    static void apply(const linear &linear, const matrix &input, matrix &output, embed_times &times);
    static void apply(const layer_norm &norm, matrix &rows);

    matrix word_embeddings_;
    matrix position_embeddings_;  // the one token type that sentences have is added in
    layer_norm embedding_norm_;
    std::vector<layer> layers_;
};

}  // namespace minilm
