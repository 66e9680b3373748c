// SPDX-License-Identifier: MIT
//
// Calls that must be refused: each text in full, and nothing is written.

#include <doctest/doctest.h>

#include <string>

#include "fake_control.hpp"
#include "problem.hpp"

namespace {

/// Runs the call both ways; returns the message.
std::string refusal(problem &p, heed::call_options options = {}) {
    control.reset();
    if (options.log_sum_exp.given() == false) {
        options.log_sum_exp = p.log_sum_exp;
    }
    const heed::status status = models::local_capped.try_run(p.query, p.key, p.value, p.output, p.inputs, options);
    CHECK(status.code() == heed::status_code::invalid_argument);
    std::string thrown = "nothing was thrown";
    try {
        models::local_capped(p.query, p.key, p.value, p.output, p.inputs, options);
    } catch (const heed::invalid_argument_error &error) {
        thrown = error.what();
    }
    CHECK(thrown == status.message());
    CHECK(control.runs == 0);
    CHECK(p.nothing_written());
    return status.message();
}

}  // namespace

TEST_CASE("the problem that the cases below spoil is accepted") {
    problem p = problem::local_capped(2, 3, 5);
    models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
    CHECK_FALSE(p.nothing_written());
    CHECK(p.error(true, true) < 1e-6);
}

TEST_CASE("missing tensors") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("query") {
        p.query = {};
        CHECK(refusal(p) ==
              "local_capped: query is missing, it must be a tensor (batch, heads, q_len, head_dim). Fix: pass it");
    }
    SUBCASE("key") {
        p.key = {};
        CHECK(refusal(p) ==
              "local_capped: key is missing, it must be a tensor (batch, groups, kv_len, head_dim). Fix: pass it");
    }
    SUBCASE("value") {
        p.value = {};
        CHECK(refusal(p) ==
              "local_capped: value is missing, it must be a tensor (batch, groups, kv_len, value_dim). Fix: pass it");
    }
    SUBCASE("output") {
        p.output = {};
        CHECK(refusal(p) ==
              "local_capped: output is missing, it must be a tensor (batch, heads, q_len, value_dim). Fix: pass it");
    }
    SUBCASE("an input") {
        p.inputs.documents = {};
        CHECK(refusal(p) ==
              "local_capped: input 'documents' is missing, it must be a tensor of rank 2, i32. Fix: pass it");
    }
    SUBCASE("a number") {
        p.inputs.temperature = {};
        CHECK(refusal(p) ==
              "local_capped: input 'temperature' is missing, it must be a single number, f32. Fix: pass it");
    }
}

TEST_CASE("head counts") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("query") {
        p.query = {p.q.data(), {2, 8, 3, 4}};
        CHECK(refusal(p) ==
              "local_capped: query has 8 heads, the kernel was compiled for heads = 16. Heads are dimension 1 of the "
              "extents, (2, 8, 3, 4). Fix: pass that many, or declare heads = 8_c");
    }
    SUBCASE("key") {
        p.key = {p.k.data(), {2, 6, 5, 4}};
        CHECK(refusal(p) ==
              "local_capped: key has 6 heads, the kernel was compiled for groups = 8. Heads are dimension 1 of the "
              "extents, (2, 6, 5, 4). Fix: pass that many, or declare groups = 6_c");
    }
    SUBCASE("value") {
        p.value = {p.v.data(), {2, 1, 5, 3}};
        CHECK(refusal(p) ==
              "local_capped: value has 1 heads, the kernel was compiled for groups = 8. Heads are dimension 1 of the "
              "extents, (2, 1, 5, 3). Fix: pass that many, or declare groups = 1_c");
    }
    SUBCASE("output") {
        p.output = {p.o.data(), {2, 8, 3, 3}};
        CHECK(refusal(p) ==
              "local_capped: output has 8 heads, the kernel was compiled for heads = 16. Heads are dimension 1 of the "
              "extents, (2, 8, 3, 3). Fix: pass that many, or declare heads = 8_c");
    }
    SUBCASE("log_sum_exp") {
        CHECK(refusal(p, {{p.lse.data(), {2, 3, 16}}}) ==
              "local_capped: log_sum_exp has 3 heads, the kernel was compiled for heads = 16. Heads are dimension 1 of "
              "the extents, (2, 3, 16). Fix: pass that many, or declare heads = 3_c");
    }
}

