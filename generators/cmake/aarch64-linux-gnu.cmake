# A toolchain file for CMake: Debian's compiler for ARM (g++-aarch64-linux-gnu), and QEMU (qemu-user), if it is there, to
# run what it makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(HEED_QEMU_AARCH64 qemu-aarch64)
if(HEED_QEMU_AARCH64)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${HEED_QEMU_AARCH64}" -L /usr/aarch64-linux-gnu)
endif()
