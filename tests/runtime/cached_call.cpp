// SPDX-License-Identifier: MIT
//
// Calls with a cache, by kernels that write down what they are called with: which kernel runs for which sequence, where
// its buffers point, what becomes of errors.

#include <heed/cached_call.hpp>
#include <heed/call.hpp>

#include <HalideRuntime.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "scratch.hpp"

namespace {

using heed::cached_sequence;
using heed::data_type;

constexpr int heads = 4, groups = 2, head_dim = 8, value_dim = 4;
constexpr std::int64_t pages = 6, page_size = 4;

struct seen_buffer {
    const void *host;
    std::vector<halide_dimension_t> dims;  ///< innermost first

    const halide_dimension_t &operator[](std::size_t i) const { return dims[i]; }
};

struct seen_call {
    std::string schedule;
    std::vector<seen_buffer> buffers;  ///< in the order of the arguments
    std::vector<std::int32_t> pages;   ///< of "cached"
    std::int32_t q_len, kv_len;

    int number() const { return buffers.front().dims.back().min; }
};

/// Orders to the kernels, and what they saw.
struct {
    std::atomic<int> fails_for{-1};            ///< the number of a sequence
    std::atomic<const char *> error{nullptr};  ///< reported by kernels that fail
    std::atomic<std::size_t> scratch{0};       ///< bytes that every kernel asks for
    std::atomic<void (*)(int sequence)> inside{nullptr};
    std::mutex lock;
    std::vector<seen_call> calls;
} fake;

struct fake_scope {
    fake_scope() { reset(); }
    ~fake_scope() { reset(); }
    static void reset() {
        fake.fails_for = -1;
        fake.error = nullptr;
        fake.scratch = 0;
        fake.inside = nullptr;
        fake.calls.clear();
    }
};

seen_buffer seen(const void *argument) {
    const auto &buffer = *static_cast<const halide_buffer_t *>(argument);
    return {buffer.host, {buffer.dim, buffer.dim + buffer.dimensions}};
}

int act(void *user_context, const seen_call &call) {
    {
        const std::lock_guard<std::mutex> guard(fake.lock);
        fake.calls.push_back(call);
    }
    if (const auto inside = fake.inside.load()) {
        inside(call.number());
    }
    if (fake.scratch != 0) {
        void *const block = halide_malloc(user_context, fake.scratch);
        if (block == nullptr) {
            return halide_error_out_of_memory(user_context);
        }
        halide_free(user_context, block);
    }
    if (fake.fails_for != call.number()) {
        return 0;
    }
    if (const char *const text = fake.error) {
        halide_error(user_context, text);
    }
    return -17;
}

/// Arguments: context, query, key, value, [scales,] pages, lengths, q_len, kv_len, output, log_sum_exp.
int attend(void **arguments, const char *schedule, int scales) {
    seen_call call{schedule, {}, {}, 0, 0};
    int next = 1;
    for (int i = 0; i < 3 + scales; ++i) {
        call.buffers.push_back(seen(arguments[next++]));
    }
    const auto &list = *static_cast<const halide_buffer_t *>(arguments[next++]);
    const auto *const first = reinterpret_cast<const std::int32_t *>(list.host);
    call.pages.assign(first, first + list.dim[0].extent);
    ++next;
    call.q_len = *static_cast<const std::int32_t *>(arguments[next++]);
    call.kv_len = *static_cast<const std::int32_t *>(arguments[next++]);
    call.buffers.push_back(seen(arguments[next++]));
    call.buffers.push_back(seen(arguments[next++]));
    const auto &log_sum_exp = *static_cast<const halide_buffer_t *>(arguments[next - 1]);
    // Memory of the call's own, if nobody asked for it.
    for (int i = 0; i < log_sum_exp.dim[0].extent; ++i) {
        for (int row = 0; row < log_sum_exp.dim[1].extent; ++row) {
            for (int group = 0; group < log_sum_exp.dim[2].extent; ++group) {
                reinterpret_cast<float *>(
                    log_sum_exp.host)[i * log_sum_exp.dim[0].stride + row * log_sum_exp.dim[1].stride +
                                      group * log_sum_exp.dim[2].stride] = static_cast<float>(call.number());
            }
        }
    }
    return act(*static_cast<void **>(arguments[0]), call);
}

/// Arguments: context, key and value rows, lengths, q_len, kv_len, key, value[, scales].
int store(void **arguments, int scales) {
    seen_call call{"rows", {seen(arguments[1]), seen(arguments[2])}, {}, 0, 0};
    call.q_len = *static_cast<const std::int32_t *>(arguments[4]);
    call.kv_len = *static_cast<const std::int32_t *>(arguments[5]);
    for (int i = 0; i < 2 + scales; ++i) {
        call.buffers.push_back(seen(arguments[6 + i]));
    }
    return act(*static_cast<void **>(arguments[0]), call);
}

int decode(void **arguments) { return attend(arguments, "decode", 0); }
int prefill(void **arguments) { return attend(arguments, "prefill", 0); }
int rows(void **arguments) { return store(arguments, 0); }
int decode_i8(void **arguments) { return attend(arguments, "decode", 2); }
int rows_i8(void **arguments) { return store(arguments, 2); }

constexpr heed::tensor_types in_i8{data_type::f32, data_type::i8, data_type::i8, data_type::f32};

constexpr heed::kernel_description kernels[] = {
    {"paged_append_rows_f32_x86_64", "append", "rows", "x86_64", data_type::f32, 1, 1, 1, rows},
    {"paged_cached_decode_f32_x86_64", "cached", "decode", "x86_64", data_type::f32, 8, 8, 1, decode, nullptr, 0,
     nullptr, 2},
    {"paged_cached_prefill_f32_x86_64", "cached", "prefill", "x86_64", data_type::f32, 8, 8, 1, prefill},
    {"paged_append_rows_i8_x86_64", "append", "rows", "x86_64", in_i8, 1, 1, 1, rows_i8},
    {"paged_cached_decode_i8_x86_64", "cached", "decode", "x86_64", in_i8, 8, 8, 1, decode_i8}};

constexpr heed::input_description input{"lengths", data_type::i32, 1};

heed::index_range input_index(const heed::call_sizes &sizes, int, int) { return {0, sizes.batch - 1, true}; }

/// Causal, with a window of four keys.
heed::tile_class classify(const heed::call_sizes &sizes, const heed::tile_bounds &tile, const heed::input_reader &) {
    const std::int64_t first_position = sizes.kv_len - sizes.q_len + tile.first_row;
    const bool is_behind = tile.first_key + tile.key_count - 1 <= first_position - 4;
    const bool is_ahead = tile.first_key > first_position + tile.row_count - 1;
    return is_behind || is_ahead ? heed::tile_class::empty : heed::tile_class::mixed;
}

const heed::variant_description variant{"paged",  "causal, in a window",
                                        heads,    groups,
                                        head_dim, value_dim,
                                        0.5,      &input,
                                        1,        kernels,
                                        5,        {nullptr, nullptr, nullptr, nullptr, input_index, classify}};

/// A dense tensor whose extents a test may change; those of `memory` are what is allocated.
template <typename T>
struct dense {
    std::vector<std::int64_t> extents, strides;
    std::vector<T> memory;
    T *data;

