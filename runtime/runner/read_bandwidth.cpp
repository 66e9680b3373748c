// SPDX-License-Identifier: MIT
#include "read_bandwidth.hpp"

#include <algorithm>

#include "team.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace heed::runner {

namespace {

constexpr std::size_t line = 64;

// The loops read whole lines and fold them together. `ahead` is the distance of the prefetch in bytes, 0 for none;
// reading ahead past the end is harmless.
using read_loop = unsigned long long (*)(const char *from, std::size_t bytes, std::size_t ahead);

unsigned long long read_words(const char *from, std::size_t bytes, std::size_t ahead) {
    const auto *words = reinterpret_cast<const unsigned long long *>(from);
    unsigned long long a = 0, b = 0, c = 0, d = 0;
    for (std::size_t i = 0; i + line <= bytes; i += line, words += 8) {
        if (ahead > 0) __builtin_prefetch(from + i + ahead, 0, 3);
        a ^= words[0] ^ words[4];
        b ^= words[1] ^ words[5];
        c ^= words[2] ^ words[6];
        d ^= words[3] ^ words[7];
    }
    return a ^ b ^ c ^ d;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) __m256i load(const char *at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(at));
}

__attribute__((target("avx2"))) unsigned long long read_avx2(const char *from, std::size_t bytes, std::size_t ahead) {
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (std::size_t i = 0; i + 2 * line <= bytes; i += 2 * line) {
        if (ahead > 0) {
            __builtin_prefetch(from + i + ahead, 0, 3);
            __builtin_prefetch(from + i + line + ahead, 0, 3);
        }
        a = _mm256_xor_si256(a, load(from + i));
        b = _mm256_xor_si256(b, load(from + i + 32));
        c = _mm256_xor_si256(c, load(from + i + 64));
        d = _mm256_xor_si256(d, load(from + i + 96));
    }
    const __m256i all = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    return static_cast<unsigned long long>(_mm256_extract_epi64(all, 0) ^ _mm256_extract_epi64(all, 1) ^
                                           _mm256_extract_epi64(all, 2) ^ _mm256_extract_epi64(all, 3));
}

__attribute__((target("avx512f"))) unsigned long long read_avx512(const char *from, std::size_t bytes,
                                                                  std::size_t ahead) {
    __m512i a = _mm512_setzero_si512(), b = a;
    for (std::size_t i = 0; i + 2 * line <= bytes; i += 2 * line) {
        if (ahead > 0) {
            __builtin_prefetch(from + i + ahead, 0, 3);
            __builtin_prefetch(from + i + line + ahead, 0, 3);
        }
        a = _mm512_xor_si512(a, _mm512_loadu_si512(from + i));
        b = _mm512_xor_si512(b, _mm512_loadu_si512(from + i + line));
    }
    unsigned long long words[8], all = 0;
    _mm512_storeu_si512(words, _mm512_xor_si512(a, b));
    for (const unsigned long long word : words) all ^= word;
    return all;
}

#elif defined(__aarch64__)

unsigned long long read_neon(const char *from, std::size_t bytes, std::size_t ahead) {
    uint64x2_t a = vdupq_n_u64(0), b = a, c = a, d = a;
    const auto load = [&](std::size_t at) {
        return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const uint8_t *>(from + at)));
    };
    for (std::size_t i = 0; i + line <= bytes; i += line) {
        if (ahead > 0) __builtin_prefetch(from + i + ahead, 0, 3);
        a = veorq_u64(a, load(i));
        b = veorq_u64(b, load(i + 16));
        c = veorq_u64(c, load(i + 32));
        d = veorq_u64(d, load(i + 48));
    }
    const uint64x2_t all = veorq_u64(veorq_u64(a, b), veorq_u64(c, d));
    return vgetq_lane_u64(all, 0) ^ vgetq_lane_u64(all, 1);
}

#endif

struct way_of_reading {
    read_loop loop;
    std::size_t ahead;
};

std::vector<way_of_reading> ways_of_this_machine() {
    std::vector<read_loop> loops{read_words};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) loops.push_back(read_avx2);
    if (__builtin_cpu_supports("avx512f")) loops.push_back(read_avx512);
#elif defined(__aarch64__)
    loops.push_back(read_neon);
#endif
    std::vector<way_of_reading> ways;
    for (const read_loop loop : loops)
        for (const std::size_t ahead : {0, 1024, 4096, 8192}) ways.push_back({loop, ahead});
    return ways;
}

// Bytes/s of one way.
double measure_way(const way_of_reading &way, const char *begin, std::size_t bytes, int threads) {
    // Enough bytes for a measurable time, also where they come from the first-level cache.
    constexpr std::size_t least_bytes = std::size_t{32} << 20;
    const std::size_t repeats = std::max<std::size_t>(1, least_bytes / bytes);
    const std::size_t part = bytes / static_cast<std::size_t>(threads) / line * line;
    const double seconds = time_team(threads, [&](int thread) {
        unsigned long long all = 0;
        for (std::size_t i = 0; i < repeats; ++i)
            all ^= way.loop(begin + part * static_cast<std::size_t>(thread), part, way.ahead);
        volatile unsigned long long result = all;
        (void)result;
    });
    return static_cast<double>(part) * threads * static_cast<double>(repeats) / seconds;
}

}  // namespace

read_bandwidth::read_bandwidth(std::size_t bytes)
    : words_(std::clamp<std::size_t>(bytes, 1 << 16, 1 << 30) / sizeof(unsigned long long), 1) {}

double read_bandwidth::measure(int threads) {
    const auto *begin = reinterpret_cast<const char *>(words_.data());
    const auto ways = ways_of_this_machine();
    const auto known = best_way_.find(threads);
    if (known != best_way_.end()) return measure_way(ways[known->second], begin, bytes(), threads);
    double best = 0.0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const double rate = measure_way(ways[i], begin, bytes(), threads);
        if (rate <= best) continue;
        best = rate;
        best_way_[threads] = i;
    }
    return best;
}

}  // namespace heed::runner
