// SPDX-License-Identifier: Apache-2.0

import Foundation

/// This program.
enum Program {
    /// Its version.
    static let version = "0.1.0"
    /// What files name as their maker.
    static let name = "tapedeck \(Self.version)"

    /// Ends the process without what libraries have put behind `exit`: that takes apart what a thread that did not return,
    /// in a device's driver or a stuck pipeline, continues to use.
    static func end(_ code: ExitCode) -> Never {
        fflush(nil)
        _exit(code.rawValue)
    }
}
