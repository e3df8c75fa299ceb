// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder of one test, removed with this object.
public final class TemporaryFolder: Sendable {
    /// Its path, without a slash at the end.
    public let path: String

    /// Makes the folder.
    public init() throws {
        self.path = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    /// Writes a file of the folder and returns its path.
    public func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(self.path)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }
}
