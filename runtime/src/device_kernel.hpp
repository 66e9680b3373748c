// SPDX-License-Identifier: MIT
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <string>

namespace heed::detail {

/// A kernel of the variant that a device of this machine runs: of one kind, or, for `device_kind::cpu`, of any. Null if
/// there is none, with the reason.
const kernel_description *find_device_kernel(const variant_description &variant, const char *pass,
                                             const tensor_types &types, std::int64_t q_len, const char *schedule,
                                             device_kind kind, std::string &reason);

}  // namespace heed::detail
