// SPDX-License-Identifier: Apache-2.0

internal import Platform

/// All files of a recording as one tar archive, read from the disk as it is asked for.
///
/// Nothing is written and nothing kept but names and sizes: a client that was cut off asks for the rest by a range.
struct RecordingArchive: ServedContent {
    /// The archive's own name: the room's and the recording's folder in one, so that archives of two recordings lie side by side.
    let name: String
    let size: Int64
    let modified: Int64
    let entityTag: String
    private let folder: String
    private let files: [(parts: [String], entityTag: String)]
    private let archive: TarArchive

    /// Looks at the files of a recording's folder; one that is gone since it was listed is left out.
    ///
    /// Blocks. Throws `system`.
    init(folder: String, names: [FileName]) throws(ServedFile.Failure) {
        let places = folder.split(separator: "/").suffix(2)
        let root = places.last.map(String.init) ?? "recording"
        var files: [(parts: [String], entityTag: String)] = []
        var entries: [TarArchive.Entry] = []
        for name in names {
            do throws(ServedFile.Failure) {
                let file = try ServedFile(folder: folder, parts: name.parts)
                files.append((name.parts, file.entityTag))
                entries.append(.init(name: "\(root)/\(name.text)", bytes: file.size, modified: file.modified))
            } catch {
                guard error == .missing else { throw error }
            }
        }
        self.name = places.joined(separator: "-") + ".tar"
        self.folder = folder
        self.files = files
        self.archive = TarArchive(entries)
        self.size = self.archive.length
        self.modified = entries.map(\.modified).max() ?? 0
        let names = entries.map(\.name) + files.map(\.entityTag)
        self.entityTag = "\"\(SHA256Digest(of: names.joined(separator: "\n").utf8).hexadecimal.prefix(32))\""
    }

    func read(offset: Int64, count: Int) throws(ServedFile.Failure) -> [UInt8] {
        switch self.archive.piece(at: offset, count: count) {
        case .bytes(let bytes): return Array(bytes)
        case .file(let index, let start, let count):
            // Opened for each piece: a slow client holds no file.
            let file = try ServedFile(folder: self.folder, parts: self.files[index].parts)
            guard file.entityTag == self.files[index].entityTag else { throw .missing }
            return try file.read(offset: start, count: count)
        }
    }
}