TEST_CASE("head_dim and value_dim") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("query") {
        p.query = {p.q.data(), {2, 16, 4, 3}};
        CHECK(refusal(p) ==
              "local_capped: query has head_dim 3, the kernel was compiled for head_dim = 4. head_dim is the last of "
              "the extents, (2, 16, 4, 3). Fix: pass that many, or declare head_dim = 3_c");
    }
    SUBCASE("key") {
        p.key = {p.k.data(), {2, 8, 4, 5}};
        CHECK(refusal(p) ==
              "local_capped: key has head_dim 5, the kernel was compiled for head_dim = 4. head_dim is the last of the "
              "extents, (2, 8, 4, 5). Fix: pass that many, or declare head_dim = 5_c");
    }
    SUBCASE("value") {
        p.value = {p.v.data(), {2, 8, 5, 4}};
        CHECK(refusal(p) ==
              "local_capped: value has value_dim 4, the kernel was compiled for value_dim = 3. value_dim is the last "
              "of the extents, (2, 8, 5, 4). Fix: pass that many, or declare value_dim = 4_c");
    }
    SUBCASE("output") {
        p.output = {p.o.data(), {2, 16, 3, 4}};
        CHECK(refusal(p) ==
              "local_capped: output has value_dim 4, the kernel was compiled for value_dim = 3. value_dim is the last "
              "of the extents, (2, 16, 3, 4). Fix: pass that many, or declare value_dim = 4_c");
    }
}

TEST_CASE("tensors that disagree") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("batch") {
        p.key = {p.k.data(), {1, 8, 5, 4}};
        CHECK(refusal(p) ==
              "local_capped: key has batch 1, query has batch 2: they must agree. Extents: key (1, 8, 5, 4), query (2, "
              "16, 3, 4). Fix: pass tensors of one call");
    }
    SUBCASE("batch of output") {
        p.output = {p.o.data(), {3, 16, 3, 3}};
        CHECK(refusal(p) ==
              "local_capped: output has batch 3, query has batch 2: they must agree. Extents: output (3, 16, 3, 3), "
              "query (2, 16, 3, 4). Fix: pass tensors of one call");
    }
    SUBCASE("kv_len") {
        p.value = {p.v.data(), {2, 8, 4, 3}};
        CHECK(refusal(p) ==
              "local_capped: value has kv_len 4, key has kv_len 5: they must agree. Extents: value (2, 8, 4, 3), key "
              "(2, 8, 5, 4). Fix: pass tensors of one call");
    }
    SUBCASE("q_len") {
        p.output = {p.o.data(), {2, 16, 4, 3}};
        CHECK(refusal(p) ==
              "local_capped: output has q_len 4, query has q_len 3: they must agree. Extents: output (2, 16, 4, 3), "
              "query (2, 16, 3, 4). Fix: pass tensors of one call");
    }
    SUBCASE("q_len of log_sum_exp") {
        CHECK(refusal(p, {{p.lse.data(), {2, 16, 2}}}) ==
              "local_capped: log_sum_exp has q_len 2, query has q_len 3: they must agree. Extents: log_sum_exp (2, 16, "
              "2), query (2, 16, 3, 4). Fix: pass tensors of one call");
    }
    SUBCASE("batch of log_sum_exp") {
        CHECK(refusal(p, {{p.lse.data(), {1, 16, 3}}}) ==
              "local_capped: log_sum_exp has batch 1, query has batch 2: they must agree. Extents: log_sum_exp (1, 16, "
              "3), query (2, 16, 3, 4). Fix: pass tensors of one call");
    }
}

