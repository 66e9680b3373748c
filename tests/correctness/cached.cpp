// SPDX-License-Identifier: MIT
//
// Keys and values in a cache: sequences of different lengths in one call, pages of any size in any order, every storage
// type, and what is stored as it is appended.
#include <cached.hpp>
#include <heed/merge.hpp>

#include "heed_cached_kernels.hpp"
#include "heed_cached_type_kernels.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <string>

using namespace heed::tests;
using heed::data_type;

namespace {

/// Prompts, single tokens, a few at once, nothing at all; lengths around pages, chunks and tiles.
const std::vector<sequence_sizes> ragged{{5, 5},  {1, 1},  {0, 0},   {16, 1},  {130, 1},  {17, 17}, {40, 16},
                                         {77, 3}, {15, 0}, {513, 1}, {600, 2}, {129, 40}, {33, 17}, {512, 1}};
const std::vector<sequence_sizes> few{{1, 1}, {47, 1}, {20, 20}, {64, 3}};

/// Rotary positions of rows of any even number of elements, theta 10000.
void rotate(row_values &row, std::int64_t position) {
    const std::size_t half = row.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
        const double a = row[i], b = row[i + half];
        row[i] = a * std::cos(angle) - b * std::sin(angle);
        row[i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
}

bool window_and_first(const pair &at) { return causal(at) && (in_window(at, 20) || at.kv < 4); }

semantics changed(const tensor<float, 2> &key_gain) {
    semantics meaning;
    meaning.attends = window_and_first;
    meaning.modify_query = [](row_values &row, const place &at) {
        for (double &element : row) element *= 0.5;
        rotate(row, at.position);
    };
    meaning.modify_key = [&](row_values &row, const place &at) {
        for (std::size_t d = 0; d < row.size(); ++d) row[d] *= double{key_gain(at.head, d)};
        rotate(row, at.position);
    };
    meaning.modify_value = [](row_values &row, const place &at) {
        for (double &element : row) element = element * 2 + static_cast<double>((at.position + at.batch) % 3);
    };
    return meaning;
}

/// Elements that end where memory does: a read past them ends the process.
template <typename T>
class guarded {
  public:
    explicit guarded(std::int64_t count) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        const std::size_t usable = (bytes + page - 1) / page * page;
        bytes_ = usable + page;
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory_ != MAP_FAILED);
        char *const end = static_cast<char *>(memory_) + usable;
        REQUIRE(mprotect(end, page, PROT_NONE) == 0);
        first_ = reinterpret_cast<T *>(end - bytes);
    }
    guarded(const guarded &) = delete;
    guarded &operator=(const guarded &) = delete;
    ~guarded() { munmap(memory_, bytes_); }

    T *data() const { return first_; }
    T &operator[](std::int64_t i) const { return first_[i]; }

  private:
    void *memory_;
    std::size_t bytes_;
    T *first_;
};

/// Of a cache whose values are 1 where there are tokens, and NaN behind them: every output is 1.
template <class Inputs>
void attend_at_the_end_of_memory(const heed::attention_kernel<Inputs> &kernel, const inputs_or_none<Inputs> &inputs,
                                 std::int64_t length, std::int64_t page_size) {
    const heed::variant_description &variant = kernel.description();
    const std::int64_t blocks = (length + page_size - 1) / page_size;
    const guarded<std::int32_t> list(blocks);
    const guarded<float> key(blocks * variant.groups * page_size * variant.head_dim),
        value(blocks * variant.groups * page_size * variant.value_dim);
    for (std::int64_t block = 0; block < blocks; ++block) {
        list[block] = static_cast<std::int32_t>(block);
        for (std::int64_t row = 0; row < variant.groups * page_size; ++row) {
            const float element = block * page_size + row % page_size < length ? 1.0f : not_a_number;
            const std::int64_t place = block * variant.groups * page_size + row;
            std::fill_n(key.data() + place * variant.head_dim, variant.head_dim, element);
            std::fill_n(value.data() + place * variant.value_dim, variant.value_dim, element);
        }
    }
    const std::int64_t key_extents[] = {blocks, variant.groups, page_size, variant.head_dim},
                       value_extents[] = {blocks, variant.groups, page_size, variant.value_dim};
    const heed::cache_tensors cache{{key.data(), data_type::f32, 4, key_extents, nullptr},
                                    {value.data(), data_type::f32, 4, value_extents, nullptr},
                                    {},
                                    {}};
    for (const kernel_choice &which : kernels_of(variant, "cached")) {
        for (const std::int64_t rows : {std::int64_t{1}, std::min<std::int64_t>(length, 20)}) {
            INFO(which.text(), ", ", rows, " rows, length ", length, ", pages of ", page_size);
            tensor<float, 4> query({1, variant.heads, rows, variant.head_dim});
            tensor<float, 4> output({1, variant.heads, rows, variant.value_dim});
            for_each_index<4>(query.extents(), [&](const auto &at) { query[at] = 1; });
            attend_to(kernel, query, cache, {{rows, length, list.data()}}, output, inputs,
                      {{}, 1, which.isa, which.schedule});
            double worst = 0;
            for_each_index<4>(output.extents(), [&](const auto &at) {
                const double error = std::fabs(output[at] - 1);
                worst = std::isnan(error) ? infinity : std::max(worst, error);
            });
            CHECK(worst <= 1e-5);
        }
    }
}

