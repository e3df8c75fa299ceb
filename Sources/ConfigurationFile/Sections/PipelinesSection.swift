// SPDX-License-Identifier: Apache-2.0

/// Where pipeline files are.
public struct PipelinesConfiguration: Sendable, Hashable {
    /// Absolute path of a folder whose files are added to those of the program, or replace them; `nil` for none.
    public var directory: String?

    /// The program's own files.
    public init() {}
}

/// The keys of `pipelines`.
enum PipelinesKeys {
    static let section = "pipelines"
    static let directory = Key("directory", .absolutePath(example: "/etc/tapedeck/pipelines"))

    static let table = KeyTable(directory.entry)
}

extension PipelinesConfiguration {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        self.directory = reader.value(PipelinesKeys.directory)
    }
}