    explicit dense(std::vector<std::int64_t> made) : extents(std::move(made)) {
        strides.assign(extents.size(), 1);
        for (std::size_t i = extents.size() - 1; i > 0; --i) {
            strides[i - 1] = strides[i] * extents[i];
        }
        memory.resize(static_cast<std::size_t>(strides[0] * extents[0]));
        data = memory.data();
    }
    heed::output_tensor view(data_type type) {
        return {data, type, static_cast<int>(extents.size()), extents.data(), strides.data()};
    }
    heed::tensor read(data_type type = data_type::f32) {
        return {data, type, static_cast<int>(extents.size()), extents.data(), strides.data()};
    }
    const T *at(std::vector<std::int64_t> place) const {
        const T *found = data;
        for (std::size_t i = 0; i < place.size(); ++i) {
            found += place[i] * strides[i];
        }
        return found;
    }
};

/// Tensors and sequences of one call, either of run or of append.
template <typename Element = float>
struct call_of {
    dense<float> query, key, value, output, log_sum_exp;
    dense<Element> cache_key{{pages, groups, page_size, head_dim}}, cache_value{{pages, groups, page_size, value_dim}};
    dense<float> key_scale{{pages, groups, page_size}}, value_scale{{pages, groups, page_size}};
    dense<std::int32_t> lengths;
    std::vector<std::vector<std::int32_t>> lists;
    std::vector<cached_sequence> sequences;
    heed::tensor input;
    heed::cached_arguments arguments;

    struct sizes {
        std::int64_t length, new_tokens;
    };

    call_of(const std::vector<sizes> &of, std::int64_t tokens, int threads = 1)
        : query({1, heads, tokens, head_dim}),
          key({1, groups, tokens, head_dim}),
          value({1, groups, tokens, value_dim}),
          output({1, heads, tokens, value_dim}),
          log_sum_exp({1, heads, tokens}),
          lengths({std::max<std::int64_t>(static_cast<std::int64_t>(of.size()), 1)}) {
        // Pages in some order, each used once if there are enough.
        std::int32_t next = 1;
        for (const sizes &each : of) {
            lists.emplace_back();
            for (std::int64_t first = 0; first < each.length; first += page_size) {
                lists.back().push_back(next);
                next = static_cast<std::int32_t>((next + 1) % pages);
            }
            sequences.push_back({each.new_tokens, each.length, lists.back().data()});
        }
        input = lengths.read(data_type::i32);
        arguments.variant = &variant;
        arguments.inputs = &input;
        arguments.input_count = 1;
        arguments.sequences = sequences.data();
        arguments.sequence_count = static_cast<std::int64_t>(sequences.size());
        constexpr data_type type = sizeof(Element) == 1 ? data_type::i8 : data_type::f32;
        arguments.cache = {cache_key.view(type), cache_value.view(type), {}, {}};
        if (type == data_type::i8) {
            arguments.cache.key_scale = key_scale.view(data_type::f32);
            arguments.cache.value_scale = value_scale.view(data_type::f32);
        }
        arguments.threads = threads;
        arguments.isa = "x86_64";
    }

    void run() { heed::attend(for_run()); }
    void append() { heed::append(for_append()); }

    heed::cached_arguments &for_run() {
        arguments.query = query.read();
        arguments.output = output.view(data_type::f32);
        arguments.log_sum_exp = log_sum_exp.view(data_type::f32);
        return arguments;
    }
    heed::cached_arguments &for_append() {
        arguments.key = key.read();
        arguments.value = value.read();
        return arguments;
    }
};

bool same(const halide_dimension_t &dim, std::int64_t min, std::int64_t extent, std::int64_t stride) {
    return dim.min == min && dim.extent == extent && (extent == 1 || dim.stride == stride);
}

std::vector<int> numbers() {
    std::vector<int> all;
    for (const seen_call &call : fake.calls) {
        all.push_back(call.number());
    }
    return all;
}

}  // namespace

