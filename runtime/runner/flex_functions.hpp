// SPDX-License-Identifier: MIT
//
// A declaration's formulas as the Python functions that PyTorch's FlexAttention takes in place of a declaration.
#pragma once

#include <string>

namespace heed::runner {

/// `source` defines `make(inputs, q_len, kv_len)`, which returns (mask_mod, score_mod): functions of (b, h, q_idx,
/// kv_idx) and (score, b, h, q_idx, kv_idx), each None where the declaration has the default. `inputs` are tensors by
/// name. The source calls the functions that torch_script.hpp defines for it.
struct flex_functions {
    std::string source;
    bool has_mask = false;
    bool mask_reads_batch = false, mask_reads_head = false;
};

/// Translates `variant_description::formula`. Whole numbers and real ones keep their own division. Throws
/// std::invalid_argument that says what FlexAttention or this translation has no words for.
flex_functions translate_for_flex(const std::string &formula);

}  // namespace heed::runner
