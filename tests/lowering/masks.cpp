// SPDX-License-Identifier: MIT
//
// Real numbers in these masks are such that single and double precision agree.
#include "masks.hpp"

namespace heed::tests {

namespace {

constexpr auto with(auto mask) { return variant(heads = 2_c, head_dim = 1_c, mask_{} = mask); }

constexpr auto document = input<"document", i32>;
constexpr auto documents = input<"documents", i32>;
constexpr auto length = input<"length", i32>;
constexpr auto level = input<"level">;
constexpr auto levels = input<"levels">;
constexpr auto rate = input<"rate">;  // also infinite or NaN
constexpr auto rates = input<"rates">;

// Named words.
inline constexpr auto no_later_key = with(causal);
inline constexpr auto window = with(causal && sliding_window(5_c));
inline constexpr auto window_and_first = with(causal && (sliding_window(5_c) || first_tokens(3_c)));
inline constexpr auto padding = with(kv_pos < length[batch] && causal);
inline constexpr auto dilated = with(causal && dilated_window(4_c, 3_c));
inline constexpr auto both_sides = with(neighbourhood(5_c) && strided(2_c));
inline constexpr auto window_of_call = with(causal && sliding_window(length[batch]));
inline constexpr auto dilated_of_call = with(causal && dilated_window(length[batch], max(length[head], 1_c)));
inline constexpr auto both_sides_of_call = with(neighbourhood(length[head]));
inline constexpr auto prefix = with(prefix_lm(length[batch]));
inline constexpr auto strided_and_recent = with(sparse_strided(6_c));
inline constexpr auto fixed_columns = with(sparse_fixed(8_c, 2_c));
inline constexpr auto chunks = with(causal && blocks(8_c));
inline constexpr auto near_blocks = with(neighbouring_blocks(4_c, 1_c) && !blocks(4_c));
inline constexpr auto listed_blocks = with(random_blocks(4_c, 3_c, documents) || global_tokens(2_c));
inline constexpr auto live_blocks = with(marked_blocks(4_c, documents));
inline constexpr auto packed = with(causal && same(documents));
inline constexpr auto kept_keys = with(marked_keys(documents) && prefix_lm(3_c));
inline constexpr auto flagged = with(global_tokens(documents) || sliding_window(3_c));
inline constexpr auto padded_both = with(padded_left && padded && padded_queries);
inline constexpr auto image = with(neighbourhood_2d(6_c, 1_c, 2_c));
inline constexpr auto frames = with(neighbourhood_3d(3_c, 4_c, 1_c, 1_c, 1_c));
inline constexpr auto shifted_line = with(shifted_neighbourhood(max(length[batch], 5_c), 2));
inline constexpr auto shifted_image = with(shifted_neighbourhood_2d(6_c, 5_c, 2_c, 1_c));
inline constexpr auto shifted_frames = with(shifted_neighbourhood_3d(3_c, 3_c, 4_c, 1_c, 1_c, 1_c));
inline constexpr auto image_windows = with(windows_2d(6_c, 2_c, 3_c));
inline constexpr auto shifted_windows = with(windows_2d(8_c, 2_c, 4_c, 1_c, 2_c));
inline constexpr auto few_buckets = with(t5_causal_bucket(8_c, 20_c) < 6 && t5_bidirectional_bucket(8_c, 20_c) != 3);
inline constexpr auto clipped = with(clipped_distance(4_c) != 8);

// Division and remainder of negative positions.
inline constexpr auto same_block = with(q_pos / 4 == kv_pos / 4);
inline constexpr auto negative_divisor = with(q_pos / -3 >= kv_pos - 12);
inline constexpr auto looked_up_divisor = with(q_pos / (length[batch] - 8) <= kv_pos / (q_len - 6));
inline constexpr auto every_third = with((q_pos - kv_pos) % 3 == 0);
inline constexpr auto negative_modulus = with(q_pos % -4 + kv_pos < 9);
inline constexpr auto looked_up_modulus = with((kv_pos - q_pos) % (length[batch] - 8) > q_len % 5 - 3);
inline constexpr auto recent_or_eighth = with(causal && (q_pos - kv_pos < 4 || (q_pos - kv_pos) % 8 == 0));

// abs, min, max, select.
inline constexpr auto near = with(abs(q_pos - kv_pos) <= 6);
inline constexpr auto far = with(!(abs(q_pos - kv_pos * 2) < 9));
inline constexpr auto smaller = with(min(q_pos, kv_pos + 2) * -2 <= max(kv_pos, 7) - 20);
inline constexpr auto by_head = with(select(head % 2 == 0, causal, q_pos <= kv_pos));
inline constexpr auto by_position = with(select(kv_pos < 7, kv_pos % 3 == 0, batch < min(1_c, kv_pos)));
inline constexpr auto number_by_position =
    with(select(q_pos < kv_pos, q_pos * 2, kv_pos - 3) < select(causal, 9, q_pos));
inline constexpr auto product = with(q_pos * kv_pos < 40 && q_pos * (kv_pos - 5) > -60);

// Logic.
inline constexpr auto one_hole = with(causal && !(q_pos == 17 && kv_pos == 9));
inline constexpr auto negations = with(!(!(q_pos >= kv_pos) || !(kv_pos != 5 && q_pos != 9)));
inline constexpr auto never = with(kv_pos < 3 && kv_pos > 8);
inline constexpr auto always = with(kv_pos < 3 || true);

// Lookups: at one point of the tile, or not.
inline constexpr auto same_document = with(documents(batch, q_pos) == documents(batch, kv_pos));
inline constexpr auto long_documents = with(q_pos - kv_pos < documents(batch, q_len) && kv_pos >= document[head]);
inline constexpr auto nested = with(kv_pos < document[document[batch]]);

// Real numbers, NaN included.
inline constexpr auto half = with((q_pos - kv_pos) * 0.5 < 3 && kv_pos * -0.25 < level[batch]);
inline constexpr auto rounded = with(floor(kv_pos / 4.0) < floor(q_pos * level[batch]));
inline constexpr auto below_rate = with(kv_pos * 0.5 < rate[batch]);
inline constexpr auto not_below_rate = with(!(kv_pos * 0.5 < rate[batch]));
inline constexpr auto not_at_most_rate = with(!(q_pos <= rate[batch]) || kv_pos == rate[head]);
inline constexpr auto not_rate = with(kv_pos != rate[batch] && !(rate[batch] == rate[head]));
inline constexpr auto times_rate = with(!(kv_pos * rate[batch] >= q_pos * level[batch]));
inline constexpr auto rates_of_pairs = with(rates(batch, q_pos) < levels(batch, kv_pos) || !(rate[kv_pos] <= 2));
inline constexpr auto larger_of_level = with(max(level[batch], kv_pos) < 12 || abs(rate[batch]) > 2.0);
inline constexpr auto chosen_rate = with(select(kv_pos < 6, rate[batch], level[batch]) < q_pos);

template <const auto &Variant>
mask_case make_case(const char *name) {
    return {name, generators::source_of<Variant>(name),
            [](const token_pair &pair, const looked_up &inputs) {
                return bool{evaluate(Variant.mask(), environment_of(pair, 0, inputs.numbers()))};
            },
            [](const pair_tile &tile, const looked_up &inputs) {
                return truth_within(Variant.mask(), tile, inputs.numbers());
            }};
}

}  // namespace

const std::vector<mask_case> &mask_cases() {
#define HEED_MASK(name) make_case<name>(#name)
    // clang-format off
    static const std::vector<mask_case> all{
        HEED_MASK(no_later_key), HEED_MASK(window), HEED_MASK(window_and_first), HEED_MASK(padding),
        HEED_MASK(dilated), HEED_MASK(both_sides), HEED_MASK(prefix), HEED_MASK(window_of_call), HEED_MASK(dilated_of_call),
        HEED_MASK(both_sides_of_call), HEED_MASK(strided_and_recent),
        HEED_MASK(fixed_columns), HEED_MASK(chunks), HEED_MASK(near_blocks), HEED_MASK(listed_blocks),
        HEED_MASK(live_blocks), HEED_MASK(packed), HEED_MASK(kept_keys), HEED_MASK(flagged), HEED_MASK(padded_both),
        HEED_MASK(image), HEED_MASK(frames), HEED_MASK(shifted_line), HEED_MASK(shifted_image),
        HEED_MASK(shifted_frames), HEED_MASK(image_windows), HEED_MASK(shifted_windows), HEED_MASK(few_buckets),
        HEED_MASK(clipped),
        HEED_MASK(same_block), HEED_MASK(negative_divisor), HEED_MASK(looked_up_divisor), HEED_MASK(every_third),
        HEED_MASK(negative_modulus), HEED_MASK(looked_up_modulus), HEED_MASK(recent_or_eighth),
        HEED_MASK(near), HEED_MASK(far), HEED_MASK(smaller), HEED_MASK(by_head), HEED_MASK(by_position),
        HEED_MASK(number_by_position), HEED_MASK(product),
        HEED_MASK(one_hole), HEED_MASK(negations), HEED_MASK(never), HEED_MASK(always),
        HEED_MASK(same_document), HEED_MASK(long_documents), HEED_MASK(nested),
        HEED_MASK(half), HEED_MASK(rounded), HEED_MASK(below_rate), HEED_MASK(not_below_rate),
        HEED_MASK(not_at_most_rate), HEED_MASK(not_rate), HEED_MASK(times_rate), HEED_MASK(rates_of_pairs),
        HEED_MASK(larger_of_level), HEED_MASK(chosen_rate)};
    // clang-format on
#undef HEED_MASK
    return all;
}

}  // namespace heed::tests