TEST_CASE("a kernel for each sequence with new tokens, the longest first") {
    const fake_scope scope;
    call_of<> of({{10, 1}, {3, 0}, {5, 5}, {20, 2}, {1, 1}, {10, 1}, {0, 0}, {20, 3}}, 13);
    of.run();
    // 60 pairs, 40, 25, then equal ones as they are given.
    CHECK(numbers() == std::vector<int>{7, 3, 2, 0, 5, 4});
    const std::int64_t first_rows[] = {0, 1, 1, 6, 8, 9, 10, 10};
    for (const seen_call &call : fake.calls) {
        const auto number = static_cast<std::size_t>(call.number());
        const cached_sequence &sequence = of.sequences[number];
        const std::int64_t count = sequence.new_tokens, row = first_rows[number];
        CAPTURE(number);
        CHECK(call.schedule == (count <= 2 ? "decode" : "prefill"));
        CHECK(call.q_len == count);
        CHECK(call.kv_len == sequence.length);
        CHECK(call.pages == of.lists[number]);
        REQUIRE(call.buffers.size() == 5);
        const seen_buffer &query = call.buffers[0], &key = call.buffers[1], &value = call.buffers[2],
                          &output = call.buffers[3], &log_sum_exp = call.buffers[4];
        CHECK(query.host == of.query.at({0, 0, row, 0}));
        CHECK(output.host == of.output.at({0, 0, row, 0}));
        CHECK(log_sum_exp.host == of.log_sum_exp.at({0, 0, row}));
        CHECK(same(query[0], 0, head_dim, 1));
        CHECK(same(output[0], 0, value_dim, 1));
        const std::int64_t tokens = 13;
        for (const auto &[rows_of, size, head] :
             {std::tuple(&query, head_dim, 1), {&output, value_dim, 1}, {&log_sum_exp, 1, 0}}) {
            const auto first = static_cast<std::size_t>(head);
            CHECK(same((*rows_of)[first], 0, 2, tokens * size));
            CHECK(same((*rows_of)[first + 1], 0, count, size));
            CHECK(same((*rows_of)[first + 2], 0, groups, 2 * tokens * size));
            CHECK(same((*rows_of)[first + 3], call.number(), 1, 0));
        }
        CHECK(key.host == of.cache_key.data);
        CHECK(value.host == of.cache_value.data);
        for (const auto &[part, size] : {std::pair(&key, head_dim), {&value, value_dim}}) {
            // Elements count through all pages.
            const std::int64_t last_page = (pages - 1) * groups * page_size * size;
            CHECK(same((*part)[0], 0, last_page + page_size * size, 1));
            CHECK(same((*part)[1], 0, page_size, size));
            CHECK(same((*part)[2], 0, groups, page_size * size));
            CHECK(same((*part)[3], 0, pages, groups * page_size * size));
        }
    }
    for (std::int64_t row = 0; row < 13; ++row) {
        const int owner = row < 1 ? 0 : row < 6 ? 2 : row < 8 ? 3 : row < 9 ? 4 : row < 10 ? 5 : 7;
        CHECK(*of.log_sum_exp.at({0, 3, row}) == static_cast<float>(owner));
    }
}

TEST_CASE("a schedule that is asked for serves all sequences") {
    const fake_scope scope;
    call_of<> of({{10, 1}, {9, 9}}, 10);
    for (const char *const schedule : {"decode", "prefill"}) {
        fake.calls.clear();
        of.arguments.schedule = schedule;
        of.run();
        REQUIRE(fake.calls.size() == 2);
        CHECK(fake.calls[0].schedule == schedule);
        CHECK(fake.calls[1].schedule == schedule);
    }
}

TEST_CASE("log_sum_exp that nobody asked for has memory of its own") {
    const fake_scope scope;
    call_of<> of({{10, 1}, {9, 9}}, 10);
    of.for_run().log_sum_exp = {};
    heed::attend(of.arguments);
    REQUIRE(fake.calls.size() == 2);
    for (const seen_call &call : fake.calls) {
        const seen_buffer &log_sum_exp = call.buffers[4];
        CHECK(log_sum_exp.host != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(log_sum_exp.host) % heed::detail::scratch_alignment == 0);
        CHECK(same(log_sum_exp[0], 0, 2, call.q_len));
        CHECK(same(log_sum_exp[1], 0, call.q_len, 1));
        CHECK(same(log_sum_exp[2], 0, groups, 2 * call.q_len));
        CHECK(same(log_sum_exp[3], call.number(), 1, 0));
    }
    for (const float untouched : of.log_sum_exp.memory) {
        CHECK(untouched == 0);
    }
}

TEST_CASE("new tokens are stored page by page") {
    const fake_scope scope;
    // Tokens 5 to 9, none, 3, 0 to 4 of pages 1 2 3, 4, 5, 0 1.
    call_of<> of({{10, 5}, {1, 0}, {4, 1}}, 6);
    of.append();
    const struct {
        int number;
        std::int64_t token, count, row, page;
    } expected[] = {{0, 5, 3, 0, 2}, {0, 8, 2, 3, 3}, {2, 3, 1, 5, 5}};
    REQUIRE(fake.calls.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const seen_call &call = fake.calls[i];
        const auto &[number, token, count, row, page] = expected[i];
        CAPTURE(i);
        CHECK(call.q_len == of.sequences[static_cast<std::size_t>(number)].new_tokens);
        CHECK(call.kv_len == of.sequences[static_cast<std::size_t>(number)].length);
        REQUIRE(call.buffers.size() == 4);
        CHECK(call.buffers[0].host == of.key.at({0, 0, row, 0}));
        CHECK(call.buffers[1].host == of.value.at({0, 0, row, 0}));
        CHECK(call.buffers[2].host == of.cache_key.at({page, 0, token % page_size, 0}));
        CHECK(call.buffers[3].host == of.cache_value.at({page, 0, token % page_size, 0}));
        for (std::size_t b = 0; b < 4; ++b) {
            const std::int64_t size = b % 2 == 0 ? head_dim : value_dim;
            CHECK(same(call.buffers[b][0], 0, size, 1));
            CHECK(same(call.buffers[b][1], token, count, size));
            CHECK(same(call.buffers[b][2], 0, groups, (b < 2 ? 6 : page_size) * size));
            CHECK(same(call.buffers[b][3], number, 1, 0));
        }
    }
}

