// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
public import Model
internal import Subprocess
internal import SystemPackage

/// Puts, finds, checks and fetches files at a remote: each call is a process of rclone (1.60 and later).
///
/// Any task; cancelling it ends the process. The process ends with us, whatever ends us. Secrets reach it by the environment and
/// by rclone's own configuration, never by arguments, which every user of the host can see.
public struct Rclone: Sendable {
    /// What the remote has under a name.
    public struct Found: Sendable, Hashable {
        /// Its size in bytes; negative where the remote does not say.
        public var bytes: Int64
        /// The checksum, by which function, as `hashsum` names it, the strongest first; `nil` where the remote has none that we take.
        public var checksum: (function: String, value: String)? {
            for function in ["sha256", "sha1", "md5"] {
                if let value = self.hashes[function], !value.isEmpty { return (function, value) }
            }
            return nil
        }

        /// By the function's name.
        var hashes: [String: String]
    }

    /// A call that transfers nothing ends within this.
    private static let callLimit = Duration.seconds(120)
    /// A slower transfer than this is ended.
    private static let slowestBytesPerSecond: Int64 = 20_000
    private static let mostOutput = 16 << 20
    private static let mostWords = 1 << 20

    /// How setpriv runs it: it ends with its parent, a thread of swift-subprocess that lives as long as we do, and recordings
    /// go first.
    private static let manner = ["--pdeathsig", "KILL", "--", "nice", "-n", "19", "ionice", "-c", "3"]

    private let spec: UploadSpec
    private let environment: [String: String]

    /// The remote of a configuration.
    ///
    /// - Parameters:
    ///   - environment: what rclone finds in its environment, with any `RCLONE_…` in it; `nil` for our own.
    ///   - hidden: variables of it that are withheld.
    public init(
        _ spec: UploadSpec,
        environment: [String: String]? = nil,
        hiding hidden: Set<String> = []
    ) {
        self.spec = spec
        var environment = (environment ?? ProcessInfo.processInfo.environment).filter { !hidden.contains($0.key) }
        // With it the S3 of rclone 1.60 fails whatever else is set: "unable to load custom CA bundle".
        environment["AWS_CA_BUNDLE"] = nil
        // Retries are ours. A bucket is never made: the name in the configuration may be misspelt.
        let settings = [
            "RCLONE_RETRIES": "1", "RCLONE_LOW_LEVEL_RETRIES": "2", "RCLONE_CONTIMEOUT": "15s", "RCLONE_TIMEOUT": "60s",
            "RCLONE_TRANSFERS": "1", "RCLONE_CHECKERS": "2", "RCLONE_STATS": "0", "RCLONE_ASK_PASSWORD": "false",
            "RCLONE_LOG_LEVEL": "ERROR", "RCLONE_S3_NO_CHECK_BUCKET": "true", "RCLONE_S3_CHUNK_SIZE": "16Mi",
            "RCLONE_S3_UPLOAD_CONCURRENCY": "2", "GOMEMLIMIT": "100MiB",
            // Several would write a file of full size with holes, which looks whole if they are killed.
            "RCLONE_MULTI_THREAD_STREAMS": "0",
            // rclone's own but for the backslash, which SeaweedFS takes for a slash, and for control characters, with which a
            // folder there cannot be listed.
            "RCLONE_S3_ENCODING": "Slash,BackSlash,Ctl,Del,InvalidUtf8,Dot",
        ]
        environment.merge(settings) { $1 }
        if let config = spec.config { environment["RCLONE_CONFIG"] = config }
        if let limit = spec.speedLimit { environment["RCLONE_BWLIMIT"] = "\(limit)B" }
        self.environment = environment
    }

    // MARK: Files

    /// What the remote has at a place; `nil` if it has no file there.
    public func look(_ place: String) async throws(RemoteFailure) -> Found? {
        try await self.look(place, ["MD5", "SHA-1", "SHA-256"], limit: Self.callLimit)
    }

