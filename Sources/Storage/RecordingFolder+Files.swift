// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A file of a recording that may be handed out.
public struct RecordingFile: Sendable, Hashable {
    /// Its name relative to the recording's folder, such as `tracks/001-alice-video.mkv`.
    public var name: String
    /// Its size in bytes.
    public var bytes: Int64
    /// Its media type (RFC 6838), from the name's extension.
    public var mediaType: String

    /// A file with each part given.
    public init(name: String, bytes: Int64, mediaType: String) {
        self.name = name
        self.bytes = bytes
        self.mediaType = mediaType
    }
}

extension RecordingFolder {
    /// Directories below the folder are entered to this depth.
    private static let maximumDepth = 3
    /// The most files that are listed.
    private static let maximumFileCount = 10_000

    /// Every regular file of the recording, by name.
    ///
    /// Left out are symbolic links, devices, pipes, and whatever is hidden, not UTF-8 or deeper than three directories.
    /// Throws `notFound` if the folder, or its room's, is gone or a link.
    ///
    /// - Parameter isWhole: whether a folder throws `invalid` with more files than are listed, a name that is not UTF-8, or a
    ///   deeper directory; else these are left out.
    public func files(isWhole: Bool = false) throws(StorageError) -> [RecordingFile] {
        var files: [RecordingFile] = []
        try Self.list(try Directory.of(self), prefix: "", depth: 1, isWhole: isWhole, into: &files)
        if files.count > Self.maximumFileCount {
            guard !isWhole else {
                throw StorageError(
                    .invalid,
                    "\(self.path) has more than \(Self.maximumFileCount) files",
                    path: self.path
                )
            }
            files.removeLast(files.count - Self.maximumFileCount)
        }
        return files.sorted { $0.name < $1.name }
    }

    /// Throws the error that prevents reading the names of its files, its manifest and its journal; either may be
    /// missing.
    public func requireReadable() throws(StorageError) {
        let files = try self.files()
        if files.contains(where: { $0.name == "manifest.json" }) { _ = try Manifest.read(self) }
        guard files.contains(where: { $0.name == "journal.jsonl" }) else { return }
        do {
            _ = try File(self.journalPath, .read).read(offset: 0, count: 1)
        } catch {
            throw StorageError(error, reading: self.journalPath)
        }
    }

    /// The path of a file that `files()` lists; throws `notFound` for any other name.
    ///
    /// The name may come from any source. It is looked up component by component without following links, so that no
    /// name leads out of the folder. A process that can write to the folder could still swap a directory for a link
    /// between this call and the opening of the path.
    public func path(of name: String) throws(StorageError) -> String {
        let absent = StorageError(.notFound, "the recording has no such file", path: self.path)
        let components = name.split(separator: "/", omittingEmptySubsequences: false)
        guard let last = components.last, components.count <= Self.maximumDepth, components.allSatisfy(Self.isShown)
        else { throw absent }
        do throws(StorageError) {
            var directory = try Directory.of(self)
            for component in components.dropLast() {
                directory = try Directory(Directory.Name(component), in: directory)
            }
            guard case .regular = try directory.kind(of: Directory.Name(last)) else { throw absent }
        } catch {
            throw error.code == .notFound ? absent : error
        }
        return self.path + "/" + name
    }

    private static func isShown(_ component: some StringProtocol) -> Bool {
        // "." and ".." are among the hidden names.
        !component.isEmpty && component.utf8.first != UInt8(ascii: ".") && component.utf8.count <= 255
            && !component.utf8.contains(0)
    }

    private static func list(
        _ directory: Directory,
        prefix: String,
        depth: Int,
        isWhole: Bool,
        into files: inout [RecordingFile]
    ) throws(StorageError) {
        // One more shows that there are more.
        let limit = Self.maximumFileCount + 1
        for name in try directory.names(limit: limit) where files.count < limit {
            guard let text = name.text, Self.isShown(text) else {
                guard !isWhole || name.text != nil else {
                    throw StorageError(.invalid, "\(directory.path) has a name that is not UTF-8", path: directory.path)
                }
                continue
            }
            do throws(StorageError) {
                switch try directory.kind(of: name) {
                case .regular(let bytes):
                    files.append(
                        RecordingFile(name: prefix + text, bytes: bytes, mediaType: mediaType(ofFile: text))
                    )
                case .directory where depth < Self.maximumDepth:
                    let inner = try Directory(name, in: directory)
                    try Self.list(inner, prefix: prefix + text + "/", depth: depth + 1, isWhole: isWhole, into: &files)
                case .directory where isWhole:
                    throw StorageError(.invalid, "\(directory.path)/\(text) is too deep", path: directory.path)
                case .directory, .other: break
                }
            } catch {
                // Files come and go while a recording is in progress and while it is being deleted.
                guard error.code == .notFound else { throw error }
            }
        }
    }
}