tensor<float, 2> key_gains() {
    tensor<float, 2> made({2, 40});
    filler(3).fill(made, 2.0);
    return made;
}

}  // namespace

TEST_CASE("sequences of different lengths, prompts and single tokens, in pages of any size") {
    for (const std::int64_t page_size : {1, 7, 16, 600}) {
        verify_cached(kernels::in_cache, {ragged, page_size}, {.attends = causal});
    }
}

TEST_CASE("keys and values are changed as they are appended, and only then") {
    const tensor<float, 2> key_gain = key_gains();
    for (const std::int64_t page_size : {5, 64}) {
        verify_cached(kernels::in_cache_changed, {ragged, page_size}, {key_gain.view()}, changed(key_gain));
    }
}

TEST_CASE("batch, in a declaration, is the number of the sequence") {
    tensor<std::int32_t, 2> document({static_cast<std::int64_t>(ragged.size()), 600});
    for_each_index<2>(document.extents(), [&](const auto &at) {
        document[at] = static_cast<std::int32_t>(at[0] + at[1] / (20 + 9 * at[0]));
    });
    verify_cached(kernels::in_cache_documents, {ragged, 16}, {document.view()}, {.attends = [&](const pair &at) {
                      return causal(at) && document(at.batch, at.q) == document(at.batch, at.kv);
                  }});
}

TEST_CASE("a sink counts once, and scores are changed") {
    tensor<float, 1> sinks({2});
    filler(8).fill(sinks, 2.0);
    verify_cached(kernels::in_cache_sink, {ragged, 32}, {sinks.view()},
                  {.modify = [](double score, const pair &) { return soft_cap(score, 5); },
                   .sink = [&](std::int64_t, std::int64_t head) { return double{sinks(head)}; }});
}

TEST_CASE("weights that are no softmax") {
    verify_cached(kernels::in_cache_sigmoid, {ragged, 16},
                  {.attends = causal, .weight = [](double score, const pair &) { return 1 / (1 + std::exp(-score)); }});
}

TEST_CASE("every storage type: what is stored is rounded once, and attention is to what is stored") {
    const tensor<float, 2> key_gain = key_gains();
    for (const data_type type : {data_type::f16, data_type::bf16, data_type::i8}) {
        verify_cached(typed_kernels::in_cache, {ragged, 16, type}, {.attends = causal});
        verify_cached(typed_kernels::in_cache_changed, {few, 7, type}, {key_gain.view()}, changed(key_gain));
    }
}

TEST_CASE("rows of i8: zero stays zero, NaN and infinity make a token NaN, and others do not notice") {
    const heed::variant_description &variant = typed_kernels::in_cache.description();
    for (const kernel_choice &which : kernels_of(variant, "append")) {
        heed::key_value_cache cache(variant, {data_type::i8, 1, 4});
        const int sequence = cache.add();
        cache.extend(sequence, 4);
        tensor<float, 4> key({1, 2, 4, 16}), value({1, 2, 4, 16});
        for_each_index<4>(key.extents(),
                          [&](const auto &at) { value[at] = key[at] = at[2] == 0 ? 0.0f : 1.0f + at[3]; });
        key(0, 0, 1, 5) = not_a_number;
        key(0, 1, 2, 15) = -infinity;
        const heed::cached_sequence tokens = cache.view(sequence, 4);
        typed_kernels::in_cache.append(key.view(), value.view(), cache.tensors(), tokens, {{}, 1, which.isa});
        const heed::cache_tensors stored = cache.tensors();
        for (std::int64_t group = 0; group < 2; ++group) {
            for (std::int64_t token = 0; token < 4; ++token) {
                const double scale = element_of(stored.key_scale, 0, group, token);
                INFO(which.text(), ", group ", group, ", token ", token);
                if ((group == 0 && token == 1) || (group == 1 && token == 2)) {
                    CHECK(std::isnan(scale));
                    continue;
                }
                CHECK(scale == doctest::Approx(token == 0 ? 0.0 : 16.0 / 127).epsilon(1e-6));
                CHECK(element_of(stored.key, 0, group, token, 15) == (token == 0 ? 0 : 127));
            }
        }
    }
}

