// SPDX-License-Identifier: MIT
#include "encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <unsupported/Eigen/SpecialFunctions>

#include "input_error.hpp"
#include "json_file.hpp"
#include "minilm_kernels.hpp"
#include "safetensors.hpp"

namespace minilm {
namespace {

/// Adds the time between its construction and destruction to a sum.
class stopwatch {
  public:
    explicit stopwatch(double &seconds) : seconds_(seconds), start_(clock::now()) {}
    ~stopwatch() { seconds_ += std::chrono::duration<double>(clock::now() - start_).count(); }
    stopwatch(const stopwatch &) = delete;
    stopwatch &operator=(const stopwatch &) = delete;

  private:
    using clock = std::chrono::steady_clock;
    double &seconds_;
    clock::time_point start_;
};

matrix read_matrix(safetensors_file &file, const std::string &name, Eigen::Index rows, Eigen::Index columns) {
    matrix result(rows, columns);
    file.read(name, {rows, columns}, result.data());
    return result;
}

row_vector read_vector(safetensors_file &file, const std::string &name, Eigen::Index size) {
    row_vector result(size);
    file.read(name, {size}, result.data());
    return result;
}

/// x * P(X <= x) for a normal X, the exact form (not the tanh approximation).
void gelu(matrix &values) {
    const auto x = values.array();
    values = 0.5F * x * (1.0F + (x * static_cast<float>(M_SQRT1_2)).erf());
}

}  // namespace

encoder::encoder(const std::filesystem::path &folder) {
    const json_file config(folder / "config.json");
    config.require<std::string>("/model_type", "", "bert");
    config.require<std::string>("/hidden_act", "gelu", "gelu");
    config.require<std::string>("/position_embedding_type", "absolute", "absolute");
    const auto size_of = [&](const std::string &field) {
        const auto value = config.get<std::int64_t>(field);
        if (value < 1 || value > 1'000'000) {
            throw input_error(fmt::format("{}: field '{}' is {}", config.path().string(), field, value));
        }
        return static_cast<Eigen::Index>(value);
    };
    const Eigen::Index hidden = size_of("/hidden_size"), inner = size_of("/intermediate_size");
    const Eigen::Index heads = encoder_attention.description().heads;
    const Eigen::Index head_dim = encoder_attention.description().head_dim;
    if (size_of("/num_attention_heads") != heads || hidden != heads * head_dim) {
        throw input_error(
            fmt::format("{}: {} heads in a hidden size of {}; the attention kernel was compiled for {} heads of {}",
                        config.path().string(), size_of("/num_attention_heads"), hidden, heads, head_dim));
    }
    const auto epsilon = config.get<float>("/layer_norm_eps");

    safetensors_file file(folder / "model.safetensors");
    const auto read_linear = [&](const std::string &name, Eigen::Index outputs, Eigen::Index inputs) {
        return linear{read_matrix(file, name + ".weight", outputs, inputs), read_vector(file, name + ".bias", outputs)};
    };
    const auto read_norm = [&](const std::string &name) {
        return layer_norm{read_vector(file, name + ".weight", hidden), read_vector(file, name + ".bias", hidden),
                          epsilon};
    };

    word_embeddings_ = read_matrix(file, "embeddings.word_embeddings.weight", size_of("/vocab_size"), hidden);
    position_embeddings_ =
        read_matrix(file, "embeddings.position_embeddings.weight", size_of("/max_position_embeddings"), hidden);
    position_embeddings_.rowwise() +=
        read_matrix(file, "embeddings.token_type_embeddings.weight", size_of("/type_vocab_size"), hidden).row(0);
    embedding_norm_ = read_norm("embeddings.LayerNorm");

    for (Eigen::Index i = 0; i < size_of("/num_hidden_layers"); ++i) {
        const std::string prefix = fmt::format("encoder.layer.{}.", i);
        linear query_key_value{matrix(3 * hidden, hidden), row_vector(3 * hidden)};
        for (Eigen::Index part = 0; part < 3; ++part) {
            constexpr const char *names[] = {"query", "key", "value"};
            const linear loaded = read_linear(fmt::format("{}attention.self.{}", prefix, names[part]), hidden, hidden);
            query_key_value.weight.middleRows(part * hidden, hidden) = loaded.weight;
            query_key_value.bias.segment(part * hidden, hidden) = loaded.bias;
        }
        layers_.push_back({std::move(query_key_value), read_linear(prefix + "attention.output.dense", hidden, hidden),
                           read_norm(prefix + "attention.output.LayerNorm"),
                           read_linear(prefix + "intermediate.dense", inner, hidden),
                           read_linear(prefix + "output.dense", hidden, inner),
                           read_norm(prefix + "output.LayerNorm")});
    }
}

matrix encoder::embed(const std::vector<std::vector<std::int32_t>> &sentences, int batch_size,
                      embed_times &times) const {
    const stopwatch total(times.total);
    for (const auto &ids : sentences) {
        const bool known =
            std::all_of(ids.begin(), ids.end(), [&](auto id) { return id >= 0 && id < vocabulary_size(); });
        if (ids.empty() || ids.size() > static_cast<std::size_t>(max_tokens()) || !known) {
            throw input_error(fmt::format("encoder: a sentence of {} tokens; 1 to {} with ids below {} are possible",
                                          ids.size(), max_tokens(), vocabulary_size()));
        }
    }

    // Similar lengths go together: little padding.
    std::vector<std::size_t> order(sentences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sentences[a].size() < sentences[b].size(); });

