// SPDX-License-Identifier: MIT
//
// Attention in parts: each part attends to some of the keys, and the results are merged, as where keys are on several
// machines. Positions count from the first key of a call: with a mask, rotary positions or scores that use them, a part
// that does not begin with the first key needs them from an input.
#pragma once

#include <heed/error.hpp>
#include <heed/view.hpp>

namespace heed {

/// Attention to the keys of two parts together, from the results of attention to either (Milakov and Gimelshein 2018,
/// section 3.1). Outputs are (batch, heads, q_len, value_dim), log_sum_exp is (batch, heads, q_len); strides are free.
/// The result may be one of the parts, element for element; its log_sum_exp can be left out.
///
/// A part that saw no key, log_sum_exp = -inf, leaves the other as it is, whatever the output holds; two of them give 0
/// and -inf. A log_sum_exp of NaN or +inf gives NaN.
///
/// This holds for softmax only, and the parts must not count anything twice: a sink_logit, or the one of softmax1, is
/// in the log_sum_exp of every part that a variant with it computed, so all parts but one need a variant without. An
/// output_mod must be one that merging does not disturb, such as a factor that is the same for both parts.
///
/// Throws invalid_argument_error if shapes disagree, if a result and a part of its kind share memory otherwise, or if
/// an output and a log_sum_exp do; nothing is written then. One thread.
void merge(const view<const float, 4> &output_a, const view<const float, 3> &log_sum_exp_a,
           const view<const float, 4> &output_b, const view<const float, 3> &log_sum_exp_b,
           const view<float, 4> &output, const view<float, 3> &log_sum_exp = {});

}  // namespace heed
