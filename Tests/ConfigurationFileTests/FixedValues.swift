// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Testing

/// Values of `${…}` that a test gives.
struct FixedValues: ValueSource {
    var variables: [String: String] = [:]
    var files: [String: String] = [:]

    func environmentVariable(_ name: String) -> String? { self.variables[name] }

    func contents(ofFile path: String) throws(ValueSourceError) -> String {
        guard let text = self.files[path] else { throw ValueSourceError("cannot be opened: No such file or directory") }
        return text
    }
}

/// The problems of a text, as people see them; empty if it is right.
func problems(_ text: String, _ values: FixedValues = FixedValues()) -> [String] {
    do {
        _ = try DaemonConfiguration.parse(text: text, values: values)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

/// The configuration of a text without problems.
func configuration(
    _ text: String,
    _ values: FixedValues = FixedValues()
) throws -> DaemonConfiguration {
    try DaemonConfiguration.parse(text: text, values: values)
}

/// The folder of the package.
let packageFolder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// The text of a file of this package.
func packageText(_ path: String) throws -> String {
    try String(contentsOf: packageFolder.appending(path: path), encoding: .utf8)
}

/// A folder of a test's own, removed with it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        self.path = url.path()
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Writes a file and gives its path.
    func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(self.path)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }
}
