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
