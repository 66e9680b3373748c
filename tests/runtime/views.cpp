// SPDX-License-Identifier: MIT

#include <doctest/doctest.h>

#include <heed/untyped_call.hpp>

#include <vector>

using heed::view;

// A view is a value that costs nothing to make, at compile time too.
constexpr view<const float, 3> shape_only{nullptr, {2, 3, 4}};
static_assert(shape_only.given() && shape_only.strides()[0] == 12 && shape_only.strides()[1] == 4 &&
              shape_only.strides()[2] == 1);
static_assert(!view<float, 4>{}.given());
static_assert(!heed::scalar<float>{}.given());
static_assert(heed::scalar<float>{0.0f}.given());

// What may change may be read; not the other way round, and not as another type or rank.
static_assert(std::is_convertible_v<view<float, 2>, view<const float, 2>>);
static_assert(!std::is_convertible_v<view<const float, 2>, view<float, 2>>);
static_assert(!std::is_convertible_v<view<double, 2>, view<const float, 2>>);
static_assert(!std::is_convertible_v<view<float, 3>, view<const float, 2>>);

TEST_CASE("extents of any integer type, from arrays, and of one number") {
    std::vector<float> data(24);
    const std::size_t size = data.size();
    const unsigned short three = 3;
    CHECK(view<float, 2>{data.data(), {size / three, three}}.extents()[0] == 8);
    CHECK(view<float, 1>{data.data(), size}.extents()[0] == 24);
    const std::array<int, 2> extents{6, 4};
    CHECK(view<float, 2>{data.data(), extents}.strides()[0] == 4);
    const heed::indices<2> copied = view<float, 2>{data.data(), extents, {1, 6}}.strides();
    CHECK(copied[1] == 6);
}

TEST_CASE("row-major strides of empty and of impossible tensors") {
    const view<float, 3> empty{nullptr, {2, 0, 4}};
    CHECK(empty.strides()[0] == 4);
    constexpr std::int64_t huge = std::int64_t{1} << 40;
    const view<float, 3> impossible{nullptr, {huge, huge, huge}};
    CHECK(impossible.strides()[0] == INT64_MAX);
}

TEST_CASE("untyped tensors") {
    const view<const float, 2> matrix{reinterpret_cast<const float *>(64), {3, 4}, {8, 2}};
    const heed::tensor tensor = heed::as_tensor(matrix);
    CHECK(tensor.given());
    CHECK(tensor.data == matrix.data());
    CHECK(tensor.rank == 2);
    CHECK(tensor.extents[1] == 4);
    CHECK(tensor.strides[0] == 8);
    CHECK_FALSE(heed::as_tensor(view<const float, 2>{}).given());
    const heed::scalar<std::int32_t> number = 7;
    CHECK(heed::as_tensor(number).type == heed::data_type::i32);
    CHECK(*static_cast<const std::int32_t *>(heed::as_tensor(number).data) == 7);
}
