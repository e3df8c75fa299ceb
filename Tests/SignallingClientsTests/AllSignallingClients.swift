// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The drivers' tests run one after another: they share the machine's processor with child processes, and one of them
/// counts descriptors.
@Suite(.serialized) struct AllSignallingClients {}

/// What this process has open.
enum OpenDescriptors {
    /// The targets of every descriptor, such as `socket:[4711]`.
    static func list() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) ?? "closed"
        }
    }
}
