// SPDX-License-Identifier: MIT
#include "algorithm_decode.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;

decode_attention::decode_attention(const variant_source &source, const decode_shape &sizes, const storage_types &stored)
    : forward_attention(source, stored),
      shape(sizes),
      key_is_plain(source.key_stages.empty()),
      value_is_plain(source.value_stages.empty()) {
    read_rows();
    compute_scores();
    compute_weights();
    weigh_values();
    merge_chunks();
    write_results();
    pin_layouts();
}

// Rows behind the last query repeat its position.
void decode_attention::read_rows() {
    const Expr query_row = Halide::min(position_of(row, row_tile), q_len - 1), query_head = head_of(row, row_tile);
    at(query_rows, {dim, row, row_tile}) =
        modified_element(
            variant.query_stages, query_element(query_row, query_head),
            [&](const Expr &index) {
                return to_float(query(index, query_head, query_row, group, batch), types.has_f16c);
            },
            variant.head_dim, look_up(),
            [&](const Func &mean) {
                return at(mean, {row, row_tile});
            },
            {{table_row, batch}, query_start() + table_row, {query_row, batch}}, of_queries) *
        static_cast<float>(variant.scale);

    const Expr this_pos = key_index(key_in_chunk);
    if (types.in_pages) {
        const row_place worked_out = place_of(kv_pos);
        token_in_page(kv_pos, batch) = worked_out.row;
        page(kv_pos, batch) = worked_out.outer;
        const auto place_at = [&](const Expr &position) {
            return row_place{token_in_page(position, batch), page(position, batch)};
        };
        const auto begin_rows = [&](const Func &start, const Halide::ImageParam &of, int row_size) {
            const row_place place = place_at(kv_pos);
            const auto first = of.dim(0);
            start(kv_pos, batch) = Halide::clamp(place.row * of.dim(1).stride() + place.outer * of.dim(3).stride(),
                                                 first.min(), first.min() + first.extent() - row_size);
        };
        begin_rows(key_start, key, variant.head_dim);
        begin_rows(value_start, value, variant.value_dim);
        const row_place place = place_at(this_pos);
        if (key_scale.defined()) at_chunk(key_factor, {key_in_chunk}) = scale_of_key(place);
        if (value_scale.defined()) at_chunk(value_factor, {key_in_chunk}) = scale_of_value(place);
    }
    const auto of_key = [&](const Func &mean) { return at_chunk(mean, {key_in_chunk}); };
    if (!key_is_plain) at_chunk(key_tile, {dim, key_in_chunk}) = modified_key(this_pos, of_key);
    if (!value_is_plain) at_chunk(value_tile, {dim, key_in_chunk}) = modified_value(this_pos, of_key);
}

Expr decode_attention::key_element(const Expr &index, const Expr &key_offset) const {
    return key_is_plain ? to_float(key(element_at(index, key_index(key_offset), key_start)), types.has_f16c)
                        : Expr(at_chunk(key_tile, {index, key_offset}));
}

Expr decode_attention::value_element(const Expr &index, const Expr &key_offset) const {
    return value_is_plain ? to_float(value(element_at(index, key_index(key_offset), value_start)), types.has_f16c)
                          : Expr(at_chunk(value_tile, {index, key_offset}));
}

