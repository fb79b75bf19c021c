// SPDX-License-Identifier: MIT
#pragma once

// Loops the compiler vectorises are built for several instruction sets and picked at load time
// where the tool chain can do that; elsewhere once, for the base instruction set. Sanitizers
// cannot start before the resolvers run, so they get the single build.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NPUSIM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NPUSIM_CLONES
#endif
