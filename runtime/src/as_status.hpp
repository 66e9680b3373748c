// SPDX-License-Identifier: MIT
//
// The same call with and without exceptions.
#pragma once

#include <heed/error.hpp>

namespace heed::detail {

/// What becomes of `call()`, which throws errors.
template <typename Call>
status as_status(const Call &call) noexcept {
    const auto report = [](status_code code, const error &failure) noexcept {
        try {
            return status(code, failure.what());
        } catch (...) {
            return status(code, {});
        }
    };
    try {
        call();
        return {};
    } catch (const invalid_argument_error &failure) {
        return report(status_code::invalid_argument, failure);
    } catch (const unsupported_error &failure) {
        return report(status_code::unsupported, failure);
    } catch (const kernel_error &failure) {
        return report(status_code::kernel_failed, failure);
    } catch (const cache_full_error &failure) {
        return report(status_code::cache_full, failure);
    } catch (const error &failure) {
        return report(status_code::out_of_memory, failure);
    } catch (...) {
        return status(status_code::out_of_memory, {});
    }
}

}  // namespace heed::detail
