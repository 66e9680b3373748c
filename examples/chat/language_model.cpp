// SPDX-License-Identifier: MIT
#include "language_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "input_error.hpp"
#include "json_file.hpp"
#include "safetensors.hpp"
#include "stopwatch.hpp"

namespace chat {

using model_files::input_error;
using model_files::json_file;
using model_files::safetensors_file;
using model_files::stopwatch;

namespace {

/// result = rows * weight^T
void multiply(const matrix &rows, const matrix &weight, matrix &result, forward_times &times) {
    const stopwatch product(times.matrix_products);
    result.resize(rows.rows(), weight.rows());
    // For a few rows the time is that of reading the weights, and OpenBLAS's matrix product copies them first. So each
    // part of the weights that fits into a cache is multiplied with one row after another.
    constexpr Eigen::Index few_rows = 8, part_size = 256;
    if (rows.rows() == 1 || rows.rows() > few_rows) {
        result.noalias() = rows * weight.transpose();
        return;
    }
    for (Eigen::Index first = 0; first < weight.rows(); first += part_size) {
        const Eigen::Index count = std::min(part_size, weight.rows() - first);
        const auto part = weight.middleRows(first, count);
        for (Eigen::Index row = 0; row < rows.rows(); ++row) {
            result.row(row).segment(first, count).noalias() = rows.row(row) * part.transpose();
        }
    }
}

}  // namespace

forward_times &forward_times::operator+=(const forward_times &more) {
    matrix_products += more.matrix_products;
    attention += more.attention;
    total += more.total;
    return *this;
}

language_model::language_model(const std::filesystem::path &folder) {
    const json_file config(folder / "config.json");
    config.require<std::string>("/model_type", "", "llama");
    config.require<std::string>("/hidden_act", "silu", "silu");
    config.require("/rope_theta", 10'000.0, 100'000.0);
    config.require("/tie_word_embeddings", false, true);
    config.require("/attention_bias", false, false);
    config.require("/mlp_bias", false, false);
    config.require<nlohmann::json>("/rope_scaling", nullptr, nullptr);
    const auto size_of = [&](const std::string &field) {
        const auto value = config.get<std::int64_t>(field);
        if (value < 1 || value > 1'000'000) {
            throw input_error(fmt::format("{}: field '{}' is {}", config.path().string(), field, value));
        }
        return static_cast<Eigen::Index>(value);
    };
    const Eigen::Index hidden = size_of("/hidden_size"), inner = size_of("/intermediate_size");
    const auto [heads, groups, head_dim] = compiled_shape();
    if (size_of("/num_attention_heads") != heads || size_of("/num_key_value_heads") != groups ||
        hidden != heads * head_dim) {
        throw input_error(
            fmt::format("{}: {} heads in {} groups and a hidden size of {}; the attention kernels were compiled for {} "
                        "heads of {} in {} groups",
                        config.path().string(), size_of("/num_attention_heads"), size_of("/num_key_value_heads"),
                        hidden, heads, head_dim, groups));
    }
    epsilon_ = config.get<float>("/rms_norm_eps");
    max_tokens_ = size_of("/max_position_embeddings");

    safetensors_file file(folder / "model.safetensors");
    /// Matrices of these names and numbers of rows, one above another.
    const auto read_stacked = [&](const std::vector<std::pair<std::string, Eigen::Index>> &parts,
                                  Eigen::Index columns) {
        Eigen::Index rows = 0;
        for (const auto &[name, part] : parts) rows += part;
        matrix result(rows, columns);
        rows = 0;
        for (const auto &[name, part] : parts) {
            file.read(name + ".weight", {part, columns}, result.row(rows).data());
            rows += part;
        }
        return result;
    };
    const auto read_norm = [&](const std::string &name) {
        row_vector result(hidden);
        file.read(name + ".weight", {hidden}, result.data());
        return result;
    };

    embeddings_ = read_stacked({{"model.embed_tokens", size_of("/vocab_size")}}, hidden);
    last_norm_ = read_norm("model.norm");
    for (Eigen::Index i = 0; i < size_of("/num_hidden_layers"); ++i) {
        const std::string prefix = fmt::format("model.layers.{}.", i);
        const std::string attention = prefix + "self_attn.", feed_forward = prefix + "mlp.";
        layers_.push_back(
            {read_norm(prefix + "input_layernorm"),
             read_stacked({{attention + "q_proj", hidden},
                           {attention + "k_proj", groups * head_dim},
                           {attention + "v_proj", groups * head_dim}},
                          hidden),
             read_stacked({{attention + "o_proj", hidden}}, hidden), read_norm(prefix + "post_attention_layernorm"),
             read_stacked({{feed_forward + "gate_proj", inner}, {feed_forward + "up_proj", inner}}, hidden),
             read_stacked({{feed_forward + "down_proj", hidden}}, inner)});
    }
}

const matrix &language_model::forward(const std::vector<next_tokens> &step, cached_attention &attention,
                                      forward_times &times) {
    const stopwatch total(times.total);
    embed(step);
    std::vector<cached_attention::growing_sequence> growing;
    growing.reserve(step.size());
    for (const auto &[sequence, tokens] : step) {
        growing.push_back({sequence, static_cast<std::int64_t>(tokens.size())});
    }
    attention.extend(growing);
    int number = 0;
    for (const layer &layer : layers_) run_layer(layer, number++, attention, times);

    // Only the last token of a sequence has a successor to be chosen.
    auto &[hidden, normalised, query_key_value, context, gate_up, inner, last, logits] = buffers_;
    last.resize(static_cast<Eigen::Index>(step.size()), hidden.cols());
    Eigen::Index end = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
        end += static_cast<Eigen::Index>(step[i].tokens.size());
        last.row(static_cast<Eigen::Index>(i)) = hidden.row(end - 1);
    }
    normalise(last_norm_, last, normalised);
    multiply(normalised, embeddings_, logits, times);
    return logits;
}