TEST_CASE("strides") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("of the last dimension") {
        p.key = {p.k.data(), {2, 8, 5, 4}, {160, 20, 1, 5}};
        CHECK(refusal(p) ==
              "local_capped: key has stride 5 in its last dimension (head_dim), it must be 1: kernels move whole "
              "vectors of it. Fix: pass a copy whose last dimension is contiguous");
    }
    SUBCASE("0 in the last dimension") {
        p.value = {p.v.data(), {2, 8, 5, 3}, {0, 0, 0, 0}};
        CHECK(refusal(p) ==
              "local_capped: value has stride 0 in its last dimension (value_dim), it must be 1: kernels move whole "
              "vectors of it. Fix: pass a copy whose last dimension is contiguous");
    }
    SUBCASE("beyond all addresses") {
        constexpr std::int64_t far = std::int64_t{1} << 61;
        p.query = {p.q.data(), {2, 16, 3, 4}, {far, 12, 4, 1}};
        CHECK(refusal(p) ==
              "local_capped: query spans more memory than an address can reach: extents (2, 16, 3, 4), strides "
              "(2305843009213693952, 12, 4, 1). Fix: pass strides in elements, not in bytes, of the tensor that there "
              "is");
    }
    SUBCASE("the output repeats elements") {
        p.output = {p.o.data(), {2, 16, 3, 3}, {0, 9, 3, 1}};
        CHECK(refusal(p) ==
              "local_capped: output has elements that may share memory: a dimension of extent 2 has stride 0, inside "
              "the 1 "
              "elements that the smaller strides reach. It is written in parallel, so every element needs a place of "
              "its own. Extents (2, 16, 3, 3), strides (0, 9, 3, 1). Fix: pass strides that step over one another, or "
              "a tensor of its own");
    }
    SUBCASE("the output overlaps itself") {
        p.output = {p.o.data(), {2, 16, 3, 3}, {144, 9, 2, 1}};
        CHECK(refusal(p) ==
              "local_capped: output has elements that may share memory: a dimension of extent 3 has stride 2, inside "
              "the 3 "
              "elements that the smaller strides reach. It is written in parallel, so every element needs a place of "
              "its own. Extents (2, 16, 3, 3), strides (144, 9, 2, 1). Fix: pass strides that step over one another, "
              "or a tensor of its own");
    }
    SUBCASE("log_sum_exp repeats elements") {
        const std::string message = refusal(p, {{p.lse.data(), {2, 16, 3}, {48, 3, 0}}});
        CHECK(message.find("local_capped: log_sum_exp has elements that may share memory") == 0);
    }
}

TEST_CASE("pointers and extents") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("null pointer") {
        p.value = {nullptr, {2, 8, 5, 3}};
        CHECK(
            refusal(p) ==
            "local_capped: value is a null pointer but has elements: (2, 8, 5, 3). Fix: pass the address of the first");
    }
    SUBCASE("null pointer of an input") {
        p.inputs.sinks = {nullptr, {16}};
        CHECK(
            refusal(p) ==
            "local_capped: input 'sinks' is a null pointer but has elements: (16). Fix: pass the address of the first");
    }
    SUBCASE("unaligned") {
        const auto address = reinterpret_cast<std::uintptr_t>(p.q.data()) + 2;
        p.query = {reinterpret_cast<const float *>(address), {2, 16, 3, 4}};
        CHECK(refusal(p) ==
              "local_capped: query starts at an address that is not a multiple of 4, the size of an f32 element. Fix: "
              "pass a copy at such an address");
    }
    SUBCASE("negative extent") {
        p.key = {p.k.data(), {2, 8, -5, 4}};
        CHECK(refusal(p) ==
              "local_capped: key has extent -5 in dimension 2, extents are not negative: (2, 8, -5, 4). Fix: pass the "
              "number of elements there");
    }
    SUBCASE("extent that Halide cannot count") {
        p.key = {p.k.data(), {2, 8, std::int64_t{1} << 31, 4}, {0, 0, 0, 1}};
        CHECK(refusal(p) ==
              "local_capped: key has extent 2147483648 in dimension 2, the largest possible is 2147483647: (2, 8, "
              "2147483648, 4). Fix: pass its parts in several calls");
    }
    SUBCASE("one group that Halide cannot count") {
        constexpr std::int64_t length = (std::int64_t{1} << 29) + 1;
        const std::int32_t document = 0;
        p.key = {p.k.data(), {2, 8, length, 4}, {0, 0, 0, 1}};
        p.value = {p.v.data(), {2, 8, length, 3}, {0, 0, 0, 1}};
        p.inputs.documents = {&document, {2, length}, {0, 0}};
        CHECK(refusal(p) ==
              "local_capped: key has 2147483652 elements for each batch and group, kernels count at most 2147483647. "
              "Fix: pass fewer queries or keys at a time");
    }
}