TEST_CASE("rows of i8 as small as floats are, zeros among them") {
    const heed::variant_description &variant = typed_kernels::in_cache.description();
    for (const kernel_choice &which : kernels_of(variant, "append")) {
        heed::key_value_cache cache(variant, {data_type::i8, 1, 4});
        const int sequence = cache.add();
        cache.extend(sequence, 3);
        tensor<float, 4> key({1, 2, 3, 16});
        const float largest[] = {1e-30f, 1e-38f, 1e-41f};
        for_each_index<4>(key.extents(), [&](const auto &at) {
            key[at] = at[3] % 3 == 0 ? 0.0f : at[3] % 3 == 1 ? largest[at[2]] : -0.5f * largest[at[2]];
        });
        typed_kernels::in_cache.append(key.view(), key.view(), cache.tensors(), cache.view(sequence, 3),
                                       {{}, 1, which.isa});
        for_each_index<4>(key.extents(), [&](const auto &at) {
            INFO(which.text(), ", token ", at[2], ", element ", at[3]);
            const double stored = element_of(cache.tensors().key, 0, at[1], at[2], at[3]);
            if (at[3] % 3 == 2) {
                CHECK(std::fabs(stored + 63.5) <= 0.5);
            } else {
                CHECK(stored == (at[3] % 3 == 0 ? 0 : 127));
            }
        });
    }
}

TEST_CASE("a NaN in a value that is seen shows, however small its weight is") {
    const heed::variant_description &variant = typed_kernels::in_cache.description();
    for (const data_type type : {data_type::f16, data_type::bf16, data_type::i8}) {
        for (const kernel_choice &which : kernels_of(variant, "cached")) {
            INFO(which.text(), ", ", name_of(type));
            heed::key_value_cache cache(variant, {type, 1, 64});
            const int sequence = cache.add();
            cache.extend(sequence, 40);
            problem of(variant, {40, 40, 1});
            for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = 30; });
            for_each_index<4>(of.key.extents(), [&](const auto &at) { of.key[at] = at[2] == 3 ? -30.0f : 30.0f; });
            of.value(0, 1, 3, 7) = not_a_number;
            typed_kernels::in_cache.append(of.key.view(), of.value.view(), cache.tensors(), cache.view(sequence, 40),
                                           {{}, 1, which.isa});
            for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{40}}) {
                tensor<float, 4> query({1, 6, rows, 16}), output(query.extents());
                for_each_index<4>(query.extents(), [&](const auto &at) { query[at] = of.query[at]; });
                typed_kernels::in_cache.attend(query.view(), cache.tensors(), cache.view(sequence, rows), output.view(),
                                               {{}, 1, which.isa, which.schedule});
                CHECK(std::isnan(output(0, 5, rows - 1, 7)));
                CHECK(!std::isnan(output(0, 0, rows - 1, 7)));
            }
        }
    }
}

TEST_CASE("tokens are not stored in pages that a fork shares") {
    const heed::variant_description &variant = kernels::in_cache.description();
    heed::key_value_cache cache(variant, {data_type::f32, 8, 4});
    tensor<float, 4> key({1, 2, 2, 16});
    for_each_index<4>(key.extents(), [&](const auto &at) { key[at] = 1; });
    const int original = cache.add();
    cache.extend(original, 6);
    const int copy = cache.fork(original);
    const auto store = [&](int sequence) {
        return kernels::in_cache.try_append(key.view(), key.view(), cache.tensors(), cache.view(sequence, 2)).message();
    };
    const std::string refusal =
        "in_cache: sequence 0 would get tokens from 4 on, but those before 6 are in pages that other sequences share. "
        "Fix: store tokens before the sequence is forked, or make room by extend() after that";
    CHECK(store(original) == refusal);
    CHECK(store(copy) == refusal);
    // What follows is in a page of its own, and so is then what the other has.
    cache.extend(copy, 2);
    CHECK(store(copy) == "");
    CHECK(store(original) == "");
}

