// SPDX-License-Identifier: MIT
#pragma once

#include <heed/view.hpp>

/// All keys; on a GPU where there is one.
void attend(const heed::view<const float, 4> &query, const heed::view<const float, 4> &key,
            const heed::view<const float, 4> &value, const heed::view<float, 4> &output);