// Where whole vectors do not divide a row, the last one reaches back to elements that the one before has counted.
void decode_attention::compute_scores() {
    const int together = shape.keys_together;
    vectors = RDom(0, key_vectors(), "vectors");
    const Expr key_offset = key_group * together + key_in_group;
    const Expr first = Halide::min(vectors * shape.lanes, variant.head_dim - shape.lanes), element = first + lane;
    Expr query_value = at(query_rows, {element, row, row_tile}), key_value = key_element(element, key_offset);
    if (variant.head_dim % shape.lanes != 0) {
        // Both, since either may be infinite.
        const Expr is_counted = element < vectors * shape.lanes;
        query_value = Halide::select(is_counted, 0.0f, query_value);
        key_value = Halide::select(is_counted, 0.0f, key_value);
    }
    at_chunk(lane_products, {lane, key_in_group, row, row_tile, key_group}) = 0.0f;
    const int vectors_of_line = std::max(64 / (shape.lanes * key.type().bytes()), 1);
    const Expr position_ahead = chunk * shape.keys + key_offset + rows_ahead(key, variant.head_dim);
    const std::vector<Expr> ahead =
        element_at(first, types.in_pages ? Halide::min(position_ahead, last_key()) : position_ahead, key_start);
    at_chunk(lane_products, {lane, key_in_group, row, row_tile, key_group}) +=
        query_value * key_value +
        Halide::select(row == 0 && vectors % vectors_of_line == 0, prefetched(key, ahead), 0.0f);
    lanes_to_add = RDom(0, shape.lanes, "lanes_to_add");
    at_chunk(product, {key_in_group, row, row_tile, key_group}) = 0.0f;
    at_chunk(product, {key_in_group, row, row_tile, key_group}) +=
        at_chunk(lane_products, {lanes_to_add, key_in_group, row, row_tile, key_group});

    keys_to_score = reachable_groups(together, "keys_to_score");
    const Expr scored = keys_to_score.y * together + keys_to_score.x;
    at_chunk(score, {key_in_chunk, row, row_tile}) = Halide::undef<float>();
    Expr scaled_product = at_chunk(product, {keys_to_score.x, row, row_tile, keys_to_score.y});
    if (key_factor.defined()) scaled_product = scaled_product * at_chunk(key_factor, {scored});
    at_chunk(score, {scored, row, row_tile}) = variant.score_mod(values_at(scored, scaled_product), look_up());

    // Whole vectors of scores are compared and added, so what is not a key is masked, too.
    const pair_values here = values_at(key_in_chunk, Expr());
    at_chunk(attends, {key_in_chunk, row, row_tile}) =
        Halide::cast<uint8_t>(here.kv_pos < kv_len && variant.mask(here, look_up()));
    keys_to_mask = reachable_groups(shape.scores_together, "keys_to_mask");
    keys_to_mask.where(!whole_chunk_attends());
    const Expr masked = keys_to_mask.y * shape.scores_together + keys_to_mask.x;
    at_chunk(score, {masked, row, row_tile}) =
        Halide::select(at_chunk(attends, {masked, row, row_tile}) != Halide::cast<uint8_t>(0),
                       at_chunk(score, {masked, row, row_tile}), masked_score());
}

void decode_attention::compute_weights() {
    const int together = shape.scores_together;
    const auto key_of = [&](const RDom &keys) { return keys.y * together + keys.x; };
    keys_to_exponentiate = reachable_groups(together, "keys_to_exponentiate");
    const Expr this_key = key_of(keys_to_exponentiate), this_score = at_chunk(score, {this_key, row, row_tile});
    at_chunk(weight, {key_in_chunk, row, row_tile}) = Halide::undef<float>();
    if (variant.free_weight) {
        at_chunk(chunk_max, {row, row_tile}) = 0.0f;
        at_chunk(weight, {this_key, row, row_tile}) = Halide::select(
            is_masked(this_score), 0.0f, variant.free_weight(values_at(this_key, this_score), look_up()));
    } else {
        keys_to_compare = reachable_groups(together, "keys_to_compare");
        at_chunk(chunk_max, {row, row_tile}) = minus_infinity();
        at_chunk(chunk_max, {row, row_tile}) = Halide::max(at_chunk(chunk_max, {row, row_tile}),
                                                           at_chunk(score, {key_of(keys_to_compare), row, row_tile}));
        at_chunk(weight, {this_key, row, row_tile}) =
            exp_of_nonpositive(this_score - finite_reference(at_chunk(chunk_max, {row, row_tile})));
    }

    keys_to_add = reachable_groups(together, "keys_to_add");
    at_chunk(chunk_sum, {row, row_tile}) = 0.0f;
    at_chunk(chunk_sum, {row, row_tile}) += at_chunk(weight, {key_of(keys_to_add), row, row_tile});

    if (variant.weight_factor || value_factor.defined()) {
        Expr applied = at_chunk(weight, {this_key, row, row_tile});
        if (variant.weight_factor) {
            // A weight of 0 stays one, whatever the factor of a masked pair is.
            applied = Halide::select(is_positive_zero(applied), 0.0f,
                                     applied * variant.weight_factor(values_at(this_key, Expr()), look_up()));
        }
        // A NaN in a value that is seen counts even where its weight is 0, so the scale has no such exception.
        if (value_factor.defined()) applied = applied * at_chunk(value_factor, {this_key});
        at_chunk(applied_weight, {key_in_chunk, row, row_tile}) = Halide::undef<float>();
        at_chunk(applied_weight, {this_key, row, row_tile}) = applied;
    }
}

