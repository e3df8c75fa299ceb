// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The drivers' tests run one after another: they share the machine's processor with child processes, and one of them
/// counts descriptors.
@Suite(.serialized) struct AllSignallingClients {}

/// What this process has open.
enum OpenDescriptors {
    static func count() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
