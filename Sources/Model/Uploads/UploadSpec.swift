// SPDX-License-Identifier: Apache-2.0

/// Where finished recordings are uploaded to, and how: `storage.upload` of the configuration.
public struct UploadSpec: Sendable, Hashable {
    /// A part of a recording that is uploaded; the manifest always is, as the last file.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        /// The files of the tracks.
        case tracks
        /// The journal.
        case journal
        /// What was exported.
        case exports
        /// The certificate as text, and its signature.
        case certificate
    }

    /// What shows that the remote has a file as it is here.
    public enum Verification: String, Sendable, Hashable, CaseIterable {
        /// The remote's checksum; where it has none, as `read`.
        case checksum
        /// The length, and what is read back.
        case read
    }

    /// The remote and the folder in it, as rclone names them: `arc:recordings`.
    public var remote: String
    /// rclone's configuration file; `nil` for the one that rclone finds.
    public var config: String?
    /// The folder of a recording's folder below `remote`; see `folder(room:start:name:)`.
    public var prefix = "{room}/{day}"
    /// What is uploaded.
    public var parts = Set(Part.allCases)
    /// Bytes a second that go out at most; `nil` sets no limit.
    public var speedLimit: Int64?
    /// What shows that a file arrived.
    public var verify = Verification.checksum

    /// All parts, to one remote.
    public init(remote: String) {
        self.remote = remote
    }

    /// The folder of a recording at the remote, such as `arc:recordings/standup/2026-07-04/20260704T120000Z-0123456789abcdef`.
    ///
    /// - Parameters:
    ///   - room: the name of the room's folder, which stands for `{room}`.
    ///   - name: the name of the recording's folder, which begins with the day that stands for `{day}`, and has the id: no
    ///     two recordings have one place.
    public func folder(room: String, name: String) -> String {
        let digits = Array(name.prefix(8))
        let day =
            digits.count == 8 ? "\(String(digits[..<4]))-\(String(digits[4..<6]))-\(String(digits[6...]))" : "undated"
        var path = self.prefix
        for (key, value) in [("{day}", day), ("{room}", room)] {
            path = path.split(separator: key, omittingEmptySubsequences: false).joined(separator: value)
        }
        return ([self.root] + (path.isEmpty ? [] : [path + "/"]) + [name]).joined()
    }

    /// Whether a place is in the remote and the folder that are configured.
    public func contains(_ place: String) -> Bool { place.hasPrefix(self.root) }

    /// The beginning of every place at the remote, which may be named without a folder, as `arc:`.
    private var root: String { self.remote.hasSuffix(":") ? self.remote : self.remote + "/" }

    /// The place of a file in the order of a recording's uploads; `nil` for one that is not uploaded.
    ///
    /// - Parameter file: its name relative to the recording's folder.
    public func rank(of file: String) -> Int? {
        let part: Part
        switch file {
        case "manifest.json": return Part.allCases.count
        case "journal.jsonl": part = .journal
        case "certificate.txt", "certificate.txt.sig": part = .certificate
        default: part = file.hasPrefix("tracks/") ? .tracks : .exports
        }
        return self.parts.contains(part) ? Part.allCases.firstIndex(of: part) : nil
    }
}