TEST_CASE("inputs that do not cover their indices") {
    problem p = problem::local_capped(2, 3, 5);
    SUBCASE("rank 1") {
        p.inputs.sinks = {p.sink_values.data(), {6}};
        CHECK(refusal(p) ==
              "local_capped: input 'sinks' has extent 6 in dimension 0, a call with batch = 2, q_len = 3, kv_len = 5 "
              "reads its elements 0 to 15. Fix: pass at least 16 there");
    }
    SUBCASE("rank 2") {
        p.inputs.documents = {p.document_values.data(), {2, 4}};
        CHECK(refusal(p) ==
              "local_capped: input 'documents' has extent 4 in dimension 1, a call with batch = 2, q_len = 3, kv_len = "
              "5 reads its elements 0 to 4. Fix: pass at least 5 there");
    }
}

TEST_CASE("results that overlap other tensors") {
    problem p = problem::mha(1, 3, 3);
    const auto refused = [&](const heed::call_options &options) {
        const heed::status status = models::mha.try_run(p.query, p.key, p.value, p.output, options);
        CHECK(status.code() == heed::status_code::invalid_argument);
        return status.message();
    };
    SUBCASE("in place") {
        p.output = {p.q.data(), {1, 2, 3, 4}};
        const std::vector<float> before = p.q;
        CHECK(
            refused({}) ==
            "mha: output and query overlap: output would be written while query is in use. Fix: give output memory of "
            "its own");
        CHECK(p.q == before);
    }
    SUBCASE("in part") {
        std::vector<float> shared(24 + 12, 1.0f);
        p.output = {shared.data(), {1, 2, 3, 4}};
        p.value = {shared.data() + 12, {1, 2, 3, 4}};
        CHECK(
            refused({}) ==
            "mha: output and value overlap: output would be written while value is in use. Fix: give output memory of "
            "its own");
        CHECK(shared == std::vector<float>(24 + 12, 1.0f));
    }
    SUBCASE("log_sum_exp in output") {
        CHECK(refused({{p.o.data() + 18, {1, 2, 3}}}) ==
              "mha: output and log_sum_exp overlap: output would be written while log_sum_exp is in use. Fix: give "
              "output memory of its own");
        CHECK(p.nothing_written());
    }
}

