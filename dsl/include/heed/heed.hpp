// SPDX-License-Identifier: MIT
//
// All of Heed's language: `#include <heed/heed.hpp>`, `using namespace heed;`, then one `variant(...)` for each
// variant.
#pragma once

#include <heed/attends.hpp>
#include <heed/evaluate.hpp>
#include <heed/expression.hpp>
#include <heed/masks.hpp>
#include <heed/norms.hpp>
#include <heed/positions.hpp>
#include <heed/print.hpp>
#include <heed/range.hpp>
#include <heed/relative_positions.hpp>
#include <heed/rows.hpp>
#include <heed/rules.hpp>
#include <heed/scores.hpp>
#include <heed/variant.hpp>
#include <heed/weights.hpp>