void language_model::embed(const std::vector<next_tokens> &step) {
    std::size_t count = 0;
    for (const auto &[sequence, tokens] : step) count += tokens.size();
    buffers_.hidden.resize(static_cast<Eigen::Index>(count), embeddings_.cols());
    Eigen::Index row = 0;
    for (const auto &[sequence, tokens] : step) {
        for (const std::int32_t token : tokens) buffers_.hidden.row(row++) = embeddings_.row(token);
    }
}

void language_model::run_layer(const layer &layer, int number, cached_attention &attention, forward_times &times) {
    auto &[hidden, normalised, query_key_value, context, gate_up, inner, last, logits] = buffers_;
    normalise(layer.attention_norm, hidden, normalised);
    multiply(normalised, layer.query_key_value, query_key_value, times);
    {
        const stopwatch watch(times.attention);
        attention.attend(number, query_key_value, context);
    }
    multiply(context, layer.attention_output, normalised, times);
    hidden += normalised;

    normalise(layer.inner_norm, hidden, normalised);
    multiply(normalised, layer.gate_up, gate_up, times);
    const auto gate = gate_up.leftCols(gate_up.cols() / 2).array(), up = gate_up.rightCols(gate_up.cols() / 2).array();
    inner = gate / (1.0F + (-gate).exp()) * up;
    multiply(inner, layer.down, normalised, times);
    hidden += normalised;
}

/// Every row divided by the root of its mean square.
void language_model::normalise(const row_vector &weight, const matrix &rows, matrix &result) const {
    result.resize(rows.rows(), rows.cols());
    for (Eigen::Index row = 0; row < rows.rows(); ++row) {
        const float mean_square = rows.row(row).squaredNorm() / static_cast<float>(rows.cols());
        result.row(row) = rows.row(row).cwiseProduct(weight) / std::sqrt(mean_square + epsilon_);
    }
}

}  // namespace chat