TEST_CASE("elements of i8 are stored and read with their scales") {
    const fake_scope scope;
    call_of<std::int8_t> of({{10, 1}}, 1);
    of.append();
    REQUIRE(fake.calls.size() == 1);
    REQUIRE(fake.calls[0].buffers.size() == 6);
    CHECK(fake.calls[0].buffers[2].host == of.cache_key.at({3, 0, 1, 0}));
    CHECK(fake.calls[0].buffers[4].host == of.key_scale.at({3, 0, 1}));
    CHECK(fake.calls[0].buffers[5].host == of.value_scale.at({3, 0, 1}));
    CHECK(same(fake.calls[0].buffers[4][0], 9, 1, 1));
    CHECK(same(fake.calls[0].buffers[4][1], 0, groups, page_size));
    fake.calls.clear();
    call_of<std::int8_t> reading({{10, 1}}, 1);
    reading.run();
    REQUIRE(fake.calls.size() == 1);
    REQUIRE(fake.calls[0].buffers.size() == 7);
    CHECK(fake.calls[0].buffers[3].host == reading.key_scale.data);
    CHECK(fake.calls[0].buffers[4].host == reading.value_scale.data);
    CHECK(same(fake.calls[0].buffers[3][0], 0, page_size, 1));
    CHECK(same(fake.calls[0].buffers[3][1], 0, groups, page_size));
    CHECK(same(fake.calls[0].buffers[3][2], 0, pages, groups * page_size));
}

TEST_CASE("tensors in which the tokens of all heads lie together") {
    const fake_scope scope;
    call_of<> of({{3, 3}, {5, 2}}, 5);
    const auto token_major = [](dense<float> &tensor) {
        const std::int64_t size = tensor.extents[3], rows = tensor.extents[1];
        tensor.strides = {tensor.strides[0], size, rows * size, 1};
    };
    for (dense<float> *tensor : {&of.query, &of.output, &of.key, &of.value, &of.cache_key}) {
        token_major(*tensor);
    }
    of.arguments.cache.key = of.cache_key.view(data_type::f32);
    of.append();
    for (const seen_call &call : fake.calls) {
        CHECK(call.buffers[0].host == of.key.at({0, 0, call.number() == 0 ? 0 : call.buffers[0][1].min, 0}));
        CHECK(same(call.buffers[0][2], 0, groups, head_dim));
        CHECK(same(call.buffers[2][2], 0, groups, head_dim));
    }
    fake.calls.clear();
    of.arguments.key = of.arguments.value = {};
    of.run();
    REQUIRE(fake.calls.size() == 2);
    for (const seen_call &call : fake.calls) {
        CHECK(call.buffers[0].host == of.query.at({0, 0, call.number() == 0 ? 0 : 3, 0}));
        CHECK(same(call.buffers[0][1], 0, 2, head_dim));
        CHECK(same(call.buffers[0][2], 0, call.q_len, heads * head_dim));
        CHECK(same(call.buffers[0][3], 0, groups, 2 * head_dim));
        CHECK(same(call.buffers[1][1], 0, page_size, groups * head_dim));
        CHECK(same(call.buffers[1][2], 0, groups, head_dim));
    }
}

TEST_CASE("hidden tokens without a page get one that there is, in lists of the call's own") {
    const fake_scope scope;
    call_of<> of({{20, 1}, {7, 1}, {24, 2}}, 4);
    of.lists[0] = {-1, -1, -1, 5, 2};
    of.lists[2] = {4, -1, 3, -1, 1, 0};
    of.run();
    REQUIRE(fake.calls.size() == 3);
    CHECK(fake.calls[0].pages == std::vector<std::int32_t>{4, 4, 3, 4, 1, 0});
    CHECK(fake.calls[1].pages == std::vector<std::int32_t>{5, 5, 5, 5, 2});
    CHECK(fake.calls[2].pages == of.lists[1]);
    CHECK(of.lists[0] == std::vector<std::int32_t>{-1, -1, -1, 5, 2});
    // Append writes into the last pages and does not ask for the others.
    fake.calls.clear();
    call_of<> storing({{20, 1}}, 1);
    storing.lists[0] = {-1, -1, -1, -1, 2};
    storing.append();
    REQUIRE(fake.calls.size() == 1);
    CHECK(fake.calls[0].buffers[2].host == storing.cache_key.at({2, 0, 3, 0}));
}

TEST_CASE("calls without new tokens run nothing") {
    const fake_scope scope;
    for (const std::vector<call_of<>::sizes> &none : {std::vector<call_of<>::sizes>{}, {{8, 0}, {0, 0}}}) {
        call_of<> of(none, 0);
        of.run();
        call_of<> storing(none, 0);
        storing.append();
    }
    CHECK(fake.calls.empty());
}

TEST_CASE("an error of one sequence reaches the caller once, and the next call works") {
    const fake_scope scope;
    for (const int threads : {1, 2, 4}) {
        call_of<> of(std::vector<call_of<>::sizes>(12, {200, 100}), 1200, threads);
        for (const char *const text : {static_cast<const char *>(nullptr), "the page is on fire\n"}) {
            CAPTURE(threads);
            fake.calls.clear();
            fake.fails_for = 2;
            fake.error = text;
            const std::string expected = "paged: kernel paged_cached_prefill_f32_x86_64 failed: " +
                                         std::string(text == nullptr ? "it returned -17" : "the page is on fire");
            std::string thrown = "nothing was thrown";
            try {
                of.run();
            } catch (const heed::kernel_error &error) {
                thrown = error.what();
            }
            CHECK(thrown == expected);
            const heed::status status = heed::try_attend(of.arguments);
            CHECK(status.code() == heed::status_code::kernel_failed);
            CHECK(status.message() == expected);
            if (threads == 1) {
                // Twice; the sequences behind are not begun.
                CHECK(numbers() == std::vector<int>{0, 1, 2, 0, 1, 2});
            }
            fake.fails_for = -1;
            fake.calls.clear();
            of.run();
            CHECK(fake.calls.size() == 12);
        }
    }
    call_of<> storing({{5, 5}, {3, 3}}, 8);
    fake.fails_for = 1;
    fake.error = nullptr;
    CHECK(heed::try_append(storing.for_append()).message() ==
          "paged: kernel paged_append_rows_f32_x86_64 failed: it returned -17");
}

TEST_CASE("all sequences fail at the same time, some without a text") {
    const fake_scope scope;
    call_of<> of(std::vector<call_of<>::sizes>(12, {200, 100}), 1200, 4);
    fake.inside = [](int number) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        fake.fails_for = number;
        fake.error = number % 2 == 0 ? nullptr : "no";
    };
    for (int round = 0; round < 20; ++round) {
        CHECK(heed::try_attend(of.for_run()).code() == heed::status_code::kernel_failed);
    }
}

