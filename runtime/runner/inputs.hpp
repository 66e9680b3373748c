// SPDX-License-Identifier: MIT
//
// Values for the inputs of a variant, chosen by type and extent alone: the runner knows nothing about an input's
// purpose.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memory_check.hpp"
#include "tensor.hpp"

namespace heed::runner {

/// How integer inputs are filled. Real inputs are always uniform in [-1, 1].
enum class integer_fill {
    lengths,  ///< uniform in [0, kv_len]: lengths, positions, starts
    labels,   ///< uniform in [0, 3]: identifiers that several positions share
    extremes  ///< 0 or kv_len
};

/// What `--set` gives an input: one number for all elements, or runs of equal length along the last dimension whose
/// elements are 0, 1, 2, … (documents in a sequence).
struct input_setting {
    double number = 0.0;
    std::int64_t runs = 0;  ///< 0: `number`
};

/// By name. Variants without an input of the name ignore it.
using input_settings = std::map<std::string, input_setting>;

/// Throws std::invalid_argument for a name that none of the variants has, and for a setting that does not fit the type
/// or rank of the input.
void check_settings(const std::vector<const variant_description *> &variants, const input_settings &settings);

/// One input: a row-major table. A rank of 0 is a table of one element.
struct input_table {
    data_type type;
    layout shape;
    std::vector<float> reals;
    std::vector<std::int32_t> integers;

    double read(const std::int64_t *indices) const;
    void *data() {
        return type == data_type::f32 ? static_cast<void *>(reals.data()) : static_cast<void *>(integers.data());
    }
};

/// Whether the declaration reads no input before its first element in calls of these sizes. The runtime refuses others:
/// of more queries than keys, say, where an input is indexed by q_pos.
bool can_have(const variant_description &variant, const call_sizes &sizes);

/// Names and extents of the tables of a call.
std::vector<planned_tensor> planned_inputs(const variant_description &variant, const call_sizes &sizes);

/// The tables of all inputs of one call, in the order of the description.
class input_tables {
  public:
    /// Extents come from the ranges of the readings; an index that the declaration does not bound gets room for every
    /// head and position. Throws std::runtime_error if they do not fit the memory of this machine.
    input_tables(const variant_description &variant, const call_sizes &sizes, integer_fill fill, std::uint64_t seed,
                 const input_settings &settings = {});

    std::vector<input_table> &tables() { return tables_; }
    const std::vector<input_table> &tables() const { return tables_; }
    input_reader reader() const;

  private:
    std::vector<input_table> tables_;
};

}  // namespace heed::runner
