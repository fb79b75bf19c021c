// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

namespace rknpu {

/// The one T of this process. It is never destroyed, as programs call the library from their own
/// static destructors. Nobody holds T::mutex while fork() copies the process: the copy has no
/// thread that would let it go.
template <typename T>
T& process_wide() {
    static T* const instance = [] {
        auto* made = new T;
        pthread_atfork([] { process_wide<T>().mutex.lock(); },
                       [] { process_wide<T>().mutex.unlock(); },
                       [] { process_wide<T>().mutex.unlock(); });
        return made;
    }();
    return *instance;
}

}  // namespace rknpu