// A weight of 0 does not silence a NaN or an infinity in a masked value.
void decode_attention::weigh_values() {
    const Expr first = Halide::min(vector * shape.value_lanes, variant.value_dim - shape.value_lanes);
    const Func &applied = applied_weight.defined() ? applied_weight : weight;
    const auto term = [&](const Expr &key_offset) {
        return at_chunk(applied, {key_offset, row, row_tile}) * value_element(first + lane, key_offset);
    };
    at_chunk(weighted_values, {lane, vector, row, row_tile}) = 0.0f;
    keys_to_weigh = reachable_groups(shape.values_together, "keys_to_weigh");
    keys_to_weigh.where(whole_chunk_attends());
    const Expr weighed = keys_to_weigh.y * shape.values_together + keys_to_weigh.x;
    // Values are asked for between the loops over rows: what is asked for within one is an operation on memory, before
    // which all sums would have to be stored.
    const int parts = shape.rows_together / shape.rows_weighed, in_part = (shape.values_together + parts - 1) / parts;
    at_chunk(values_ahead, {part, key_group}) = values_read_ahead(
        chunk * shape.keys + key_group * shape.values_together + rows_ahead(value, variant.value_dim) +
            Halide::min(part * in_part, shape.values_together - in_part),
        in_part);
    const Expr asked = at_chunk(values_ahead, {row / shape.rows_weighed, keys_to_weigh.y});
    at_chunk(weighted_values, {lane, vector, row, row_tile}) +=
        term(weighed) +
        Halide::select(row % shape.rows_weighed == 0 && vector % shape.columns_together == 0 && keys_to_weigh.x == 0,
                       asked, 0.0f);
    const value_range reachable = reachable_keys();
    keys_to_weigh_singly = RDom(0, shape.keys, "keys_to_weigh_singly");
    keys_to_weigh_singly.where(kv_len > 0);
    keys_to_weigh_singly.where(!whole_chunk_attends());
    keys_to_weigh_singly.where(keys_to_weigh_singly >= reachable.lowest);
    keys_to_weigh_singly.where(keys_to_weigh_singly <= reachable.highest);
    at_chunk(weighted_values, {lane, vector, row, row_tile}) +=
        Halide::select(at_chunk(attends, {keys_to_weigh_singly, row, row_tile}) != Halide::cast<uint8_t>(0),
                       term(keys_to_weigh_singly), 0.0f);
}

// Only chunks that some query reaches take part, so that a window costs as little at any length.
void decode_attention::merge_chunks() {
    const int maximum = value_vectors(), sum = maximum + 1;
    chunks_to_attend = reachable_chunks("chunks_to_attend");
    const auto in_chunk = [&](const Func &f, std::vector<Expr> indices) {
        return Expr(at_chunk(f, std::move(indices), chunks_to_attend));
    };
    at_chunk(partial, {lane, vector, row, row_tile}) = Halide::undef<float>();
    at_chunk(partial, {lane, vector, row, row_tile}, chunks_to_attend) = Halide::select(
        vector < maximum, in_chunk(weighted_values, {lane, Halide::min(vector, maximum - 1), row, row_tile}),
        vector == maximum, in_chunk(chunk_max, {row, row_tile}), in_chunk(chunk_sum, {row, row_tile}));
    const auto of_chunk = [&](const Expr &of, const Expr &at_lane, const Expr &at_vector) {
        return at_chunk(partial, {at_lane, at_vector, row, row_tile}, of);
    };
    chunks_to_compare = reachable_chunks("chunks_to_compare");
    at(row_max, {row, row_tile}) = minus_infinity();
    at(row_max, {row, row_tile}) = Halide::max(at(row_max, {row, row_tile}), of_chunk(chunks_to_compare, 0, maximum));
    const auto weight_of = [&](const Expr &of) {
        return exp_of_nonpositive(of_chunk(of, 0, maximum) - finite_reference(at(row_max, {row, row_tile})));
    };
    chunks_to_add = reachable_chunks("chunks_to_add");
    at(row_sum, {row, row_tile}) = 0.0f;
    at(row_sum, {row, row_tile}) += weight_of(chunks_to_add) * of_chunk(chunks_to_add, 0, sum);
    at(chunk_weight, {chunk, row, row_tile}) = weight_of(chunk);
    chunks_to_merge = reachable_chunks("chunks_to_merge");
    at(merged, {lane, vector, row, row_tile}) = 0.0f;
    at(merged, {lane, vector, row, row_tile}) +=
        at(chunk_weight, {chunks_to_merge, row, row_tile}) * of_chunk(chunks_to_merge, lane, vector);
}

