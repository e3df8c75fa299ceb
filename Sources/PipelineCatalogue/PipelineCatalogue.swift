// SPDX-License-Identifier: Apache-2.0

/// All usable pipeline files: those that come with the program, and an operator's that replace or add to them.
///
/// Immutable: a session keeps the catalogue that it started with.
public struct PipelineCatalogue: Sendable, Hashable {
    /// Where a file is from.
    public enum Origin: Sendable, Hashable {
        /// Part of the program.
        case bundled
        /// A file of the operator's, by its path.
        case folder(String)
    }

    /// A file and where it is from.
    public struct Entry: Sendable, Hashable {
        /// The file.
        public var file: PipelineFile
        /// Where it is from.
        public var origin: Origin

        /// An entry with each part given.
        public init(file: PipelineFile, origin: Origin) {
            self.file = file
            self.origin = origin
        }
    }

    private struct Place: Sendable, Hashable {
        var kind: PipelineFile.Kind
        var name: String
    }

    private var table: [Place: Entry] = [:]

    /// A catalogue; of two files of one kind and name the later counts.
    public init(_ entries: [Entry]) {
        for entry in entries { self.table[Place(kind: entry.file.kind, name: entry.file.name)] = entry }
    }

    /// Every file by kind, then by rank from the largest, then by name.
    public var entries: [Entry] {
        let order = PipelineFile.Kind.allCases
        return self.table.values.sorted { left, right in
            let places = [left, right].map { order.firstIndex(of: $0.file.kind) ?? 0 }
            return (places[0], -left.file.rank, left.file.name) < (places[1], -right.file.rank, right.file.name)
        }
    }

    /// The file of a kind and name.
    public func file(_ kind: PipelineFile.Kind, _ name: String) -> PipelineFile? {
        self.table[Place(kind: kind, name: name)]?.file
    }

    /// The files of a kind, as `entries` orders them.
    public func files(_ kind: PipelineFile.Kind) -> [PipelineFile] {
        self.entries.map(\.file).filter { $0.kind == kind }
    }

    /// The encoders of a codec, best first.
    public func encoders(of codec: String) -> [PipelineFile] {
        self.files(.encode).filter { $0.codec == codec }
    }
}
