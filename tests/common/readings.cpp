// SPDX-License-Identifier: MIT
#include "readings.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace heed::tests {

namespace {

/// Elements of the inputs; indices beyond an input stop at its edge.
double read_element(const void *context, int input, const std::int64_t *indices) {
    const heed::tensor &from = static_cast<const heed::tensor *>(context)[input];
    std::int64_t offset = 0, stride = 1;
    for (int d = from.rank - 1; d >= 0; --d) {
        offset += std::clamp<std::int64_t>(indices[d], 0, from.extents[d] - 1) *
                  (from.strides != nullptr ? from.strides[d] : stride);
        stride *= from.extents[d];
    }
    if (from.type == data_type::f32) return static_cast<const float *>(from.data)[offset];
    return static_cast<const std::int32_t *>(from.data)[offset];
}

bool about_the_same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b));
}

class readings_check {
    const variant_description &variant_;
    const semantics &meaning_;
    call_sizes sizes_;
    input_reader reader_;

    bool attends(const pair &at) const { return !meaning_.attends || meaning_.attends(at); }

    static std::string text_of(const char *what, const pair &at) {
        std::ostringstream text;
        text << what << " of batch " << at.batch << ", head " << at.head << ", q_pos " << at.q << ", kv_pos " << at.kv;
        return text.str();
    }

  public:
    readings_check(const variant_description &variant, const problem &of, const heed::tensor *inputs,
                   const semantics &meaning)
        : variant_(variant),
          meaning_(meaning),
          sizes_{of.batch(), of.q_len(), of.kv_len()},
          reader_{read_element, inputs} {}

    std::int64_t start(std::int64_t batch) const {
        return meaning_.query_start ? meaning_.query_start(batch) : sizes_.kv_len - sizes_.q_len;
    }

    std::string of_pair(const pair &at) const {
        const pair_position position{at.batch, at.head, at.q, at.kv};
        if (variant_.readings.attends(sizes_, position, reader_) != attends(at)) return text_of("attends", at);
        if (!attends(at)) return {};
        for (const double score : {-3.0, 0.5}) {
            const double expected = meaning_.modify ? meaning_.modify(score, at) : score;
            if (!about_the_same(variant_.readings.modified_score(sizes_, position, score, reader_), expected)) {
                return text_of("score_mod", at);
            }
            if (meaning_.weight && !about_the_same(variant_.readings.weight_of_score(sizes_, position, score, reader_),
                                                   meaning_.weight(score, at))) {
                return text_of("weights", at);
            }
        }
        if (meaning_.weight_factor &&
            !about_the_same(variant_.readings.weight_factor(sizes_, position, reader_), meaning_.weight_factor(at))) {
            return text_of("weight_factor", at);
        }
        return {};
    }

    /// A row of numbers that only serve this comparison.
    template <class Reading>
    std::string of_row(const char *what, Reading reading,
                       const std::function<void(row_values &, const place &)> &modify, const place &at,
                       std::int64_t size) const {
        if ((reading != nullptr) != (modify != nullptr)) return std::string(what) + " is in one of both only";
        if (!modify) return {};
        row_values is, should_be;
        for (std::int64_t i = 0; i < size; ++i) is.push_back(std::cos(static_cast<double>(7 * i + at.row)));
        should_be = is;
        reading(sizes_, {at.batch, at.head, at.row}, is.data(), reader_);
        modify(should_be, at);
        for (std::size_t i = 0; i < is.size(); ++i) {
            if (!about_the_same(is[i], should_be[i])) {
                return text_of(what, {at.batch, at.head, at.position, static_cast<std::int64_t>(i)});
            }
        }
        return {};
    }

    std::string of_query_row(const place &at) const {
        const variant_readings &readings = variant_.readings;
        const std::string query =
            of_row("query_mod", readings.modify_query, meaning_.modify_query, at, variant_.head_dim);
        return query.empty()
                   ? of_row("output_mod", readings.modify_output, meaning_.modify_output, at, variant_.value_dim)
                   : query;
    }

    std::string of_key_row(const place &at) const {
        const variant_readings &readings = variant_.readings;
        const std::string key = of_row("key_mod", readings.modify_key, meaning_.modify_key, at, variant_.head_dim);
        return key.empty() ? of_row("value_mod", readings.modify_value, meaning_.modify_value, at, variant_.value_dim)
                           : key;
    }

    std::string of_batch(std::int64_t batch) const {
        if (variant_.readings.query_start(sizes_, batch, reader_) != start(batch)) return "query_start";
        for (std::int64_t head = 0; head < variant_.heads && meaning_.sink; ++head) {
            const double sink = variant_.readings.sink_logit(sizes_, batch, head, reader_);
            if (!about_the_same(sink, meaning_.sink(batch, head))) return "sink_logit";
        }
        return {};
    }

    std::string of_tile(const tile_bounds &tile) const {
        const tile_class known = variant_.readings.classify(sizes_, tile, reader_);
        if (known == tile_class::mixed) return {};
        const bool all = known == tile_class::full;
        const std::int64_t first = start(tile.batch) + tile.first_row;
        for (std::int64_t head = tile.first_head; head < tile.first_head + tile.head_count; ++head) {
            for (std::int64_t q = first; q < first + tile.row_count; ++q) {
                for (std::int64_t kv = tile.first_key; kv < tile.first_key + tile.key_count; ++kv) {
                    const pair at{tile.batch, head, q, kv, q - first + tile.first_row};
                    if (attends(at) != all) return text_of(all ? "full tile" : "empty tile", at);
                }
            }
        }
        return {};
    }
};

}  // namespace

std::string contradiction(const variant_description &variant, const problem &of, const heed::tensor *inputs,
                          const semantics &meaning) {
    const readings_check check(variant, of, inputs, meaning);
    constexpr std::int64_t rows = 16, keys = 32;
    std::string found;
    const auto note = [&](const std::string &text) {
        if (found.empty()) found = text;
    };
    for (std::int64_t batch = 0; batch < of.batch(); ++batch) {
        note(check.of_batch(batch));
        for (std::int64_t group = 0; group < of.groups(); ++group) {
            for (std::int64_t key = 0; key < of.kv_len(); key += 1 + key % 5) {
                note(check.of_key_row({batch, group, key, key}));
            }
        }
        for (std::int64_t head = 0; head < of.heads(); ++head) {
            for (std::int64_t row = 0; row < of.q_len(); row += 1 + row % 3) {
                for (std::int64_t kv = 0; kv < of.kv_len(); kv += 1 + (row + kv) % 3) {
                    note(check.of_pair({batch, head, check.start(batch) + row, kv, row}));
                }
                note(check.of_query_row({batch, head, check.start(batch) + row, row}));
            }
            for (std::int64_t row = 0; row < of.q_len(); row += rows) {
                for (std::int64_t key = 0; key < of.kv_len(); key += keys) {
                    note(check.of_tile({batch, head, 1, row, std::min(rows, of.q_len() - row), key,
                                        std::min(keys, of.kv_len() - key)}));
                }
            }
        }
    }
    return found;
}

}  // namespace heed::tests