    matrix embeddings(static_cast<Eigen::Index>(sentences.size()), embedding_size());
    buffers buffers;
    const auto step = static_cast<std::size_t>(std::max(batch_size, 1));
    for (std::size_t first = 0; first < order.size(); first += step) {
        const std::size_t last = std::min(first + step, order.size());
        padded_batch batch{static_cast<Eigen::Index>(sentences[order[last - 1]].size()), {}, {}};
        for (std::size_t i = first; i < last; ++i) {
            batch.sentences.push_back(&sentences[order[i]]);
            batch.lengths.push_back(static_cast<std::int32_t>(sentences[order[i]].size()));
        }

        embed_tokens(batch, buffers.hidden);
        for (const layer &layer : layers_) run_layer(layer, batch, buffers, times);

        for (std::size_t i = first; i < last; ++i) {
            const auto sentence = static_cast<Eigen::Index>(i - first);
            const auto real = buffers.hidden.middleRows(sentence * batch.length, batch.lengths[i - first]);
            embeddings.row(static_cast<Eigen::Index>(order[i])) = real.colwise().mean().normalized();
        }
    }
    return embeddings;
}

/// One row per token. Rows of padding hold token 0, [PAD]: any finite values would do.
void encoder::embed_tokens(const padded_batch &batch, matrix &hidden) const {
    hidden.resize(static_cast<Eigen::Index>(batch.sentences.size()) * batch.length, embedding_size());
    Eigen::Index row = 0;
    for (const auto *ids : batch.sentences) {
        for (std::size_t position = 0; position < static_cast<std::size_t>(batch.length); ++position, ++row) {
            const std::int32_t id = position < ids->size() ? (*ids)[position] : 0;
            hidden.row(row) = word_embeddings_.row(id) + position_embeddings_.row(static_cast<Eigen::Index>(position));
        }
    }
    apply(embedding_norm_, hidden);
}

void encoder::run_layer(const layer &layer, const padded_batch &batch, buffers &buffers, embed_times &times) {
    auto &[hidden, query_key_value, context, inner, product] = buffers;
    apply(layer.query_key_value, hidden, query_key_value, times);
    {
        const stopwatch attention(times.attention);
        run_attention(batch, buffers);
    }
    apply(layer.attention_output, context, product, times);
    hidden += product;
    apply(layer.attention_norm, hidden);

    apply(layer.intermediate, hidden, inner, times);
    gelu(inner);
    apply(layer.output, inner, product, times);
    hidden += product;
    apply(layer.output_norm, hidden);
}

/// A row of `query_key_value` holds query, key and value of a token side by side, each as (head, dim). The kernel reads
/// them in place, and writes the heads side by side again.
void encoder::run_attention(const padded_batch &batch, buffers &buffers) {
    const auto sentences = static_cast<std::int64_t>(batch.sentences.size());
    const std::int64_t heads = encoder_attention.description().heads;
    const std::int64_t head_dim = encoder_attention.description().head_dim;
    const std::int64_t packed = buffers.query_key_value.cols(), plain = heads * head_dim;
    buffers.context.resize(buffers.query_key_value.rows(), plain);

    const std::array<std::int64_t, 4> extents = {sentences, heads, batch.length, head_dim};
    const std::array<std::int64_t, 4> packed_strides = {batch.length * packed, head_dim, packed, 1};
    const float *query = buffers.query_key_value.data();
    encoder_attention(heed::view<const float, 4>(query, extents, packed_strides),
                      heed::view<const float, 4>(query + plain, extents, packed_strides),
                      heed::view<const float, 4>(query + 2 * plain, extents, packed_strides),
                      heed::view<float, 4>(buffers.context.data(), extents, {batch.length * plain, head_dim, plain, 1}),
                      {.kv_len = heed::view<const std::int32_t, 1>(batch.lengths.data(), {sentences})});
}

void encoder::apply(const linear &linear, const matrix &input, matrix &output, embed_times &times) {
    const stopwatch product(times.matrix_products);
    output.resize(input.rows(), linear.weight.rows());
    output.rowwise() = linear.bias;
    output.noalias() += input * linear.weight.transpose();
}

void encoder::apply(const layer_norm &norm, matrix &rows) {
    for (auto row : rows.rowwise()) {
        row.array() -= row.mean();
        const float variance = row.squaredNorm() / static_cast<float>(row.size());
        row.array() *= norm.weight.array() / std::sqrt(variance + norm.epsilon);
        row += norm.bias;
    }
}

}  // namespace minilm
