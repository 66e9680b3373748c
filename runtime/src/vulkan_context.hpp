// SPDX-License-Identifier: MIT
#pragma once

#include <HalideRuntimeVulkan.h>

#include <cstdint>

namespace heed::detail {

/// Halide's context of Vulkan, made where there is none, which nobody else has for the length of a scope.
class vulkan_context {
  public:
    explicit vulkan_context(void *user_context)
        : user_context_(user_context),
          acquired_(halide_vulkan_acquire_context(user_context, &allocator_, &instance_, &device_, &physical_device_,
                                                  &queue_, &queue_family_, &messenger_, true) == 0) {}
    ~vulkan_context() {
        if (acquired_) {
            halide_vulkan_release_context(user_context_, instance_, device_, queue_, messenger_);
        }
    }
    vulkan_context(const vulkan_context &) = delete;
    vulkan_context &operator=(const vulkan_context &) = delete;

    bool acquired() const noexcept { return acquired_; }
    /// Null if there is none.
    VkPhysicalDevice physical_device() const noexcept { return physical_device_; }

  private:
    void *user_context_;
    halide_vulkan_memory_allocator *allocator_ = nullptr;
    VkInstance instance_ = nullptr;
    VkDevice device_ = nullptr;
    VkPhysicalDevice physical_device_ = nullptr;
    VkQueue queue_ = nullptr;
    std::uint32_t queue_family_ = 0;
    VkDebugUtilsMessengerEXT messenger_ = nullptr;
    bool acquired_;
};

}  // namespace heed::detail
