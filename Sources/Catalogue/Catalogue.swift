// SPDX-License-Identifier: Apache-2.0

public import Basics
import Dispatch
import GRDB
import Glibc
public import Storage

/// The index of all recordings: `<storage>/catalogue.sqlite`.
///
/// Recordings, participants and tracks are rebuilt from the recordings' folders (`rebuild`); exports that wait and webhook
/// deliveries are only here. Every method may be called from any task at any time; writes are done one after the other,
/// readers do not wait for them (WAL). Methods throw `CatalogueError`, or `CancellationError` in a cancelled task.
public final class Catalogue: Sendable {
    /// An older file that was no catalogue of this program, and was put aside for a new one.
    public struct SetAside: Sendable, Hashable {
        /// Where it is now.
        public var path: String
        /// Why it was not used, one sentence.
        public var reason: String
    }

    /// The storage directory.
    public let storage: String
    /// The file found in the catalogue's place and put aside; the daemon warns once and rebuilds.
    public let setAside: SetAside?
    let pool: DatabasePool
    let summaries = RecordingSummaries()

    /// The catalogue's path in a storage directory.
    public static func path(in storage: String) -> String { storage + "/catalogue.sqlite" }

    /// Opens the catalogue of a storage directory; creates it (mode 0640) when there is none.
    ///
    /// A file that is damaged, of another program or of a later version is put aside under another name and a new
    /// catalogue begun. Blocks while SQLite checks the file: tens of milliseconds for 100 000 recordings.
    public static func open(storage: String, now: UTCTime = .now()) throws(CatalogueError) -> Catalogue {
        let path = Self.path(in: storage)
        do {
            return Catalogue(storage: storage, pool: try Self.openPool(path), setAside: nil)
        } catch {
            guard let reason = Self.uselessness(error) else { throw Self.translate(error) }
            let moved = "\(path).aside-\(now.compact)"
            for suffix in ["", "-wal", "-shm"] where rename(path + suffix, moved + suffix) != 0 && errno != ENOENT {
                throw CatalogueError(.storage, "cannot put \(path) aside: \(String(cString: strerror(errno)))")
            }
            do {
                let pool = try Self.openPool(path)
                return Catalogue(storage: storage, pool: pool, setAside: SetAside(path: moved, reason: reason))
            } catch {
                throw Self.translate(error)
            }
        }
    }

    private init(storage: String, pool: DatabasePool, setAside: SetAside?) {
        self.storage = storage
        self.pool = pool
        self.setAside = setAside
    }

    /// Closes the file; every later call throws.
    public func close() throws(CatalogueError) {
        do {
            try self.pool.close()
        } catch {
            throw Self.translate(error)
        }
    }

    // A file that is not ours, with the reason.
    private struct Foreign: Error { var reason: String }

    private static func openPool(_ path: String) throws -> DatabasePool {
        try Self.prepareFile(path)
        var configuration = Configuration()
        // More needs a negative nice value, which no service account may set: libdispatch says so in the log each time.
        configuration.qos = .default
        configuration.label = "catalogue"
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 3
        // In each of four connections 200 kB: what is read again is in the system's cache as well.
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -200")
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.write { database in
            let application = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
            let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
            guard application == Schema.applicationID || application == 0 && tables == 0 else {
                throw Foreign(reason: "it is a database of another program")
            }
            guard try !Schema.migrator.hasBeenSuperseded(database) else {
                throw Foreign(reason: "it was written by a later version of this program")
            }
            let check = try String.fetchOne(database, sql: "PRAGMA quick_check(1)") ?? "no answer"
            guard check == "ok" else { throw Foreign(reason: "it is damaged: \(check)") }
        }
        try Schema.migrator.migrate(pool)
        return pool
    }

    /// Makes sure that a regular file of the right mode is there; SQLite gives its companions the same mode.
    private static func prepareFile(_ path: String) throws {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else {
            switch errno {
            case ELOOP: throw Foreign(reason: "it is a symbolic link")
            case EISDIR: throw Foreign(reason: "it is a directory")
            case let code:
                throw CatalogueError(
                    [EACCES, EPERM, EROFS, ENOTDIR].contains(code) ? .denied : .storage,
                    "cannot open \(path): \(String(cString: strerror(code)))"
                )
            }
        }
        defer { _ = Glibc.close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Foreign(reason: "it is not a regular file")
        }
    }

    /// Why a file can never be used as the catalogue; `nil` if the failure has another cause.
    private static func uselessness(_ error: any Error) -> String? {
        switch error {
        case let foreign as Foreign: foreign.reason
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_NOTADB: "it is not a database"
            case .SQLITE_CORRUPT: "it is damaged"
            default: nil
            }
        default: nil
        }
    }

    private static func translate(_ error: any Error) -> CatalogueError {
        switch error {
        case let error as CatalogueError: error
        case let error as DatabaseError: CatalogueError(error)
        default: CatalogueError(.storage, "the catalogue failed: \(error)")
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await self.pool.read(body)
        } catch let error as DatabaseError {
            throw CatalogueError(error)
        }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await self.pool.write(body)
        } catch let error as DatabaseError {
            throw CatalogueError(error)
        }
    }
}
