// SPDX-License-Identifier: MIT
//
// Bring-up only: plain loops in f32.
#include "attention.hpp"

#include <cmath>

#include "chat_kernels.hpp"

namespace chat {

attention_shape compiled_shape() {
    return {smollm2.description().heads, smollm2.description().groups, smollm2.description().head_dim};
}

const std::map<std::string, heed::data_type> cache_types = {{"f32", heed::data_type::f32}};

cached_attention::cached_attention(const cache_settings &settings) : settings_(settings) {}

cached_attention::sequence cached_attention::add() {
    sequences_.emplace_back(static_cast<std::size_t>(settings_.layers));
    return static_cast<int>(sequences_.size()) - 1;
}
void cached_attention::remove(sequence s) { sequences_[static_cast<std::size_t>(s)].clear(); }
void cached_attention::extend(const std::vector<growing_sequence> &growing) { growing_ = growing; }
std::int64_t cached_attention::bytes() const { return 0; }

static void turn(float *row, std::int64_t heads, std::int64_t position) {
    for (std::int64_t h = 0; h < heads; ++h)
        for (int i = 0; i < 32; ++i) {
            const double angle = static_cast<double>(position) * std::pow(100'000.0, -2.0 * i / 64);
            const double c = std::cos(angle), s = std::sin(angle);
            float &a = row[h * 64 + i], &b = row[h * 64 + i + 32];
            const double x = a, y = b;
            a = static_cast<float>(x * c - y * s);
            b = static_cast<float>(x * s + y * c);
        }
}

void cached_attention::attend(std::int64_t layer, const matrix &query_key_value, matrix &output) {
    output.setZero(query_key_value.rows(), 576);
    std::int64_t row = 0;
    for (const auto &g : growing_) {
        auto &rows = sequences_[static_cast<std::size_t>(g.sequence)][static_cast<std::size_t>(layer)];
        for (std::int64_t i = 0; i < g.new_tokens; ++i, ++row) {
            const auto position = static_cast<std::int64_t>(rows.key.size()) / 192;
            std::vector<float> r(query_key_value.row(row).begin(), query_key_value.row(row).end());
            turn(r.data(), 12, position);
            rows.key.insert(rows.key.end(), r.begin() + 576, r.begin() + 768);
            rows.value.insert(rows.value.end(), r.begin() + 768, r.end());
            for (int h = 0; h < 9; ++h) {
                std::vector<double> w(static_cast<std::size_t>(position) + 1);
                double sum = 0, most = -1e30;
                for (std::int64_t k = 0; k <= position; ++k) {
                    double s = 0;
                    for (int d = 0; d < 64; ++d) s += r[h * 64 + d] * rows.key[k * 192 + h / 3 * 64 + d];
                    const bool seen = position - k < settings_.window || k < first_tokens;
                    w[k] = seen ? s / 8 : -1e30;
                    most = std::max(most, w[k]);
                }
                for (double &x : w) sum += x = std::exp(x - most);
                for (std::int64_t k = 0; k <= position; ++k)
                    for (int d = 0; d < 64; ++d)
                        output(row, h * 64 + d) +=
                            static_cast<float>(w[k] / sum) * rows.value[k * 192 + h / 3 * 64 + d];
            }
        }
    }
}

}  // namespace chat
