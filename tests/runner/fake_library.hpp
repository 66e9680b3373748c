// SPDX-License-Identifier: MIT
//
// Kernel libraries without generated kernels: naive loops behind the argument convention of heed/kernel_table.hpp. One
// does all it should; the others each make one mistake that `verify` must find.
#pragma once

#include <heed/kernel_table.hpp>

#include <string>

namespace fakes {

enum class mistake {
    none,
    forgets_last_key,       ///< of each call with more keys than a tile
    multiplies_by_mask,     ///< NaN in a masked key reaches the result
    writes_past_row,        ///< one element after each row of the output
    writes_between_rows,    ///< the same, where rows are apart
    reads_past_keys,        ///< one key more than there is
    wrong_log_sum_exp,      ///< base 2 instead of e
    skips_row,              ///< leaves the last row unwritten
    imprecise,              ///< relative error of 1e-5
    reports_error,          ///< returns a status other than 0
    leaves_hidden_weights,  ///< of the pass "weights": 1e-30 where 0 belongs
    adds_to_weights,        ///< of the pass "weights": 1e-6 to every weight, less than the bar of a single one
    swaps_pages,            ///< of the pass "cached": the first two of a sequence
    forgets_place_in_page,  ///< of the pass "cached": each token of a page is its first
    forgets_last_page,      ///< of the pass "cached", where it is not the only one
    takes_first_sequence,   ///< of the pass "cached": the inputs of all sequences are those of the first
    fails_in_many_pages,    ///< of the pass "cached": where a sequence has more than one page
    appends_neighbours_row  ///< of the pass "append": the second of the tokens gets the row of the first
};

/// Variants `plain` (dense, 2 heads), `causal` (4 heads, 2 groups), `padded` (i32 input, sink), `biased` (f32 inputs of
/// rank 0 and 2, value_dim different from head_dim, a mask that the range reading cannot tell).
const heed::kernel_library &library(mistake what);

/// The same variants, each with a second kernel of the pass "weights".
const heed::kernel_library &library_with_weights(mistake what);

/// The same variants, each with kernels of the passes "append" and "cached" alone.
const heed::kernel_library &library_with_cache(mistake what);

/// The variant `plain` with a second kernel, for a device of CUDA that no machine has.
struct library_for_missing_device {
    library_for_missing_device();
    library_for_missing_device(const library_for_missing_device &) = delete;
    library_for_missing_device &operator=(const library_for_missing_device &) = delete;

    heed::kernel_description kernels[2];
    heed::variant_description variant;
    heed::kernel_library library;
};

}  // namespace fakes