TEST_CASE("NaN in tokens that the mask hides is not seen, whatever page they are in") {
    const tensor<float, 2> key_gain = key_gains();
    const heed::variant_description &variant = kernels::in_cache_changed.description();
    for (const kernel_choice &which : kernels_of(variant, "cached")) {
        heed::key_value_cache cache(variant, {data_type::f32, 20, 8});
        const int sequence = cache.add();
        cache.extend(sequence, 100);
        problem of(variant, {2, 100, 1});
        problem poisoned = of;
        for (std::int64_t token = 4; token < 79; ++token) {
            poisoned.key(0, token % 2, token, token % 40) = not_a_number;
            poisoned.value(0, token % 2, token, token % 24) = infinity;
        }
        kernels::in_cache_changed.append(poisoned.key.view(), poisoned.value.view(), cache.tensors(),
                                         cache.view(sequence, 100), {key_gain.view()}, {{}, 1, which.isa});
        tensor<float, 4> output({1, 4, 2, 24});
        kernels::in_cache_changed.attend(of.query.view(), cache.tensors(), cache.view(sequence, 2), output.view(),
                                         {key_gain.view()}, {{}, 1, which.isa, which.schedule});
        INFO(which.text());
        const difference found = compare(output, attention(of, changed(key_gain)).output, 1e-30);
        CHECK_MESSAGE(found.largest <= allowed_error, found.where);
    }
}

TEST_CASE("neither the list of pages nor the cache is read past its end") {
    const tensor<float, 2> key_gain = key_gains();
    for (const std::int64_t length : {1, 15, 16, 17, 100, 129, 515}) {
        for (const std::int64_t page_size : {1, 7, 16}) {
            attend_at_the_end_of_memory(kernels::in_cache, {}, length, page_size);
            attend_at_the_end_of_memory(kernels::in_cache_changed, {key_gain.view()}, length, page_size);
        }
    }
}

TEST_CASE("a ring buffer: pages that the window has left behind are used again") {
    const tensor<float, 2> key_gain = key_gains();
    const heed::variant_description &variant = kernels::in_cache_changed.description();
    // Four first tokens, a window of 20 and the page that is being filled.
    heed::key_value_cache cache(variant, {data_type::f32, 7, 4});
    const int sequence = cache.add();
    const std::int64_t length = 300;
    problem of(variant, {length, length, 1});
    const reference expected = attention(of, changed(key_gain));
    for (std::int64_t token = 0; token < length; ++token) {
        cache.keep(sequence, 4, 20);
        cache.extend(sequence, 1);
        const heed::cached_sequence step = cache.view(sequence, 1);
        const std::vector<std::int64_t> at{token}, one{1};
        kernels::in_cache_changed.append(rows_of({&of.key}, at, one).view(), rows_of({&of.value}, at, one).view(),
                                         cache.tensors(), step, {key_gain.view()});
        tensor<float, 4> output({1, 4, 1, 24});
        kernels::in_cache_changed.attend(rows_of({&of.query}, at, one).view(), cache.tensors(), step, output.view(),
                                         {key_gain.view()});
        double worst = 0;
        for_each_index<4>(output.extents(), [&](const auto &i) {
            worst = std::max(worst, std::fabs(output[i] - expected.output(0, i[1], token, i[3])));
        });
        CHECK_MESSAGE(worst <= 1e-5, "token ", token);
    }
}

