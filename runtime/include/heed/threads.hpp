// SPDX-License-Identifier: MIT
//
// Threads: kernels share one pool, started when a call first needs it. The calling thread works too. Any number of
// threads may call kernels at once.
//
// A call uses its option `threads`, else the number given to set_threads, else the environment variable HEED_THREADS,
// else one thread per CPU that this process may use. Results do not depend on the number.
#pragma once

namespace heed {

inline constexpr int max_threads = 1024;

/// Number of threads for calls that do not say how many; 0 returns to the default. Throws invalid_argument_error.
void set_threads(int count);

/// The number that a call without the option `threads` uses. Throws invalid_argument_error if HEED_THREADS is no
/// number.
int threads();

}  // namespace heed
