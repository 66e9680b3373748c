// SPDX-License-Identifier: MIT
//
// How the tests were compiled: sanitizers slow calls down, and their own allocators do not survive a fork.
#pragma once

#if defined(__has_feature)
#define HEED_HAS_FEATURE(name) __has_feature(name)
#else
#define HEED_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HEED_HAS_FEATURE(address_sanitizer) || \
    HEED_HAS_FEATURE(thread_sanitizer)
constexpr bool sanitized_build = true;
#else
constexpr bool sanitized_build = false;
#endif

#if defined(NDEBUG)
constexpr bool release_build = !sanitized_build;
#else
constexpr bool release_build = false;
#endif
