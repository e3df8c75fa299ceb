// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Why something at a remote did not work.
public struct RemoteFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// rclone is not installed.
        case program
        /// rclone's configuration has no such remote, or cannot be read.
        case name
        /// The remote's address is not found or does not answer.
        case host
        /// The remote does not know the user, or the secret is wrong.
        case credentials
        /// This host's clock differs from the remote's.
        case clock
        /// There is no such bucket or folder.
        case bucket
        /// The user may not do this there.
        case rights
        /// The remote has no room.
        case full
        /// It took too long.
        case time
        /// What came back is not what was sent.
        case content
        /// Anything else.
        case other
    }

    /// The kind of failure.
    public var kind: Kind
    /// One sentence for a person, without a secret.
    public var description: String

    /// A failure with both parts given.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// What takes longer than it may.
    init(tookLongerThan limit: Duration) {
        self.init(.time, "\(Self.title(.time)): more than \(DurationText.text(limit))")
    }

    /// Whether other files would fail at present in the same way.
    public var concernsAll: Bool { ![.content, .other].contains(self.kind) }

    /// The longest text of rclone's that is passed on.
    private static let longestWords = 300

    /// What rclone wrote when it failed (1.60 and later), as texts in lower case; the first that is found counts.
    private static let signs: [(Kind, [String])] = [
        (
            .clock,
            [
                "requesttimetooskewed", "request time and the current time is too large", "requestexpired",
                // A certificate that is not valid yet.
                " is before 20",
            ]
        ),
        (
            .name,
            [
                "didn't find section in config file", "couldn't decrypt", "failed to load config file",
                "didn't find backend",
            ]
        ),
        (
            .bucket,
            ["nosuchbucket", "bucket does not exist", "bucket doesn't exist", "directory not found", "404 not found"]
        ),
        (
            .credentials,
            [
                "invalidaccesskeyid", "signaturedoesnotmatch", "expiredtoken", "invalidtoken", "401 unauthorized",
                "status code: 401", "unable to authenticate", "nocredentialproviders", "invalid_grant",
                "couldn't fetch token",
            ]
        ),
        (
            .rights,
            ["accessdenied", "access denied", "permission denied", "403 forbidden", "forbidden", "methodnotallowed"]
        ),
        (.full, ["no space left", "quotaexceeded", "insufficient storage", "507 "]),
        (
            .host,
            [
                "no such host", "connection refused", "network is unreachable", "no route to host", "i/o timeout",
                "tls handshake timeout", "x509:", "connection reset", "unexpected eof", ": eof", "deadline exceeded",
                "503 service", "status code: 503", "status code: 500", "502 bad gateway",
            ]
        ),
        (.content, ["corrupted on transfer", "baddigest", "multipart upload corrupted", "object not found"]),
    ]

    /// Reads what rclone wrote to standard error before it ended with a code that is not 0.
    public init(words: String, exitCode: Int32?) {
        let lines = words.split(whereSeparator: \.isNewline).map(Self.sentence).filter { !$0.isEmpty }
        let text = words.lowercased()
        let kind = Self.signs.first { $0.1.contains { text.contains($0) } }?.0 ?? .other
        // The last line that begins with a time says what the command comes to; those after it continue it.
        let last = lines.lastIndex { $0.hasPrefix("Failed to ") || $0.hasPrefix("ERROR : ") } ?? 0
        let said =
            lines.isEmpty
            ? "it ended with code \(exitCode.map(String.init) ?? "?")" : lines[last...].joined(separator: ", ")
        self.init(kind, "\(Self.title(kind)): \(String(said.prefix(Self.longestWords)))")
    }

    /// What a kind means, in a few words.
    private static func title(_ kind: Kind) -> String {
        switch kind {
        case .program: "rclone is not installed"
        case .name: "rclone's configuration does not have the remote, or cannot be read"
        case .host: "the remote does not answer"
        case .credentials: "the remote refuses the user or the secret"
        case .clock: "this host's clock is wrong, or the remote's"
        case .bucket: "the remote has no such bucket or folder"
        case .rights: "the remote does not let this user do that"
        case .full: "the remote has no room"
        case .time: "the remote took too long"
        case .content: "what arrived is not what was sent"
        case .other: "rclone failed"
        }
    }

    /// A line without the time at its beginning, and without the number of the request at its end.
    private static func sentence(_ line: Substring) -> String {
        var words = line.split(whereSeparator: \.isWhitespace)
        if let first = words.first, first.count == 10, first.split(separator: "/").count == 3 { words.removeFirst(2) }
        var text = words.joined(separator: " ")
        if let end = text.firstRange(of: ", request id:") { text = String(text[..<end.lowerBound]) }
        return text
    }
}
