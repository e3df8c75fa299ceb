// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// The system clock as the kernel sees it.
public enum SystemClock {
    /// Whether something keeps the clock in time; `nil` if the kernel does not say.
    ///
    /// Any thread.
    public static var isSynchronised: Bool? {
        switch CTapedeck_clock_is_synchronised() {
        case 1: true
        case 0: false
        default: nil
        }
    }
}