TEST_CASE("no memory for a kernel on a cache") {
    const fake_scope scope;
    fake.scratch = std::size_t{1} << 60;
    for (const int threads : {1, 4}) {
        call_of<> of(std::vector<call_of<>::sizes>(4, {200, 100}), 400, threads);
        const heed::status status = heed::try_attend(of.for_run());
        CHECK(status.code() == heed::status_code::out_of_memory);
        CHECK(status.message() ==
              "paged: no memory for 1152921504606846976 bytes of scratch space in kernel "
              "paged_cached_prefill_f32_x86_64");
        CHECK_THROWS_AS(of.run(), heed::out_of_memory_error);
    }
    call_of<> storing({{5, 5}}, 5);
    CHECK_THROWS_AS(storing.append(), heed::out_of_memory_error);
}

TEST_CASE("the number of threads of a call with a cache") {
    const fake_scope scope;
    static std::mutex lock;
    static std::set<std::thread::id> threads_seen;
    fake.inside = [](int) {
        {
            const std::lock_guard<std::mutex> guard(lock);
            threads_seen.insert(std::this_thread::get_id());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    const auto threads_of = [&](const auto &call) {
        threads_seen.clear();
        call();
        return threads_seen.size();
    };
    for (const int threads : {1, 2, 3}) {
        call_of<> of(std::vector<call_of<>::sizes>(12, {200, 100}), 1200, threads);
        CHECK(threads_of([&] { of.run(); }) == static_cast<std::size_t>(threads));
        // More would wake up later than one is done.
        call_of<> small(std::vector<call_of<>::sizes>(12, {4, 1}), 12, threads);
        CHECK(threads_of([&] { small.run(); }) == 1);
        call_of<> storing({{4, 4}, {8, 8}, {4, 4}}, 16, threads);
        CHECK(threads_of([&] { storing.append(); }) == 1);
    }
    call_of<> of({{4, 1}}, 1, 5000);
    CHECK(heed::try_attend(of.for_run()).code() == heed::status_code::invalid_argument);
}

namespace {

/// Runs, or appends to, a call that `spoil` has changed; returns the message.
template <typename Spoil>
std::string refused(bool appends, const Spoil &spoil) {
    fake.calls.clear();
    call_of<> of({{10, 2}, {5, 1}}, 3);
    heed::cached_arguments &arguments = appends ? of.for_append() : of.for_run();
    spoil(of, arguments);
    const heed::status status = appends ? heed::try_append(arguments) : heed::try_attend(arguments);
    CHECK(status.code() == heed::status_code::invalid_argument);
    std::string thrown = "nothing was thrown";
    try {
        appends ? heed::append(arguments) : heed::attend(arguments);
    } catch (const heed::invalid_argument_error &error) {
        thrown = error.what();
    }
    CHECK(thrown == status.message());
    CHECK(fake.calls.empty());
    return status.message();
}

using call = call_of<>;
using heed::cached_arguments;

}  // namespace

TEST_CASE("calls with a cache that must be refused: rows") {
    const fake_scope scope;
    const auto nothing = [](call &, cached_arguments &a) { a.variant = nullptr; };
    CHECK(refused(false, nothing) == "heed: the call has no variant. Fix: pass one of a library's variants");
    CHECK(refused(true, nothing) == "heed: the call has no variant. Fix: pass one of a library's variants");
    CHECK(refused(false, [](call &, cached_arguments &a) { a.query = {}; }) ==
          "paged: query is missing, it must be a tensor (1, heads, tokens, head_dim). Fix: pass it");
    CHECK(refused(true, [](call &, cached_arguments &a) { a.value = {}; }) ==
          "paged: value is missing, it must be a tensor (1, groups, tokens, value_dim). Fix: pass it");
    CHECK(refused(true, [](call &of, cached_arguments &) { of.key.extents[0] = 2; }) ==
          "paged: key has batch 2, it must be 1: the tokens of all sequences stand one behind another in dimension 2. "
          "Extents (2, 2, 3, 8). Fix: pass all rows as one batch element");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.query.extents[1] = 3; }) ==
          "paged: query has 3 heads, the kernel was compiled for heads = 4. Heads are dimension 1 of the extents, (1, "
          "3, 3, 8). Fix: pass that many, or declare heads = 3_c");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.output.extents[3] = 3; }) ==
          "paged: output has value_dim 3, the kernel was compiled for value_dim = 4. value_dim is the last of the "
          "extents, (1, 4, 3, 3). Fix: pass that many, or declare value_dim = 3_c");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.query.strides[3] = 2; }) ==
          "paged: query has stride 2 in its last dimension (head_dim), it must be 1: kernels move whole vectors of it. "
          "Fix: pass a copy whose last dimension is contiguous");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.query.strides[1] = 1 << 30; }) ==
          "paged: query spans more than 2147483647 elements, kernels count them in 32 bits. Extents (1, 4, 3, 8), "
          "strides (96, 1073741824, 8, 1). Fix: spread sequences over several calls, and over several caches");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.output.extents[2] = 2; }) ==
          "paged: output has tokens 2, query has tokens 3: they must agree. Extents: output (1, 4, 2, 4), query (1, 4, "
          "3, 8). Fix: pass tensors of one call");
    CHECK(refused(true, [](call &of, cached_arguments &) { of.value.extents[2] = 2; }) ==
          "paged: value has tokens 2, key has tokens 3: they must agree. Extents: value (1, 2, 2, 4), key (1, 2, 3, "
          "8). Fix: pass tensors of one call");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.log_sum_exp.extents[2] = 2; }) ==
          "paged: log_sum_exp has tokens 2, query has tokens 3: they must agree. Extents: log_sum_exp (1, 4, 2), query "
          "(1, 4, 3, 8). Fix: pass tensors of one call");
    CHECK(
        refused(false, [](call &of, cached_arguments &) { of.log_sum_exp.extents[1] = 2; }) ==
        "paged: log_sum_exp has 2 heads, the kernel was compiled for heads = 4. Heads are dimension 1 of the extents, "
        "(1, 2, 3). Fix: pass that many, or declare heads = 2_c");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.log_sum_exp.extents[0] = 2; }) ==
          "paged: log_sum_exp has batch 2, query has batch 1: they must agree. Extents: log_sum_exp (2, 4, 3), query "
          "(1, 4, 3, 8). Fix: pass tensors of one call");
    CHECK(refused(false, [](call &of, cached_arguments &) { of.log_sum_exp.strides[1] = 1 << 30; }) ==
          "paged: log_sum_exp spans more than 2147483647 elements, kernels count them in 32 bits. Extents (1, 4, 3), "
          "strides (12, 1073741824, 1). Fix: spread sequences over several calls, and over several caches");
    CHECK(refused(false, [](call &of, cached_arguments &a) { a.key = of.key.read(); }) ==
          "paged: key or value is given, but attention reads them from the cache. Fix: leave them out, and store new "
          "tokens by heed::append before");
    CHECK(refused(true, [](call &of, cached_arguments &a) { a.output = of.output.view(data_type::f32); }) ==
          "paged: query, output or log_sum_exp is given, but append only stores keys and values. Fix: leave them out, "
          "and call heed::attend with them afterwards");
    static heed::variant_description without_sum = variant;
    without_sum.readings.weight_of_score = [](const heed::call_sizes &, const heed::pair_position &, double score,
                                              const heed::input_reader &) { return score; };
    CHECK(refused(false, [](call &, cached_arguments &a) { a.variant = &without_sum; }) ==
          "paged: log_sum_exp is given, but the variant's weights are a formula of the score, not a softmax: there is "
          "no sum to take the logarithm of. Fix: leave log_sum_exp out");
}

