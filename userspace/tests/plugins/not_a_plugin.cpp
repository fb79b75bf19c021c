// SPDX-License-Identifier: MIT
// Has the name of a plugin, but not its function.
extern "C" __attribute__((visibility("default"))) int something_else(void) {
    return 1;
}
