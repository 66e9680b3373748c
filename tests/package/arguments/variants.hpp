#pragma once
#include <heed/heed.hpp>
namespace models {
inline constexpr auto known = heed::variant(heed::heads = heed::int_<1>{}, heed::head_dim = heed::int_<8>{});
}