TEST_CASE("calls with a cache that must be refused: the cache") {
    const fake_scope scope;
    for (const bool appends : {false, true}) {
        CHECK(refused(appends, [](call &, cached_arguments &a) { a.cache.key = {}; }) ==
              "paged: the cache's key is missing, it must be a tensor (pages, groups, page_size, head_dim). Fix: pass "
              "it");
        CHECK(
            refused(appends, [](call &of, cached_arguments &) { of.cache_value.extents[0] = 5; }) ==
            "paged: the cache's value has pages 5, the cache's key has pages 6: they must agree. Extents: the cache's "
            "value (5, 2, 4, 4), the cache's key (6, 2, 4, 8). Fix: pass tensors of one call");
        CHECK(
            refused(appends, [](call &of, cached_arguments &) { of.cache_value.extents[2] = 3; }) ==
            "paged: the cache's value has page_size 3, the cache's key has page_size 4: they must agree. Extents: the "
            "cache's value (6, 2, 3, 4), the cache's key (6, 2, 4, 8). Fix: pass tensors of one call");
        CHECK(refused(appends, [](call &of, cached_arguments &) {
                  of.cache_key.extents[2] = of.cache_value.extents[2] = 0;
              }) == "paged: the cache has page_size 0, a page holds at least one token. Fix: pass pages with tokens");
        CHECK(
            refused(appends, [](call &of, cached_arguments &) { of.cache_key.extents[1] = 1; }) ==
            "paged: the cache's key has 1 heads, the kernel was compiled for groups = 2. Heads are dimension 1 of the "
            "extents, (6, 1, 4, 8). Fix: pass that many, or declare groups = 1_c");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.cache_key.strides[3] = 2; }) ==
              "paged: the cache's key has stride 2 in its last dimension (head_dim), it must be 1: kernels move whole "
              "vectors of it. Fix: pass a copy whose last dimension is contiguous");
        CHECK(
            refused(appends, [](call &of, cached_arguments &) { of.cache_key.strides[0] = 1 << 30; }) ==
            "paged: the cache's key spans more than 2147483647 elements, kernels count them in 32 bits. Extents (6, 2, "
            "4, 8), strides (1073741824, 32, 8, 1). Fix: spread sequences over several calls, and over several "
            "caches");
        CHECK(refused(appends, [](call &of, cached_arguments &a) {
                  a.cache.key_scale = of.key_scale.view(data_type::f32);
              }) == "paged: key_scale is given, but the cache's key holds f32: only i8 has a scale. Fix: leave it out");
    }
    call_of<std::int8_t> of({{10, 1}}, 1);
    const auto message = [&] { return heed::try_attend(of.for_run()).message(); };
    of.value_scale.extents[2] = 3;
    CHECK(
        message() ==
        "paged: value_scale has page_size 3, the cache's value has page_size 4: they must agree. Extents: value_scale "
        "(6, 2, 3), the cache's value (6, 2, 4, 4). Fix: pass tensors of one call");
    of.value_scale.extents = {6, 1, 4};
    CHECK(message() ==
          "paged: value_scale has groups 1, the cache's value has groups 2: they must agree. Extents: value_scale (6, "
          "1, 4), the cache's value (6, 2, 4, 4). Fix: pass tensors of one call");
    of.key_scale.extents[0] = 5;
    CHECK(message() ==
          "paged: key_scale has pages 5, the cache's key has pages 6: they must agree. Extents: key_scale (5, 2, 4), "
          "the cache's key (6, 2, 4, 8). Fix: pass tensors of one call");
    of.key_scale.extents[0] = 6;
    of.key_scale.strides[0] = 1 << 30;
    CHECK(message() ==
          "paged: key_scale spans more than 2147483647 elements, kernels count them in 32 bits. Extents (6, 2, 4), "
          "strides (1073741824, 4, 1). Fix: spread sequences over several calls, and over several caches");
    of.arguments.cache.key_scale = {};
    CHECK(message() == "paged: key_scale is missing, it must be a tensor (pages, groups, page_size). Fix: pass it");
    CHECK(fake.calls.empty());
}