TEST_CASE("64 sequences that grow, share prefixes and end, 10,000 times: in small pages as in one page each") {
    constexpr std::int64_t capacity = 90, most_sequences = 64, page_size = 7, pages = 200;
    const heed::variant_description &variant = kernels::in_cache.description();
    heed::key_value_cache paged(variant, {data_type::f32, pages, page_size});
    heed::key_value_cache contiguous(variant, {data_type::f32, most_sequences, capacity});
    struct sequence {
        int in_pages, in_one;
        std::int64_t length;
    };
    std::vector<sequence> live;
    filler random(21);
    std::int64_t full = 0, compared = 0;
    for (int step = 0; step < 10'000; ++step) {
        INFO("step ", step, ", HEED_TEST_SEED=", seed());
        const std::int64_t choice = random.integer(0, 99);
        const auto some = [&] {
            return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(live.size()) - 1));
        };
        const auto count = static_cast<std::int64_t>(live.size());
        if (count == 0 || (choice < 25 && count < most_sequences)) {
            live.push_back({paged.add(), contiguous.add(), 0});
        } else if (choice < 30 && count < most_sequences) {
            // One page each cannot be shared by two that grow; the tokens are copied as the other grows.
            const sequence &original = live[some()];
            if (contiguous.free_pages() == 0) continue;
            live.push_back({paged.fork(original.in_pages), contiguous.fork(original.in_one), original.length});
        } else if (choice < 42) {
            const std::size_t ended = some();
            paged.remove(live[ended].in_pages);
            contiguous.remove(live[ended].in_one);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(ended));
        } else {
            sequence &grown = live[some()];
            const std::int64_t tokens = std::min(random.integer(1, 8), capacity - grown.length);
            if (!paged.try_extend(grown.in_pages, tokens).ok()) {
                ++full;
                continue;
            }
            contiguous.extend(grown.in_one, tokens);
            grown.length += tokens;
            tensor<float, 4> key({1, 2, tokens, 16}), value({1, 2, tokens, 16}), query({1, 6, tokens, 16});
            random.fill(key);
            random.fill(value);
            random.fill(query);
            const heed::cached_sequence here = paged.view(grown.in_pages, tokens),
                                        there = contiguous.view(grown.in_one, tokens);
            kernels::in_cache.append(key.view(), value.view(), paged.tensors(), here);
            kernels::in_cache.append(key.view(), value.view(), contiguous.tensors(), there);
            if (step % 4 != 0 || tokens == 0) continue;
            tensor<float, 4> output(query.extents()), other(query.extents());
            kernels::in_cache.attend(query.view(), paged.tensors(), here, output.view());
            kernels::in_cache.attend(query.view(), contiguous.tensors(), there, other.view());
            CHECK(same_bits(output, other));
            ++compared;
        }
    }
    CHECK(full > 0);
    CHECK(compared > 1000);
    for (const sequence &each : live) paged.remove(each.in_pages);
    CHECK(paged.free_pages() == pages);
}

TEST_CASE("attention in parts is merged to attention to all") {
    filler random(11);
    const heed::variant_description &variant = kernels::in_cache.description();
    for (int trial = 0; trial < 20; ++trial) {
        const std::int64_t length = random.integer(1, 700), split = random.integer(0, length);
        INFO("keys 0 to ", split, " of ", length, ", HEED_TEST_SEED=", seed());
        // The last token sees all others, so parts of the keys are sequences of their own.
        problem of(variant, {1, length, 1});
        heed::key_value_cache cache(variant, {data_type::f32, 2 * length + 4, 3});
        const auto state_of = [&](std::int64_t first, std::int64_t end, results &into) {
            if (first == end) {
                for_each_index<4>(into.output.extents(), [&](const auto &at) { into.output[at] = 0; });
                for_each_index<3>(into.log_sum_exp.extents(),
                                  [&](const auto &at) { into.log_sum_exp[at] = -infinity; });
                return;
            }
            const int part = cache.add();
            cache.extend(part, end - first);
            kernels::in_cache.append(rows_of({&of.key}, {first}, {end - first}).view(),
                                     rows_of({&of.value}, {first}, {end - first}).view(), cache.tensors(),
                                     cache.view(part, end - first));
            kernels::in_cache.attend(of.query.view(), cache.tensors(), cache.view(part, 1), into.output.view(),
                                     {into.log_sum_exp.view()});
            cache.remove(part);
        };
        results whole(of), before(of), behind(of), merged(of);
        state_of(0, length, whole);
        state_of(0, split, before);
        state_of(split, length, behind);
        const auto read = [](const auto &of_part) { return of_part.view(); };
        heed::merge(read(std::as_const(before).output), read(std::as_const(before).log_sum_exp),
                    read(std::as_const(behind).output), read(std::as_const(behind).log_sum_exp), merged.output.view(),
                    merged.log_sum_exp.view());
        for_each_index<4>(merged.output.extents(), [&](const auto &at) {
            CHECK(merged.output[at] == doctest::Approx(whole.output[at]).epsilon(1e-5));
        });
        for_each_index<3>(merged.log_sum_exp.extents(), [&](const auto &at) {
            CHECK(merged.log_sum_exp[at] == doctest::Approx(whole.log_sum_exp[at]).epsilon(2e-6));
        });
    }
}

