// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Rooms
public import Signalling

/// One room: where it is, when we are in it, and what we do there.
public struct RoomConfiguration: Sendable, Hashable {
    /// Its name in the configuration: how people, the HTTP interface and the log speak of it.
    public var name: String
    /// Where it is.
    public var address: ConfiguredRoomURL
    /// The name under which we appear to others, where the protocol has one.
    public var displayName: String
    /// The password of our account, the room's PIN, or the token, where the protocol has one.
    public var secret: Secret?
    /// When we are in it.
    public var join: JoinRule
    /// Whether we leave when the last other participant has left; an `always` room is then joined again only on demand.
    public var untilEmpty: Bool
    /// How important it is where not all rooms can be joined, 0 to 100.
    public var priority = 50
    /// What is recorded; `nil` records nothing unless somebody asks.
    public var record: RecordSpec?
    /// What is exported of recordings; of no meaning where nothing is recorded.
    public var export = ExportConfiguration()
    /// What we send; `nil` receives only.
    public var send: SendSpec?
    /// Where received tracks are sent on.
    public var outputs: [OutputConfiguration] = []
    /// What happens when we are thrown out or find no place.
    public var rejoin: RejoinRule
    /// The room as it was written, `${…}` unreplaced: what a merge patch applies to.
    public var definition: JSONValue

    /// A room that is always joined and recorded, and nothing is sent.
    public init(name: String, address: ConfiguredRoomURL, definition: JSONValue) {
        self.name = name
        self.address = address
        self.displayName = "tapedeck"
        self.join = .always
        self.untilEmpty = false
        self.record = RecordSpec()
        self.rejoin = RejoinRule()
        self.definition = definition
    }
}

/// A room URL that does not show its secrets.
public struct ConfiguredRoomURL: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The URL, checked.
    public let url: RoomURL
    /// The URL's text with its secrets: what a worker is given.
    public let text: Secret
    /// The URL as it was written, `${…}` unreplaced: what people are shown.
    public let description: String

    /// An address with each part given.
    public init(url: RoomURL, text: Secret, description: String) {
        self.url = url
        self.text = text
        self.description = description
    }

    /// The URL as it was written.
    public var debugDescription: String { self.description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// When we are in a room.
public enum JoinRule: Sendable, Hashable, CustomStringConvertible {
    /// As long as the daemon runs.
    case always
    /// From when somebody asks until somebody asks otherwise.
    case onDemand
    /// In the windows of a schedule.
    case schedule(Schedule)

    /// As the HTTP interface shows it.
    public var description: String {
        switch self {
        case .always: "always"
        case .onDemand: "on-demand"
        case .schedule(let schedule): schedule.description
        }
    }
}

/// What happens when we are thrown out of a room or find no place in it.
public struct RejoinRule: Sendable, Hashable {
    /// How long we stay away after we were thrown out, 1 s to 1 d; `nil`: until somebody asks.
    public var afterKick: Duration?
    /// How long we wait before we try a full room again, 1 s to 1 d.
    public var whenFull: Duration

    /// A rule with each part given.
    public init(afterKick: Duration? = .seconds(300), whenFull: Duration = .seconds(30)) {
        self.afterKick = afterKick
        self.whenFull = whenFull
    }
}
