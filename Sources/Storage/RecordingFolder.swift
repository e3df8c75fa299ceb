// SPDX-License-Identifier: Apache-2.0

public import Basics
import FoundationEssentials
import Glibc

/// The folder of one recording: `<storage>/recordings/<room>/<start UTC>-<id>/`.
public struct RecordingFolder: Sendable, Hashable {
    /// The folder's path, without a slash at its end.
    public let path: String
    /// The recording's id.
    public let id: RecordingID
    /// When the recording began, to the second.
    public let compactStart: String

    /// When the recording began, to the second; `nil` if the folder's name has no such day.
    public var start: UTCTime? {
        let text = Array(self.compactStart)
        guard text.count == 16 else { return nil }
        let date = "\(String(text[0..<4]))-\(String(text[4..<6]))-\(String(text[6..<8]))"
        let time = "\(String(text[9..<11])):\(String(text[11..<13])):\(String(text[13..<15]))"
        return UTCTime(iso8601: "\(date)T\(time)Z")
    }

    /// The journal.
    public var journalPath: String { self.path + "/journal.jsonl" }
    /// The manifest.
    public var manifestPath: String { self.path + "/manifest.json" }
    /// The folder of the track files.
    public var tracksPath: String { self.path + "/tracks" }
    /// The path of the human-readable certificate.
    public var certificatePath: String { self.path + "/certificate.txt" }
    /// The path of the export if no other is requested.
    public var exportPath: String { self.path + "/call.mkv" }

    /// Creates the folder of a new recording; the room's name may be anything.
    ///
    /// - Parameter changed: called for each folder in which a name was made. It survives a power cut after
    ///   `File.synchroniseFolder`, which this call does not wait for.
    public static func create(
        storage: String,
        room: String,
        start: UTCTime,
        id: RecordingID = .random(),
        changed: (String) -> Void = { _ in }
    ) throws(StorageError) -> RecordingFolder {
        let parent = Self.path(ofRoom: room, in: storage)
        try makeDirectories(parent, changed: changed)
        let path = "\(parent)/\(start.compact)-\(id)"
        try makeDirectory(path, changed: changed)
        try makeDirectory(path + "/tracks", changed: changed)
        return RecordingFolder(path: path, id: id, compactStart: start.compact)
    }

    /// Makes a storage directory, and those above it that are missing; returns when they are on the disk.
    ///
    /// Throws what `checkStorage` does.
    public static func makeStorage(_ path: String) throws(StorageError) {
        try Self.checkStorage(path)
        var changed: [String] = []
        try makeDirectories(path) { changed.append($0) }
        for folder in changed.reversed() + [path] { try File.synchroniseFolder(folder) }
    }

    /// Returns when the names in folders are on the disk; a folder that is not there has none.
    public static func synchronise(folders: some Sequence<String>) throws(StorageError) {
        for folder in folders {
            do throws(StorageError) {
                try File.synchroniseFolder(folder)
            } catch {
                guard error.code == .notFound else { throw error }
            }
        }
    }

    /// Opens the folder of an existing recording; throws `notFound`, or `invalid` for a folder that is not one.
    public static func open(path: String) throws(StorageError) -> RecordingFolder {
        var path = path
        while path.utf8.count > 1, path.last == "/" { path.removeLast() }
        var status = stat()
        guard stat(path, &status) == 0 else { throw StorageError(errorNumber: errno, action: "open", path: path) }
        guard let absolute = resolve(path), let folder = RecordingFolder(named: absolute),
            status.st_mode & S_IFMT == S_IFDIR
        else {
            throw StorageError(
                .invalid,
                "\(path) is not a recording: its name should be <start UTC>-<id>, like "
                    + "20260704T120000Z-0123456789abcdef",
                path: path
            )
        }
        return folder
    }

    /// Opens a recording by the path of its folder below the storage directory.
    ///
    /// The storage directory may be a link; below it neither room, folder nor `tracks` may be one: throws `notFound`, as
    /// for a folder that is gone.
    public static func open(_ relativePath: String, in storage: String) throws(StorageError) -> RecordingFolder {
        let path = storage + "/" + relativePath
        let folder = try Self.open(path: path)
        guard let root = Self.resolve(storage), folder.path == root + "/" + relativePath,
            !Self.isLink(folder.tracksPath)
        else {
            throw StorageError(.notFound, "\(path) leads out of the storage directory", path: path)
        }
        return folder
    }

    /// All recordings of a storage directory, oldest first; none when the directory is not there yet.
    ///
    /// Rooms, folders and their `tracks` that are symbolic links are left out.
    public static func list(storage: String) throws(StorageError) -> [RecordingFolder] {
        let root = Self.recordings(of: storage)
        var folders: [RecordingFolder] = []
        for room in try Self.entries(of: root) where !Self.isLink(root + "/" + room) {
            folders += try Self.list(room: root + "/" + room)
        }
        return folders.sorted { ($0.compactStart, $0.id.rawValue) < ($1.compactStart, $1.id.rawValue) }
    }