void decode_attention::write_results() {
    pair_values of_row = values_at(0, Expr());
    of_row.kv_pos = 0;
    const normalised row_result = normalise(at(row_max, {row, row_tile}), at(row_sum, {row, row_tile}), of_row);
    at(normaliser, {row, row_tile}) = row_result.factor;
    at(log_of_total, {row, row_tile}) = row_result.log_of_total;

    const Expr row_index = position * heads_in_group() + head_in_group;
    const auto of_row_at = [&](const Func &f, std::vector<Expr> indices) {
        indices.insert(indices.end(), {row_index % shape.rows_together, row_index / shape.rows_together});
        return at(f, std::move(indices));
    };
    // The last vector reaches back where whole ones do not divide a row.
    const int lanes = shape.value_lanes;
    const auto merged_value = [&](const Expr &index) {
        const Expr first = index / lanes * lanes;
        const Expr at_lane = variant.value_dim % lanes == 0
                                 ? index % lanes
                                 : Halide::clamp(index - Halide::min(first, variant.value_dim - lanes), 0, lanes - 1);
        return of_row_at(merged, {at_lane, index / lanes});
    };
    const Expr result = modified_element(
        variant.output_stages, query_element(position, head_in_group),
        [&](const Expr &index) { return merged_value(index) * of_row_at(normaliser, {}); }, variant.value_dim,
        look_up(), [&](const Func &mean) { return mean(head_in_group, position, group, batch); }, {}, of_outputs);
    output(dim, head_in_group, position, group, batch) = from_float(result, types.output, types.has_f16c);
    log_sum_exp(head_in_group, position, group, batch) = of_row_at(log_of_total, {});
}

Halide::FuncRef decode_attention::at(const Func &f, std::vector<Expr> indices) const {
    indices.insert(indices.end(), {group, batch});
    return f(indices);
}

Halide::FuncRef decode_attention::at_chunk(const Func &f, std::vector<Expr> indices) const {
    return at_chunk(f, std::move(indices), chunk);
}

Halide::FuncRef decode_attention::at_chunk(const Func &f, std::vector<Expr> indices, const Expr &of) const {
    indices.push_back(of);
    return at(f, std::move(indices));
}

Expr decode_attention::position_of(const Expr &row_index, const Expr &tile) const {
    return (tile * shape.rows_together + row_index) / heads_in_group();
}

Expr decode_attention::head_of(const Expr &row_index, const Expr &tile) const {
    return (tile * shape.rows_together + row_index) % heads_in_group();
}

int decode_attention::rows_ahead(const Halide::ImageParam &tensor, int row_size) const {
    return std::max(shape.bytes_ahead / (row_size * tensor.type().bytes()), 1);
}

Expr decode_attention::key_index(const Expr &key_offset) const {
    return Halide::clamp(chunk * shape.keys + key_offset, 0, last_key());
}

// A cache is read as one row of elements, of which each key has a part: its place, of several numbers, would be worked
// out again for each vector of it.
std::vector<Expr> decode_attention::element_at(const Expr &index, const Expr &position, const Func &start) const {
    if (!types.in_pages) return {index, position, group, batch};
    return {start(position, batch) + index, 0, group, 0};
}

pair_values decode_attention::values_at(const Expr &key_offset, const Expr &scaled_product) const {
    return pair(position_of(row, row_tile), chunk * shape.keys + key_offset, head_of(row, row_tile), scaled_product);
}

RDom decode_attention::reachable_chunks(const char *name) const {
    RDom chunks(0, Halide::max((kv_len + (shape.keys - 1)) / shape.keys, 1), name);
    const Expr first = chunks * shape.keys;
    chunks.where(classify_all_queries({first, first + (shape.keys - 1)}).may && kv_len > 0);
    return chunks;
}

Expr decode_attention::whole_chunk_attends() const {
    const Expr end = (chunk + 1) * shape.keys;
    return classify_all_queries({chunk * shape.keys, end - 1}).must && end <= kv_len;
}

value_range decode_attention::reachable_keys() const {
    const Halide::Internal::Interval bounds = keys_where([&](const Expr &some_key) {
        return classify_all_queries({some_key, some_key}).may && some_key < kv_len;
    });
    // Keys that there are, so that the differences stay within 32 bits.
    const auto within = [&](const Expr &key) { return Halide::clamp(key, -1, kv_len) - chunk * shape.keys; };
    return {bounds.has_lower_bound() ? within(bounds.min) : Expr(0),
            bounds.has_upper_bound() ? within(bounds.max) : Expr(shape.keys - 1)};
}

RDom decode_attention::reachable_groups(int together, const char *name) const {
    const value_range reachable = reachable_keys();
    RDom keys(0, together, 0, shape.keys / together, name);
    keys.where(kv_len > 0);
    keys.where(keys.y * together + (together - 1) >= reachable.lowest);
    keys.where(keys.y * together <= reachable.highest);
    return keys;
}

}  // namespace heed::generators
