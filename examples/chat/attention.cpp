// SPDX-License-Identifier: MIT
#include "attention.hpp"

#include <algorithm>

#include "chat_kernels.hpp"

namespace chat {
namespace {

constexpr std::int64_t first_tokens = 4;  // that the variant's mask never hides

std::int64_t pages_for(std::int64_t tokens, std::int64_t page_size) { return (tokens + page_size - 1) / page_size; }

}  // namespace

const std::map<std::string, heed::data_type> cache_types = {
    {"f32", heed::data_type::f32}, {"f16", heed::data_type::f16}, {"int8", heed::data_type::i8}};

attention_shape compiled_shape() {
    const heed::variant_description &variant = smollm2.description();
    return {variant.heads, variant.groups, variant.head_dim};
}

cached_attention::cached_attention(const heed::cache_options &options, std::int64_t window)
    : cache_(smollm2.description(), options), window_(window) {}

std::int64_t cached_attention::pages_needed(std::int64_t prompt, std::int64_t whole_text, std::int64_t page_size,
                                            std::int64_t window) {
    // A window may begin within a page and end within another, and the next token may need a page more.
    const std::int64_t kept = pages_for(first_tokens, page_size) + pages_for(window, page_size) + 2;
    return std::min(pages_for(whole_text, page_size), std::max(pages_for(prompt, page_size), kept));
}

void cached_attention::extend(const std::vector<growing_sequence> &growing) {
    sequences_.clear();
    for (const auto &[number, new_tokens] : growing) {
        cache_.keep(number, first_tokens, window_ - 1);
        cache_.extend(number, new_tokens);
        sequences_.push_back(cache_.view(number, new_tokens));
    }
}

void cached_attention::attend(int layer, const matrix &query_key_value, matrix &output) {
    const auto [heads, groups, head_dim] = compiled_shape();
    const std::int64_t tokens = query_key_value.rows(), row = query_key_value.cols();
    output.resize(tokens, heads * head_dim);
    const auto part = [&, dim = head_dim](std::int64_t first_head, std::int64_t count) {
        return heed::view<const float, 4>(query_key_value.data() + first_head * dim, {1, count, tokens, dim},
                                          {tokens * row, dim, row, 1});
    };
    const heed::view<float, 4> output_heads(output.data(), {1, heads, tokens, head_dim},
                                            {tokens * heads * head_dim, head_dim, heads * head_dim, 1});
    const smollm2_inputs inputs{.window = static_cast<std::int32_t>(window_)};
    const heed::cache_tensors cache = cache_.tensors(layer);
    smollm2.append(part(heads, groups), part(heads + groups, groups), cache, sequences_, inputs);
    smollm2.attend(part(0, heads), cache, sequences_, output_heads, inputs);
}

}  // namespace chat