    /// The recordings in the same room's folder, this one included, oldest first; symbolic links are left out.
    public func ofSameRoom() throws(StorageError) -> [RecordingFolder] {
        let room = self.path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return try Self.list(room: room).sorted {
            ($0.compactStart, $0.id.rawValue) < ($1.compactStart, $1.id.rawValue)
        }
    }

    /// The recordings of a room, which may be called anything, in any order; symbolic links are left out.
    public static func list(storage: String, room: String) throws(StorageError) -> [RecordingFolder] {
        try Self.list(room: Self.path(ofRoom: room, in: storage))
    }

    /// The folder of a room's recordings.
    public static func path(ofRoom room: String, in storage: String) -> String {
        recordings(of: storage) + "/" + Sanitiser.pathComponent(room, fallback: "room")
    }

    private static func list(room: String) throws(StorageError) -> [RecordingFolder] {
        try Self.entries(of: room).compactMap { RecordingFolder(named: "\(room)/\($0)") }
            .filter { !Self.isLink($0.path) && !Self.isLink($0.tracksPath) }
    }

    /// The recording whose id begins with `name`, whose folder's name is `name` or begins with it and has no further start
    /// (`20261121T031226Z`), or whose folder is at the path `name`.
    ///
    /// Throws `notFound` if there is none, `invalid` if several ids begin so, and what `requireStorage` does.
    public static func find(storage: String, _ name: String) throws(StorageError) -> RecordingFolder {
        if name.contains("/") { return try Self.open(path: name) }
        try Self.requireStorage(storage)
        let found = try Self.list(storage: storage).filter {
            !name.isEmpty && $0.id.rawValue.hasPrefix(name)
                || name.hasPrefix($0.compactStart) && "\($0.compactStart)-\($0.id)".hasPrefix(name)
        }
        guard let folder = found.first else {
            throw StorageError(
                .notFound,
                "no recording \(name) in \(storage)/recordings",
                path: storage
            )
        }
        guard found.count == 1 else {
            throw StorageError(
                .invalid,
                "\(found.count) recordings begin with \(name): give more of the id",
                path: storage
            )
        }
        return folder
    }

    /// The numbers that the names of track files begin with; other files are left out.
    public func trackNumbers() throws(StorageError) -> [Int] {
        try Self.entries(of: self.tracksPath).compactMap { name in
            name.split(separator: "-", maxSplits: 1).first.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        }
    }

    /// Whether a process records into it, or closes it, judged by the lock of its journal.
    public var isHeld: Bool { (try? File(self.journalPath, .read))?.isLocked() ?? false }

    /// Bytes of all track files; those of whose size the system does not say are left out.
    public func trackBytes() throws(StorageError) -> UInt64 {
        try Self.entries(of: self.tracksPath).reduce(0) { sum, name in
            var status = stat()
            guard lstat("\(self.tracksPath)/\(name)", &status) == 0 else { return sum }
            return sum &+ UInt64(clamping: status.st_size)
        }
    }

    private init(path: String, id: RecordingID, compactStart: String) {
        self.path = path
        self.id = id
        self.compactStart = compactStart
    }

    /// The id in the name of a recording's folder; `nil` for any other name.
    public static func id(ofName name: String) -> RecordingID? { RecordingFolder(named: name)?.id }

    /// Reads start and id from the folder's name.
    init?(named path: String) {
        guard let name = path.split(separator: "/").last else { return nil }
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == "20260704T120000Z".utf8.count, parts[0].last == "Z",
            let id = RecordingID(rawValue: String(parts[1]))
        else { return nil }
        self.init(path: path, id: id, compactStart: String(parts[0]))
    }

    private static func recordings(of storage: String) -> String { storage + "/recordings" }

    private static func entries(of directory: String) throws(StorageError) -> [String] {
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw StorageError(errorNumber: EACCES, action: "list", path: directory)
        }
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    private static func makeDirectory(_ path: String, changed: (String) -> Void) throws(StorageError) {
        guard mkdir(path, 0o750) == 0 else {
            throw StorageError(errorNumber: errno, action: "create", path: path)
        }
        changed(File.folder(of: path))
    }

    /// Makes a directory and those above it that are missing.
    private static func makeDirectories(_ path: String, changed: (String) -> Void) throws(StorageError) {
        var index = path.startIndex
        while index < path.endIndex {
            index = path[path.index(after: index)...].firstIndex(of: "/") ?? path.endIndex
            do throws(StorageError) {
                try makeDirectory(String(path[..<index]), changed: changed)
            } catch {
                guard error.code == .exists else { throw error }
            }
        }
    }

    private static func resolve(_ path: String) -> String? { try? realPath(path) }
}
