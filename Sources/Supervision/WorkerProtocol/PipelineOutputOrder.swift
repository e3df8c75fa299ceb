// SPDX-License-Identifier: Apache-2.0

/// A pipeline that takes an output's packets on the worker's host.
public struct PipelineOutputOrder: Sendable, Hashable, Codable {
    /// The name of a file of `output/`.
    public var file: String
    /// Values for the file's parameters, by name; they may hold secrets.
    public var parameters: [String: String]?
    /// Absolute path of the operator's folder of pipeline files; `nil` for none.
    public var pipelines: String?

    /// A file without values.
    public init(file: String) {
        self.file = file
    }
}
