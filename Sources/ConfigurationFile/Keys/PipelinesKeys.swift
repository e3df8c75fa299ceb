// SPDX-License-Identifier: Apache-2.0

/// The keys of `pipelines`.
enum PipelinesKeys {
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