    private func look(_ place: String, _ functions: [String], limit: Duration) async throws(RemoteFailure) -> Found? {
        let kinds = functions.flatMap { ["--hash-type", $0] }
        let command = ["lsjson", "--stat", "--hash", "--no-mimetype", "--no-modtime"] + kinds
        let (code, output, words) = try await self.run(command + [Self.shown(place)], limit: limit)
        // 3 and 4: a folder or a file is not there.
        if code == 3 || code == 4 { return nil }
        guard code == 0 else { throw RemoteFailure(words: words, exitCode: code) }
        struct Answer: Decodable {
            var Size: Int64
            var IsDir: Bool
            var Hashes: [String: String]?
        }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: output) else {
            throw RemoteFailure(.other, "rclone's answer about \(place) is none")
        }
        // S3 takes what is not there for a folder.
        guard !answer.IsDir else { return nil }
        let hashes = (answer.Hashes ?? [:]).map { key, value in
            (key.lowercased().filter { $0 != "-" }, value.lowercased())
        }
        return Found(bytes: answer.Size, hashes: Dictionary(hashes) { first, _ in first })
    }

    /// Puts a file at a place.
    public func send(_ path: String, to place: String, bytes: Int64) async throws(RemoteFailure) {
        let ends = [path, place].map(Self.shown)
        _ = try await self.call(["copyto", "--no-check-dest"] + ends, limit: self.limit(ofBytes: bytes))
    }

    /// Whether what is at a place is the file at a path; how that was seen, or in which way it differs.
    ///
    /// - Parameter ours: the checksums of the file that are known, by function.
    public func compare(
        _ path: String,
        bytes: Int64,
        with place: String,
        found: Found,
        ours known: [String: String] = [:]
    ) async throws(RemoteFailure) -> Comparison {
        guard found.bytes == bytes || found.bytes < 0 else {
            return .different("\(found.bytes) bytes in place of \(bytes)")
        }
        if self.spec.verify == .checksum, let (function, value) = found.checksum {
            let ours = try await self.hash(function, ofFile: path, bytes: bytes, known)
            return ours == value ? .same("\(function):\(value)") : .different("another \(function)")
        }
        let ours = try await self.hash("sha256", ofFile: path, bytes: bytes, known)
        let theirs = try await self.hash("sha256", of: place, bytes: bytes, ["--download"])
        return ours == theirs ? .same("read:sha256:\(theirs)") : .different("another content")
    }

    /// What a comparison comes to.
    public enum Comparison: Sendable, Hashable {
        /// The same; how that was seen.
        case same(String)
        /// Not the same; in which way.
        case different(String)
    }

    /// The checksums of a file of this host that most remotes have, by function; one reading gives them all.
    public func hashes(ofFile path: String, bytes: Int64) async throws(RemoteFailure) -> [String: String] {
        try await Self.reading(path) { () async throws(RemoteFailure) in
            guard let found = try await self.look(path, ["MD5", "SHA-256"], limit: self.limit(ofBytes: bytes)) else {
                throw RemoteFailure(.other, "rclone failed: it does not find it")
            }
            return found.hashes
        }
    }

    /// The checksum of a file of this host, which may be known.
    private func hash(
        _ function: String,
        ofFile path: String,
        bytes: Int64,
        _ known: [String: String]
    ) async throws(RemoteFailure) -> String {
        if let hash = known[function] { return hash }
        return try await Self.reading(path) { () async throws(RemoteFailure) in
            try await self.hash(function, of: path, bytes: bytes)
        }
    }

    /// The remote is not to blame for a file of this host, whatever rclone's words are.
    private static func reading<Value>(
        _ path: String,
        _ body: () async throws(RemoteFailure) -> Value
    ) async throws(RemoteFailure) -> Value {
        do throws(RemoteFailure) {
            return try await body()
        } catch {
            guard error.kind != .program else { throw error }
            let words = error.description.split(separator: ": ", maxSplits: 1).last ?? ""
            throw RemoteFailure(.other, "this host's file cannot be read, \(path): \(words)")
        }
    }

    private func hash(
        _ function: String,
        of place: String,
        bytes: Int64,
        _ flags: [String] = []
    ) async throws(RemoteFailure) -> String {
        let command = ["hashsum", function] + flags + [Self.shown(place)]
        let output = try await self.call(command, limit: self.limit(ofBytes: bytes))
        guard let hash = String(decoding: output, as: UTF8.self).split(separator: " ").first, hash.count >= 32,
            hash.allSatisfy(\.isHexDigit)
        else { throw RemoteFailure(.other, "rclone could not compute \(function) of \(place)") }
        return hash.lowercased()
    }

    /// Deletes a file.
    public func delete(_ place: String) async throws(RemoteFailure) {
        _ = try await self.call(["deletefile", place], limit: Self.callLimit)
    }

    /// Removes what uploads that were killed left below a folder: unfinished multipart uploads of S3, which cost and are not seen.
    ///
    /// Other kinds of remotes have none, and refuse.
    public func cleanUp(_ folder: String) async throws(RemoteFailure) {
        _ = try await self.run(["backend", "cleanup", Self.shown(folder), "-o", "max-age=0s"], limit: Self.callLimit)
    }

    /// A path as rclone shows it, and finds it: control characters as their symbols, and such symbols quoted.
    static func shown(_ path: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in path.unicodeScalars {
            switch scalar.value {
            // The symbol of DEL follows that of the space.
            case 0x01...0x1F, 0x7F: shown.append(Unicode.Scalar(0x2400 + min(scalar.value, 0x21)) ?? scalar)
            case 0x2401...0x241F, 0x2421: shown.append(contentsOf: ["\u{201B}", scalar])
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }

    // MARK: Recordings

    /// The folders at the remote of recordings whose id begins with a text, of which the manifest was written last first.
    ///
    /// The whole remote is listed: a thousand names take a request.
    public func folders(ofRecording id: String) async throws(RemoteFailure) -> [String] {
        let filter = ["--files-only", "--include", "**-\(id)*/manifest.json"]
        let form = ["--format", "tp", "--separator", ";"]
        let output = try await self.call(["lsf", "-R"] + form + filter + [self.spec.remote], limit: .seconds(3600))
        let root = self.spec.remote.hasSuffix(":") ? self.spec.remote : self.spec.remote + "/"
        // Each begins with a time such as 2026-07-04 12:00:00.
        return String(decoding: output, as: UTF8.self).split(separator: "\n").sorted(by: >).compactMap { line in
            line.firstIndex(of: ";").map { root + line[$0...].dropFirst().dropLast("/manifest.json".count) }
        }
    }

    /// The names of the folders in a folder; none where there is no such folder.
    public func folders(in folder: String) async throws(RemoteFailure) -> [String] {
        let command = ["lsf", "--dirs-only", Self.shown(folder)]
        let (code, output, words) = try await self.run(command, limit: .seconds(600))
        if code == 3 { return [] }
        guard code == 0 else { throw RemoteFailure(words: words, exitCode: code) }
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map { String($0.dropLast()) }
    }

    /// The bytes of a small file.
    public func read(_ place: String) async throws(RemoteFailure) -> [UInt8] {
        [UInt8](try await self.call(["cat", place], limit: Self.callLimit))
    }

    /// Copies a folder of the remote to a path; files that are there already and are the same are not copied again.
    ///
    /// - Parameter patterns: the files that are copied, as rclone's filters name them; all if there are none.
    public func fetch(_ folder: String, to path: String, only patterns: [String] = []) async throws(RemoteFailure) {
        let filters = patterns.flatMap { ["--include", $0] }
        _ = try await self.call(["copy", folder, path] + filters, limit: .seconds(86_400))
    }

    // MARK: Processes

    private func limit(ofBytes bytes: Int64) -> Duration {
        // With a limit that is set, a transfer takes longer than by the limit alone.
        let slowest = min(Self.slowestBytesPerSecond, (self.spec.speedLimit ?? .max) / 2)
        return Self.callLimit + .seconds(max(0, bytes) / max(1, slowest))
    }

    /// What rclone writes to standard output; throws if it does not end with 0.
    private func call(_ arguments: [String], limit: Duration) async throws(RemoteFailure) -> Data {
        let (code, output, words) = try await self.run(arguments, limit: limit)
        guard code == 0 else { throw RemoteFailure(words: words, exitCode: code) }
        return output
    }

    private typealias End = (code: Int32?, output: Data, words: String)

    /// Runs rclone to its end; the exit code is `nil` if a signal ended it.
    private func run(_ arguments: [String], limit: Duration) async throws(RemoteFailure) -> End {
        let program = try self.program()
        var options = PlatformOptions()
        // It removes its unfinished multipart uploads then.
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(3))]
        let environment = Environment.custom(
            Dictionary(
                uniqueKeysWithValues: self.environment.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
            )
        )
        do {
            let end = try await within(limit) { [options] () -> End in
                let result = try await Subprocess.run(
                    .path("/usr/bin/setpriv"),
                    arguments: Arguments(Self.manner + [program] + arguments),
                    environment: environment,
                    platformOptions: options,
                    input: .none,
                    output: .bytes(limit: Self.mostOutput),
                    error: .string(limit: Self.mostWords)
                )
                let code: Int32? = if case .exited(let code) = result.terminationStatus { code } else { nil }
                return (code, Data(result.standardOutput), result.standardError)
            }
            guard let end else { throw RemoteFailure(tookLongerThan: limit) }
            return end
        } catch let failure as RemoteFailure {
            throw failure
        } catch {
            throw RemoteFailure(.other, "rclone could not be run: \(error)")
        }
    }

    /// Where rclone is.
    private func program() throws(RemoteFailure) -> String {
        let path = self.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        let found = path.split(separator: ":").map { "\($0)/rclone" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else {
            throw RemoteFailure(.program, "rclone is not installed: uploads need the package rclone")
        }
        return found
    }
}