TEST_CASE("what only the untyped call can get wrong") {
    problem p = problem::local_capped(2, 3, 5);
    const auto list = p.inputs.heed_inputs();
    heed::call_arguments call;
    call.variant = &fake_kernels.variants[0];
    call.query = heed::as_tensor(p.query);
    call.key = heed::as_tensor(p.key);
    call.value = heed::as_tensor(p.value);
    call.output = heed::as_tensor(p.output);
    call.inputs = list.data();
    call.input_count = 3;
    const auto refused = [&] {
        const heed::status status = heed::try_run(call);
        CHECK(status.code() == heed::status_code::invalid_argument);
        CHECK(p.nothing_written());
        return status.message();
    };
    SUBCASE("no variant") {
        call.variant = nullptr;
        CHECK(refused() == "heed: the call has no variant. Fix: pass one of a library's variants");
    }
    SUBCASE("rank") {
        call.query.rank = 3;
        CHECK(refused() ==
              "local_capped: query has rank 3, it must be a tensor (batch, heads, q_len, head_dim). Fix: pass 4 "
              "extents, 1 where there is one element only");
    }
    SUBCASE("type") {
        call.key.type = heed::data_type::i32;
        CHECK(refused() ==
              "local_capped: key holds i32, the kernel was compiled for f32. Fix: pass query, key, value and output "
              "of types that the library has, f32, or add others to DTYPES of heed_add_kernels");
    }
    SUBCASE("type of an input") {
        auto wrong = list;
        wrong[1].type = heed::data_type::f32;
        call.inputs = wrong.data();
        CHECK(refused() == "local_capped: input 'documents' holds f32, the kernel was compiled for i32. Fix: pass i32");
    }
    SUBCASE("rank of an input") {
        auto wrong = list;
        wrong[0].rank = 2;
        call.inputs = wrong.data();
        CHECK(refused() ==
              "local_capped: input 'sinks' has rank 2, it must be a tensor of rank 1, f32. Fix: pass 1 extents, 1 "
              "where there is one element only");
    }
    SUBCASE("number of inputs") {
        call.input_count = 2;
        CHECK(refused() ==
              "local_capped: the call passes 2 inputs, the variant declares 3. Fix: pass them in the order of the "
              "declaration");
    }
    SUBCASE("row-major strides left out") {
        call.query.strides = call.key.strides = nullptr;
        CHECK(heed::try_run(call).ok());
        CHECK(p.error(true) < 1e-6);
    }
    SUBCASE("extents left out") {
        call.value.extents = nullptr;
        CHECK(refused() ==
              "local_capped: value has no extents, it must be a tensor (batch, groups, kv_len, value_dim). Fix: pass "
              "as many as it has dimensions");
    }
    SUBCASE("a pass that the library lacks") {
        call.pass = "weights";
        const heed::status status = heed::try_run(call);
        CHECK(status.code() == heed::status_code::unsupported);
        CHECK(status.message() ==
              "local_capped: the library has no kernel for the pass \"weights\". Fix: add it to PASSES "
              "of heed_add_kernels.");
        CHECK(p.nothing_written());
    }
    SUBCASE("storage types that the library lacks") {
        call.query.type = call.key.type = call.value.type = call.output.type = heed::data_type::f16;
        CHECK(refused() ==
              "local_capped: query holds f16, the kernel was compiled for f32. Fix: pass query, key, value and "
              "output of types that the library has, f32, or add others to DTYPES of heed_add_kernels");
    }
    SUBCASE("all storage types of the library are told, each once") {
        heed::kernel_description kernels[4] = {call.variant->kernels[0], call.variant->kernels[0],
                                               call.variant->kernels[0], call.variant->kernels[0]};
        using type = heed::data_type;
        kernels[0].types = type::f16;
        kernels[1].types = {type::f32, type::f16, type::f16, type::f32};
        kernels[3].pass = "weights";
        kernels[3].types = type::bf16;
        kernels[2].types = type::f16;
        heed::variant_description several = *call.variant;
        several.kernels = kernels;
        several.kernel_count = 4;
        call.variant = &several;
        CHECK(refused() ==
              "local_capped: query holds f32, the kernel was compiled for f16. Fix: pass query, key, value and output "
              "of types that the library has, f16 or f32:f16:f16:f32, or add others to DTYPES of heed_add_kernels");
    }
    SUBCASE("an index that is negative because there are more queries than keys") {
        heed::variant_description by_query = *call.variant;
        by_query.readings.input_index = [](const heed::call_sizes &sizes, int input, int) {
            return input == 0 ? heed::index_range{sizes.kv_len - sizes.q_len, sizes.kv_len - 1, true}
                              : heed::index_range{0, 0, true};
        };
        call.variant = &by_query;
        problem longer = problem::local_capped(2, 7, 5);
        call.query = heed::as_tensor(longer.query);
        call.output = heed::as_tensor(longer.output);
        CHECK(refused() ==
              "local_capped: input 'sinks' has extent 16 in dimension 0, a call with batch = 2, q_len = 7, kv_len = 5 "
              "reads its elements -2 to 4. Fix: the last query is at the last key, so the first of more queries than "
              "keys are at negative positions. Declare 'align = top_left' or 'query_start', or index by 'q_row', which "
              "counts from 0; or pass at least 7 keys");
    }
    SUBCASE("an index that is negative anyway") {
        heed::variant_description shifted = *call.variant;
        shifted.readings.input_index = [](const heed::call_sizes &, int, int) {
            return heed::index_range{-1, 3, true};
        };
        call.variant = &shifted;
        CHECK(refused() ==
              "local_capped: input 'sinks' has extent 16 in dimension 0, a call with batch = 2, q_len = 3, kv_len = 5 "
              "reads its elements -1 to 3. Fix: change the index expression in the declaration, indices start at 0");
    }
    SUBCASE("an empty table with an index that the declaration does not bound") {
        heed::variant_description unbounded = *call.variant;
        unbounded.readings.input_index = [](const heed::call_sizes &, int, int) {
            return heed::index_range{0, 0, false};
        };
        call.variant = &unbounded;
        const std::int64_t nothing[] = {0};
        auto wrong = list;
        wrong[0].extents = nothing;
        call.inputs = wrong.data();
        CHECK(refused() ==
              "local_capped: input 'sinks' is empty in dimension 0, but a call with batch = 2, q_len = 3, "
              "kv_len = 5 reads it. Fix: pass a table with elements");
    }
}