TEST_CASE("calls with a cache that must be refused: sequences and inputs") {
    const fake_scope scope;
    for (const bool appends : {false, true}) {
        const std::string rows_name = appends ? "key" : "query";
        CHECK(refused(appends, [](call &, cached_arguments &a) { a.sequence_count = -1; }) ==
              "paged: the call has -1 sequences, their number is between 0 and 2147483647. Fix: pass the length of the "
              "list");
        CHECK(refused(appends, [](call &, cached_arguments &a) { a.sequences = nullptr; }) ==
              "paged: the call has 2 sequences, but the list of them is a null pointer. Fix: pass the list, or no "
              "sequences");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.sequences[1].new_tokens = -1; }) ==
              "paged: sequence 1 has -1 new tokens and length 5: the length counts the new tokens too, and is at most "
              "1073741824. Fix: pass the length behind the new tokens");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.sequences[0].length = 1; }) ==
              "paged: sequence 0 has 2 new tokens and length 1: the length counts the new tokens too, and is at most "
              "1073741824. Fix: pass the length behind the new tokens");
        CHECK(
            refused(appends, [](call &of, cached_arguments &) { of.sequences[0].length = 1LL << 31; }) ==
            "paged: sequence 0 has 2 new tokens and length 2147483648: the length counts the new tokens too, and is at "
            "most 1073741824. Fix: pass the length behind the new tokens");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.sequences[1].new_tokens = 2; }) ==
              "paged: the sequences have more new tokens than " + rows_name +
                  " has rows, 3: sequence 1 has 2, those before it 2. Fix: pass one row for each new token");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.sequences[0].new_tokens = 1; }) ==
              "paged: " + rows_name +
                  " has 3 rows, the sequences have 2 new tokens in all: they must agree. Extents of " + rows_name +
                  (appends ? " (1, 2, 3, 8)" : " (1, 4, 3, 8)") + ". Fix: pass one row for each new token");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.sequences[1].pages = nullptr; }) ==
              "paged: sequence 1 has length 5, but its list of pages is a null pointer. Fix: pass a page for each "
              "page_size tokens");
        CHECK(refused(appends, [](call &of, cached_arguments &) { of.lists[0][2] = 6; }) ==
              "paged: sequence 0 has page 6 for its tokens 8 to 9, the cache has pages 0 to 5. Fix: pass the list that "
              "belongs to this cache");
        // Append looks at the pages that it writes.
        if (!appends) {
            CHECK(refused(appends, [](call &of, cached_arguments &) { of.lists[0][0] = -2; }) ==
                  "paged: sequence 0 has page -2 for its tokens 0 to 3, the cache has pages 0 to 5. Fix: pass the list "
                  "that belongs to this cache");
        }
        CHECK(
            refused(appends, [](call &, cached_arguments &a) { a.input_count = 0; }) ==
            "paged: the call passes 0 inputs, the variant declares 1. Fix: pass them in the order of the declaration");
        CHECK(refused(appends, [](call &, cached_arguments &a) { a.inputs = nullptr; }) ==
              "paged: the call passes 1 inputs, but the list of them is a null pointer. Fix: pass the list");
        // The number of the sequence is the index.
        CHECK(
            refused(appends, [](call &of, cached_arguments &) { of.lengths.extents[0] = 1; }) ==
            std::string("paged: input 'lengths' has extent 1 in dimension 0, a call with batch = 2, q_len = 2, kv_len "
                        "= 10 reads its elements 0 to 1. Fix: pass at least 2 there"));
    }
    static heed::variant_description by_key = variant;
    by_key.readings.input_index = [](const heed::call_sizes &sizes, int, int) {
        return heed::index_range{0, sizes.kv_len - 1, true};
    };
    CHECK(
        refused(false,
                [](call &of, cached_arguments &a) {
                    a.variant = &by_key;
                    of.lengths.extents[0] = 12;
                    of.sequences[1].length = 13;
                }) ==
        "paged: input 'lengths' has extent 12 in dimension 0, a call with batch = 2, q_len = 1, kv_len = 13 reads its "
        "elements 0 to 12. Fix: pass at least 13 there");
    CHECK(refused(true, [](call &of, cached_arguments &) { of.lists[0][2] = -1; }) ==
          "paged: sequence 0 has page -1 for its tokens 8 to 9, the cache has pages 0 to 5. Fix: give tokens that are "
          "written a page");
    const auto twice = [](int page, int first, int second) {
        return "paged: page " + std::to_string(page) + " would get new tokens of sequence " + std::to_string(first) +
               " and of sequence " + std::to_string(second) +
               ": a page that is shared, or occurs twice, cannot be written. Fix: give each a page of its own";
    };
    CHECK(refused(true, [](call &of, cached_arguments &) { of.lists[1][1] = of.lists[0][2]; }) == twice(3, 0, 1));
    // Tokens 7 and 8 are in two pages, of which the first holds others, too.
    CHECK(refused(true, [](call &of, cached_arguments &) {
              of.sequences[0].length = 9;
              of.lists[1][1] = of.lists[0][1];
          }) == twice(2, 0, 1));
    CHECK(refused(true, [](call &of, cached_arguments &) {
              of.sequences[0].length = 9;
              of.lists[0][2] = of.lists[0][1];
          }) == twice(2, 0, 0));
    const auto no_page = [](int tokens, int last) {
        return "paged: sequence 0 has no page for its tokens " + std::to_string(tokens) + " to " +
               std::to_string(last) +
               ", but the mask of the declaration may let its new tokens see them. Fix: keep them in the cache, or "
               "declare a mask, such as sliding_window, that hides them";
    };
    CHECK(refused(false, [](call &of, cached_arguments &) { of.lists[0][1] = -1; }) == no_page(4, 7));
    CHECK(refused(false, [](call &of, cached_arguments &) { of.lists[0][0] = of.lists[0][1] = -1; }) == no_page(0, 7));
    // Behind a page that nobody sees.
    CHECK(refused(false, [](call &of, cached_arguments &) { of.lists[0][0] = of.lists[0][2] = -1; }) == no_page(8, 9));
    // The last key of a page alone is seen, by the first query.
    CHECK(refused(false, [](call &of, cached_arguments &) {
              of.sequences[0].length = 12;
              of.lists[0][1] = -1;
          }) == no_page(4, 7));
    // The last query alone sees the page.
    CHECK(refused(false, [](call &of, cached_arguments &) {
              of.sequences[0].length = 9;
              of.lists[0][2] = -1;
          }) == no_page(8, 8));
    CHECK(refused(false,
                  [](call &of, cached_arguments &) {
                      of.cache_key.extents[0] = of.cache_value.extents[0] = 0;
                      of.sequences[1].new_tokens = 0;
                      of.sequences[0].new_tokens = 3;
                  }) ==
          "paged: sequence 0 has page 1 for its tokens 0 to 3, but the cache has no pages. Fix: pass the tensors of "
          "the cache that the list belongs to");
}

