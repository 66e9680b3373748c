// SPDX-License-Identifier: MIT
#include "encoder.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <unsupported/Eigen/SpecialFunctions>

#include "input_error.hpp"
#include "json_file.hpp"
#include "minilm_kernels.hpp"
#include "safetensors.hpp"
#include "stopwatch.hpp"

namespace minilm {

using model_files::input_error;
using model_files::json_file;
using model_files::safetensors_file;
using model_files::stopwatch;

namespace {

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

/// A row of `packed` holds query, key and value of a token side by side, each as (head, dim). The kernels read them in
/// place, and write the heads side by side again.
class attention_views {
  public:
    attention_views(std::int64_t length, const std::vector<std::int32_t> &lengths, const matrix &packed)
        : length_(length), lengths_(lengths), packed_(packed) {}

    std::int64_t plain() const { return heads_ * head_dim_; }
    heed::view<const float, 4> query() const { return part(0); }
    heed::view<const float, 4> key() const { return part(1); }
    heed::view<const float, 4> value() const { return part(2); }
    heed::view<float, 4> output(float *data) const {
        return {data, extents(), {length_ * plain(), head_dim_, plain(), std::int64_t{1}}};
    }
    encoder_attention_inputs inputs() const {
        return {.kv_len = heed::view<const std::int32_t, 1>(lengths_.data(), {lengths_.size()})};
    }

  private:
    std::array<std::int64_t, 4> extents() const {
        return {static_cast<std::int64_t>(lengths_.size()), heads_, length_, head_dim_};
    }
    heed::view<const float, 4> part(std::int64_t number) const {
        const std::int64_t row = packed_.cols();
        return {packed_.data() + number * plain(), extents(), {length_ * row, head_dim_, row, std::int64_t{1}}};
    }

    std::int64_t length_;
    const std::vector<std::int32_t> &lengths_;
    const matrix &packed_;
    std::int64_t heads_ = encoder_attention.description().heads, head_dim_ = encoder_attention.description().head_dim;
};

/// Memory in use by the whole process.
double allocated_bytes() {
    const struct mallinfo2 memory = mallinfo2();
    return static_cast<double>(memory.uordblks) + static_cast<double>(memory.hblkhd);
}

/// The kernel keeps its scratch memory until its thread ends, so that a new thread shows how much it takes.
double attention_scratch(std::int64_t tokens) {
    const matrix packed =
        matrix::Zero(tokens, 3 * encoder_attention.description().heads * encoder_attention.description().head_dim);
    const std::vector<std::int32_t> lengths = {static_cast<std::int32_t>(tokens)};
    const attention_views views(tokens, lengths, packed);
    matrix output(tokens, views.plain());
    double bytes = 0;
    std::thread([&] {
        const double before = allocated_bytes();
        encoder_attention(views.query(), views.key(), views.value(), views.output(output.data()), views.inputs(),
                          {.threads = 1});
        bytes = allocated_bytes() - before;
    }).join();
    return std::max(bytes, 0.0);
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
    for (const auto &ids : sentences) check_tokens(ids);

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

void encoder::check_tokens(const std::vector<std::int32_t> &ids) const {
    const bool known = std::all_of(ids.begin(), ids.end(), [&](auto id) { return id >= 0 && id < vocabulary_size(); });
    if (ids.empty() || ids.size() > static_cast<std::size_t>(max_tokens()) || !known) {
        throw input_error(fmt::format("encoder: a sentence of {} tokens; 1 to {} with ids below {} are possible",
                                      ids.size(), max_tokens(), vocabulary_size()));
    }
}

attention_look encoder::look_at(const std::vector<std::int32_t> &sentence) const {
    check_tokens(sentence);
    const padded_batch batch{
        static_cast<Eigen::Index>(sentence.size()), {&sentence}, {static_cast<std::int32_t>(sentence.size())}};
    attention_look look;
    look.heads = encoder_attention.description().heads;
    look.tokens = static_cast<std::int64_t>(sentence.size());
    embed_times ignored;
    buffers buffers;
    embed_tokens(batch, buffers.hidden);
    for (const layer &layer : layers_) run_layer(layer, batch, buffers, ignored, &look);
    return look;
}

activation_bytes encoder::count_activations(std::int64_t tokens) const {
    const auto &inner_rows = layers_.front().intermediate.weight;
    const auto bytes = [&](Eigen::Index columns) { return static_cast<double>(tokens * columns) * sizeof(float); };
    const Eigen::Index hidden = position_embeddings_.cols();
    return {bytes(3 * hidden), bytes(hidden), attention_scratch(tokens), bytes(inner_rows.rows()), bytes(2 * hidden)};
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

void encoder::run_layer(const layer &layer, const padded_batch &batch, buffers &buffers, embed_times &times,
                        attention_look *look) {
    auto &[hidden, query_key_value, context, inner, product] = buffers;
    apply(layer.query_key_value, hidden, query_key_value, times);
    if (look != nullptr) add_weights(batch, buffers, *look);
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

void encoder::run_attention(const padded_batch &batch, buffers &buffers) {
    const attention_views views(batch.length, batch.lengths, buffers.query_key_value);
    buffers.context.resize(buffers.query_key_value.rows(), views.plain());
    encoder_attention(views.query(), views.key(), views.value(), views.output(buffers.context.data()), views.inputs());
}

void encoder::add_weights(const padded_batch &batch, const buffers &buffers, attention_look &look) {
    const auto per_layer = static_cast<std::size_t>(look.heads * look.tokens);
    const auto layer = static_cast<std::size_t>(look.layers++);
    look.weights.resize((layer + 1) * per_layer * static_cast<std::size_t>(look.tokens));
    look.log_sum_exp.resize((layer + 1) * per_layer);
    const attention_views views(batch.length, batch.lengths, buffers.query_key_value);
    encoder_attention.weights(
        views.query(), views.key(),
        heed::view<float, 4>(look.weights.data() + layer * per_layer * static_cast<std::size_t>(look.tokens),
                             {1, look.heads, look.tokens, look.tokens}),
        views.inputs(),
        {.log_sum_exp =
             heed::view<float, 3>(look.log_sum_exp.data() + layer * per_layer, {1, look.heads, look.tokens})});
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