TEST_CASE("calls with a cache are refused, with both values, before anything is written") {
    const heed::variant_description &variant = kernels::in_cache.description();
    heed::key_value_cache cache(variant, {data_type::f32, 8, 4});
    const int sequence = cache.add();
    cache.extend(sequence, 10);
    const heed::cache_tensors tensors = cache.tensors();
    tensor<float, 4> key({1, 2, 3, 16}), query({1, 6, 3, 16}), output({1, 6, 3, 16});
    for_each_index<4>(key.extents(), [&](const auto &at) { key[at] = 1; });
    for_each_index<4>(query.extents(), [&](const auto &at) { query[at] = 1; });
    const auto attend = [&](const heed::cached_sequence &of) {
        const heed::status result = kernels::in_cache.try_attend(query.view(), tensors, of, output.view());
        CHECK(std::isnan(output(0, 0, 0, 0)));
        return result.message();
    };
    const auto store = [&](const heed::sequence_list &of) {
        return kernels::in_cache.try_append(key.view(), key.view(), tensors, of).message();
    };
    const std::int32_t *const pages = cache.view(sequence, 3).pages;
    CHECK(attend({2, 10, pages}) ==
          "in_cache: query has 3 rows, the sequences have 2 new tokens in all: they must agree. "
          "Extents of query (1, 6, 3, 16). Fix: pass one row for each new token");
    CHECK(attend({3, 2, pages}) ==
          "in_cache: sequence 0 has 3 new tokens and length 2: the length counts the new tokens too, and is at most "
          "1073741824. Fix: pass the length behind the new tokens");
    CHECK(attend({3, 10, nullptr}) ==
          "in_cache: sequence 0 has length 10, but its list of pages is a null pointer. Fix: pass a page for each "
          "page_size tokens");
    const std::int32_t outside[] = {0, 8, 1}, hidden[] = {0, -1, 1}, twice[] = {0, 1, 1};
    CHECK(attend({3, 10, outside}) ==
          "in_cache: sequence 0 has page 8 for its tokens 4 to 7, the cache has pages 0 to 7. Fix: pass the list that "
          "belongs to this cache");
    CHECK(attend({3, 10, hidden}) ==
          "in_cache: sequence 0 has no page for its tokens 4 to 7, but the mask of the declaration may let its new "
          "tokens "
          "see them. Fix: keep them in the cache, or declare a mask, such as sliding_window, that hides them");
    CHECK(store(heed::cached_sequence{3, 10, twice}) ==
          "in_cache: page 1 would get new tokens of sequence 0 and of sequence 0: a page that is shared, or occurs "
          "twice, "
          "cannot be written. Fix: give each a page of its own");
    const std::vector<heed::cached_sequence> shared{{1, 2, pages}, {2, 3, pages}};
    CHECK(store(shared) ==
          "in_cache: page 0 would get new tokens of sequence 0 and of sequence 1: a page that is shared, or occurs "
          "twice, "
          "cannot be written. Fix: give each a page of its own");
    heed::cache_tensors others = tensors;
    others.key_scale = others.key;
    CHECK(kernels::in_cache.try_attend(query.view(), others, cache.view(sequence, 3), output.view()).message() ==
          "in_cache: key_scale is given, but the cache's key holds f32: only i8 has a scale. Fix: leave it out");
    const tensor<float, 4> batches({2, 6, 3, 16});
    CHECK(
        kernels::in_cache.try_attend(batches.view(), tensors, cache.view(sequence, 3), output.view()).message() ==
        "in_cache: query has batch 2, it must be 1: the tokens of all sequences stand one behind another in dimension "
        "2. Extents (2, 6, 3, 16). Fix: pass all rows as one batch element");
    heed::key_value_cache halves(variant, {data_type::f16, 8, 4});
    halves.extend(halves.add(), 10);
    const std::string of_type =
        kernels::in_cache.try_attend(query.view(), halves.tensors(), halves.view(0, 3), output.view()).message();
    CHECK(of_type ==
          "in_cache: the cache's key holds f16, the kernel was compiled for f32. Fix: pass query, key, value and "
          "output of "
          "types that the library has, f32, or add others to DTYPES of heed_add_kernels");
    const heed::status no_pass = kernels::in_cache.try_run(query.view(), key.view(), key.view(), output.view());
    CHECK(no_pass.message() ==
          "in_cache: the library has no kernel for the pass \"forward\". Fix: add it to PASSES of heed_add_kernels.");
}
