// SPDX-License-Identifier: Apache-2.0

/// Everything that a worker needs to be in a room.
public struct RoomSpec: Sendable, Hashable, Codable {
    /// The display name of those who were given none.
    public static let usualName = "tapedeck"
    /// The room's name in the configuration: how commands and events speak of it.
    public var name: String
    /// The room URL, with its secrets.
    public var url: String
    /// The name under which we appear to others, where the protocol has one.
    public var displayName: String
    /// The password of our account, the room's PIN, or the token; `nil` where there is none.
    public var secret: String?
    /// The storage directory.
    public var storage: String
    /// Whether and what is recorded; `nil` records nothing until `.record`.
    public var record: RecordSpec?
    /// The folder of an unfinished recording of this room that goes on as its next part.
    public var continues: String?
    /// What we send; `nil` receives only.
    public var send: SendSpec?
    /// Where tracks are sent on; `nil`: nowhere.
    public var outputs: [OutputSpec]?
    /// About how many seconds a full room is left alone before the next try, 1 to 86 400; `nil`: 5, 10, 20, then every 30.
    public var whenFullSeconds: Int?
    /// How many seconds we stay away after the server put us out, 1 to 86 400; `nil`: until somebody asks.
    ///
    /// The worker gives the room up; the supervisor waits.
    public var afterKickSeconds: Int?
    /// How important the room is where not all of them can be joined, 0 to 100; `nil`: 50.
    ///
    /// For the supervisor; a worker has the rooms that it is given.
    public var priority: Int?
    /// The priority of rooms that say nothing of it.
    public static let usualPriority = 50
    /// How peers reach us.
    public var ice: NetworkSpec

    /// An order that records nothing and sends nothing.
    public init(name: String, url: String, displayName: String = RoomSpec.usualName, storage: String) {
        self.name = name
        self.url = url
        self.displayName = displayName
        self.storage = storage
        self.ice = NetworkSpec()
    }
}