TEST_CASE("calls with a cache that must be refused: shared memory") {
    const fake_scope scope;
    const auto overlap = [](const std::string &name, const std::string &other) {
        return "paged: " + name + " and " + other + " overlap: " + name + " would be written while " + other +
               " is in use. Fix: give " + name + " memory of its own";
    };
    CHECK(refused(false, [](call &of, cached_arguments &a) { a.output.data = of.query.data; }) ==
          overlap("output", "query"));
    CHECK(refused(false, [](call &of, cached_arguments &a) { a.output.data = of.cache_key.data; }) ==
          overlap("output", "the cache's key"));
    CHECK(refused(false, [](call &of, cached_arguments &a) { a.log_sum_exp.data = of.cache_value.data + 8; }) ==
          overlap("log_sum_exp", "the cache's value"));
    CHECK(refused(false, [](call &of, cached_arguments &a) { a.log_sum_exp.data = of.output.data; }) ==
          overlap("output", "log_sum_exp"));
    // What is smaller is moved into what is larger, which elsewhere might reach a third.
    CHECK(refused(false, [](call &of, cached_arguments &) { of.input.data = of.output.data; }) ==
          overlap("output", "input 'lengths'"));
    CHECK(
        refused(false, [](call &of, cached_arguments &) { of.output.strides[1] = 4; }) ==
        "paged: output has elements that may share memory: a dimension of extent 3 has stride 4, inside the 16 "
        "elements "
        "that the smaller strides reach. It is written in parallel, so every element needs a place of its own. Extents "
        "(1, 4, 3, 4), strides (48, 4, 4, 1). Fix: pass strides that step over one another, or a tensor of its own");
    CHECK(refused(true, [](call &of, cached_arguments &a) { a.key.data = of.cache_key.data; }) ==
          overlap("the cache's key", "key"));
    CHECK(refused(true, [](call &of, cached_arguments &a) { a.value.data = of.cache_value.data; }) ==
          overlap("the cache's value", "value"));
    CHECK(refused(true, [](call &of, cached_arguments &) { of.input.data = of.cache_value.data; }) ==
          overlap("the cache's value", "input 'lengths'"));
    CHECK(refused(true, [](call &of, cached_arguments &a) { a.cache.value.data = of.cache_key.data; }) ==
          overlap("the cache's key", "the cache's value"));
    CHECK(
        refused(true, [](call &of, cached_arguments &) { of.cache_key.strides[0] = 8; }) ==
        "paged: the cache's key has elements that may share memory: a dimension of extent 4 has stride 8, inside the "
        "48 elements that the smaller strides reach. It is written in parallel, so every element needs a place of its "
        "own. Extents (6, 2, 4, 8), strides (8, 32, 8, 1). Fix: pass strides that step over one another, or a tensor "
        "of its own");
}

namespace {

struct lengths_of_sequences {
    heed::view<const std::int32_t, 1> lengths = {};
    constexpr auto heed_inputs() const noexcept { return heed::list_inputs(lengths); }
};

}  // namespace

TEST_CASE("calls with a cache work on host memory and on the CPU, and refuse all else") {
    const fake_scope scope;
    const heed::attention_kernel<lengths_of_sequences> typed(variant);
    call_of<> of({{6, 3}}, 3);
    const heed::cached_arguments &a = of.for_run();
    of.for_append();
    const auto rows_of = [](dense<float> &from) {
        return heed::view<float, 4>(from.data, {from.extents[0], from.extents[1], from.extents[2], from.extents[3]});
    };
    const lengths_of_sequences inputs{{of.lengths.data, {1}}};
    const auto statuses = [&](const heed::call_options &options) {
        return std::vector<heed::status>{
            typed.try_attend(rows_of(of.query), a.cache, of.sequences, rows_of(of.output), inputs, options),
            typed.try_append(rows_of(of.key), rows_of(of.value), a.cache, of.sequences, inputs, options)};
    };
    std::string why_cpu = "of an earlier call";
    heed::call_options options;
    options.isa = "x86_64";
    options.why_cpu = &why_cpu;
    const auto check_refusal = [&](const std::string &message) {
        for (const heed::status &status : statuses(options)) {
            CHECK(status.code() == heed::status_code::unsupported);
            CHECK(status.message() == message);
        }
        CHECK(fake.calls.empty());
        CHECK(why_cpu == "");
    };
    SUBCASE("memory of a device") {
        for (const heed::device_kind memory :
             {heed::device_kind::cuda, heed::device_kind::opencl, heed::device_kind::vulkan}) {
            options.memory = memory;
            check_refusal(std::string("paged: tensors lie in memory of ") + heed::name_of(memory) +
                          ", but calls with a cache run on CPUs and read host memory only. Fix: copy the tensors and "
                          "the cache to host memory, or call the kernel without a cache");
        }
    }
    SUBCASE("a GPU and nothing else") {
        options.device = heed::device_preference::gpu;
        check_refusal(
            "paged: the call asks for a GPU, but calls with a cache run on CPUs only. Fix: prefer gpu_else_cpu or cpu, "
            "or call the kernel without a cache");
    }
    SUBCASE("a GPU or else the CPU") {
        options.device = heed::device_preference::gpu_else_cpu;
        for (const heed::status &status : statuses(options)) {
            CHECK(status.message() == "");
            CHECK(why_cpu == "calls with a cache run on CPUs only");
        }
        CHECK(fake.calls.size() == 3);  // two pages get tokens
    }
    SUBCASE("the CPU") {
        for (const heed::status &status : statuses(options)) {
            CHECK(status.message() == "");
            CHECK(why_cpu == "");
        }
    }
}
