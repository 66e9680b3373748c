// SPDX-License-Identifier: MIT
#include "fma_peak.hpp"

#include <algorithm>

#include "team.hpp"

namespace heed::runner {

namespace {

struct level {
    void (*loop)(long steps);
    int chains, lanes;
};

double measure(const level &of, int threads) {
    // 1 ms at 3 GHz and two vector operations a cycle; in several pieces, since the fastest one counts.
    constexpr long steps = 500'000;
    constexpr int pieces = 5;
    const double flops = 2.0 * of.chains * of.lanes * static_cast<double>(steps) * threads;
    double best = 0.0;
    for (int i = 0; i < pieces; ++i) best = std::max(best, flops / time_team(threads, [&](int) { of.loop(steps); }));
    return best;
}

}  // namespace

#if defined(__x86_64__)

namespace {

// The loops are written out: compilers differ in whether they keep twelve accumulators in registers. Twelve chains hide
// the latency (4 cycles, two units). Values converge to a small number, so no operand is ever subnormal.
constexpr int chains = 12;

#define HEED_TWELVE(step) \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)
#define HEED_CLOBBERED                                                                                               \
    "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
        "xmm13", "xmm14", "xmm15"
constexpr float half = 0.5f, quarter = 0.25f;

#define HEED_START(i) "vmovaps %%zmm15, %%zmm" #i "\n"
#define HEED_STEP(i) "vfmadd213ps %%zmm15, %%zmm14, %%zmm" #i "\n"
__attribute__((target("avx512f"))) void multiply_add_avx512(long steps) {
    asm volatile("vbroadcastss %1, %%zmm14\n vbroadcastss %2, %%zmm15\n" HEED_TWELVE(HEED_START) "1:\n" HEED_TWELVE(
                     HEED_STEP) "dec %0\n jnz 1b\n vzeroupper\n"
                 : "+r"(steps)
                 : "m"(half), "m"(quarter)
                 : HEED_CLOBBERED);
}
#undef HEED_START
#undef HEED_STEP

#define HEED_START(i) "vmovaps %%ymm15, %%ymm" #i "\n"
#define HEED_STEP(i) "vfmadd213ps %%ymm15, %%ymm14, %%ymm" #i "\n"
__attribute__((target("avx2,fma"))) void multiply_add_avx2(long steps) {
    asm volatile("vbroadcastss %1, %%ymm14\n vbroadcastss %2, %%ymm15\n" HEED_TWELVE(HEED_START) "1:\n" HEED_TWELVE(
                     HEED_STEP) "dec %0\n jnz 1b\n vzeroupper\n"
                 : "+r"(steps)
                 : "m"(half), "m"(quarter)
                 : HEED_CLOBBERED);
}
#undef HEED_START
#undef HEED_STEP

// acc = acc * half + quarter in two instructions.
#define HEED_START(i) "movaps %%xmm15, %%xmm" #i "\n"
#define HEED_STEP(i) "mulps %%xmm14, %%xmm" #i "\n addps %%xmm15, %%xmm" #i "\n"
void multiply_add_sse(long steps) {
    asm volatile(
        "movss %1, %%xmm14\n shufps $0, %%xmm14, %%xmm14\n movss %2, %%xmm15\n shufps $0, %%xmm15, "
        "%%xmm15\n" HEED_TWELVE(HEED_START) "1:\n" HEED_TWELVE(HEED_STEP) "dec %0\n jnz 1b\n"
        : "+r"(steps)
        : "m"(half), "m"(quarter)
        : HEED_CLOBBERED);
}
#undef HEED_START
#undef HEED_STEP
#undef HEED_TWELVE
#undef HEED_CLOBBERED

}  // namespace

double measure_fma_peak(const std::string &isa, int threads) {
    if (isa == "avx512") return measure({multiply_add_avx512, chains, 16}, threads);
    if (isa == "avx2") return measure({multiply_add_avx2, chains, 8}, threads);
    if (isa == "x86_64") return measure({multiply_add_sse, chains, 4}, threads);
    return 0.0;
}

#elif defined(__aarch64__)

namespace {

// Up to four units of a latency of four cycles. Sums grow, slowly enough to stay ordinary numbers.
constexpr int chains = 24;

#define HEED_STEP(i) "fmla v" #i ".4s, v30.4s, v31.4s\n"
#define HEED_EIGHT(step, a, b, c, d, e, f, g, h) step(a) step(b) step(c) step(d) step(e) step(f) step(g) step(h)
void multiply_add_neon(long steps) {
    asm volatile(
        "fmov v30.4s, #0.5\n fmov v31.4s, #0.25\n"
        "1:\n" HEED_EIGHT(HEED_STEP, 0, 1, 2, 3, 4, 5, 6, 7) HEED_EIGHT(HEED_STEP, 8, 9, 10, 11, 12, 13, 14, 15)
            HEED_EIGHT(HEED_STEP, 16, 17, 18, 19, 20, 21, 22, 23) "subs %0, %0, #1\n b.ne 1b\n"
        : "+r"(steps)
        :
        : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
          "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v30", "v31");
}
#undef HEED_EIGHT
#undef HEED_STEP

}  // namespace

double measure_fma_peak(const std::string &isa, int threads) {
    return isa == "neon" ? measure({multiply_add_neon, chains, 4}, threads) : 0.0;
}

#else

double measure_fma_peak(const std::string &, int) { return 0.0; }

#endif

}  // namespace heed::runner
