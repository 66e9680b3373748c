// SPDX-License-Identifier: MIT
//
// The memory that a call takes beyond its tensors.
#pragma once

#include <cstdint>
#include <optional>

namespace heed::runner {

/// Largest resident set of this process since the object was made, minus what was resident then. No value where the
/// kernel does not say (Linux: /proc/self).
class resident_growth {
  public:
    resident_growth();
    std::optional<std::int64_t> bytes() const;

  private:
    std::optional<std::int64_t> before_;
};

}  // namespace heed::runner
