// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Timeline

/// A room: where it is, what we do there, and what the host adds.
///
/// It is what a worker needs to be in it.
public struct RoomSpec: Sendable, Hashable, Codable {
    /// The room's name in the configuration: how commands and events speak of it.
    public var name: String
    /// The room URL, with its secrets.
    public var url: Secret
    /// The name under which we appear to others, where the protocol has one; `nil` for the one of `shownName`.
    public var displayName: String?
    /// The password of our account, the room's PIN, or the token; `nil` where there is none.
    public var secret: Secret?
    /// Whether and what is recorded; `nil` records nothing.
    public var record: RecordSpec?
    /// What we send; `nil` receives only.
    public var send: SendSpec?
    /// Where tracks are sent on.
    public var outputs: [OutputSpec] = []
    /// About how many seconds a full room is left alone before the next try; `nil`: 5, 10, 20, then every 30.
    public var whenFullSeconds: Int?
    /// How many seconds we stay away after the server kicked us; `nil`: until an operator asks.
    ///
    /// The worker gives the room up; the supervisor waits.
    public var afterKickSeconds: Int?
    /// How important the room is where not all of them can be joined, 0 to 100.
    ///
    /// For the supervisor; a worker has the rooms that it is given.
    public var priority = RoomSpec.usualPriority
    /// The storage directory, an absolute path.
    public var storage: String
    /// The folder of an unfinished recording of this room that continues as its next part.
    public var continues: String?
    /// Whether it is recorded at present.
    public var recording = Recording.automatic
    /// How peers reach us.
    public var ice = NetworkSpec()
    /// The claim under which everything is written; `nil` for a room that no cluster shares.
    public var claim: RecordingClaim?

    /// Whether a room is recorded; without `record` nothing is.
    public enum Recording: String, Sendable, Hashable, Codable, CaseIterable {
        /// As `record` says. A room in which nothing starts automatically keeps the recording that is in progress.
        case automatic
        /// From now on, whatever `record` says.
        case on
        /// The recording in progress leaves out what comes; the next one does not.
        case paused
        /// Nothing.
        case off
    }

    /// The display name of those who were given none, and do not record.
    public static let usualName = "tapedeck"
    /// The display name of those who were given none, and record: participants are to know.
    public static let recorderName = "Recording"
    /// The priority of rooms that say nothing of it.
    public static let usualPriority = 50
    /// What `priority` takes.
    public static let priorityRange = 0...100
    /// What `whenFullSeconds` and `afterKickSeconds` take: up to a day.
    public static let waitRange = 1...86_400

    /// A room in which nothing is recorded and nothing sent.
    public init(name: String, url: String, storage: String) {
        self.name = name
        self.url = Secret(url)
        self.storage = storage
    }

    /// Reads what is there; `name`, `url` and `storage` must be, what else is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.name = try values.decode(String.self, forKey: .name)
        self.url = try values.decode(Secret.self, forKey: .url)
        self.storage = try values.decode(String.self, forKey: .storage)
        try values.read(.displayName, into: &self.displayName)
        try values.read(.secret, into: &self.secret)
        try values.read(.record, into: &self.record)
        try values.read(.send, into: &self.send)
        try values.read(.outputs, into: &self.outputs)
        try values.read(.whenFullSeconds, into: &self.whenFullSeconds)
        try values.read(.afterKickSeconds, into: &self.afterKickSeconds)
        try values.read(.priority, into: &self.priority)
        try values.read(.continues, into: &self.continues)
        try values.read(.recording, into: &self.recording)
        try values.read(.ice, into: &self.ice)
        try values.read(.claim, into: &self.claim)
    }

    /// The name under which we appear to others.
    ///
    /// - Parameter records: whether we are there to record.
    public func shownName(records: Bool) -> String {
        self.displayName ?? (records ? Self.recorderName : Self.usualName)
    }

    /// Everything that is wrong but the URL and the servers of `ice`, in sentences.
    public var problems: [String] {
        var problems: [String] = []
        if self.name.isEmpty { problems.append("the room has no name") }
        if !self.storage.hasPrefix("/") { problems.append("the storage directory is not an absolute path") }
        let waits = [("whenFullSeconds", self.whenFullSeconds), ("afterKickSeconds", self.afterKickSeconds)]
        for case (let key, let seconds?) in waits {
            if let problem = RangeProblem(key, seconds, in: Self.waitRange) { problems.append(problem.description) }
        }
        problems += self.record?.problems.map(\.description) ?? []
        problems += self.send?.problems.map(\.description) ?? []
        return problems + OutputSpec.problems(of: self.outputs)
    }
}

/// The parts of a room that may change by themselves.
public enum RoomPart: String, Sendable, Hashable, Codable, CodingKeyRepresentable, CaseIterable {
    /// Where it is.
    case address
    /// The name under which we appear.
    case displayName
    /// The password, PIN or token.
    case secret
    /// When we are in it; of a definition only.
    case join
    /// Whether we leave an empty room; of a definition only.
    case untilEmpty
    /// How much of a host's capacity it takes in a cluster; of a definition only.
    case cost
    /// How important it is.
    case priority
    /// What is recorded.
    case record
    /// Whether it is recorded at present.
    case recording
    /// What is sent.
    case send
    /// Where tracks are sent on.
    case outputs
    /// What happens after a kick, or when it is full.
    case rejoin
    /// What the host adds: storage, the recording that continues, how peers reach us, its claim.
    case host
}

extension RoomSpec {
    /// What differs from another spec of the same room; empty if they mean the same.
    public func changes(from old: RoomSpec) -> Set<RoomPart> {
        var parts: Set<RoomPart> = []
        if self.url != old.url { parts.insert(.address) }
        if self.displayName != old.displayName { parts.insert(.displayName) }
        if self.secret != old.secret { parts.insert(.secret) }
        if self.priority != old.priority { parts.insert(.priority) }
        if self.record != old.record { parts.insert(.record) }
        if self.recording != old.recording { parts.insert(.recording) }
        if self.send != old.send { parts.insert(.send) }
        if self.outputs != old.outputs { parts.insert(.outputs) }
        if self.whenFullSeconds != old.whenFullSeconds || self.afterKickSeconds != old.afterKickSeconds {
            parts.insert(.rejoin)
        }
        if self.storage != old.storage || self.continues != old.continues || self.ice != old.ice
            || self.claim != old.claim
        {
            parts.insert(.host)
        }
        return parts
    }
}
