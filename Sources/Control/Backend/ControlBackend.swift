// SPDX-License-Identifier: Apache-2.0

public import Rooms

/// What the HTTP interface asks of the daemon.
///
/// Every method may be called at any time, from any task. Names and ids come from requests and may be anything.
public protocol ControlBackend: Sendable {
    /// Every room, by name.
    func rooms() async -> [RoomResource]
    /// One room; throws `notFound`.
    func room(_ name: String) async throws(ControlError) -> RoomResource
    /// Adds a room until the daemon ends; throws `conflict` if the name is taken, `invalid` with every problem.
    ///
    /// - Parameter definition: what the configuration holds under the room's name, as JSON text.
    func addRoom(_ name: String, definition: String) async throws(ControlError) -> RoomResource
    /// Changes parts of a room's definition (RFC 7396 merge patch); what is not named stays.
    func changeRoom(_ name: String, patch: String) async throws(ControlError) -> RoomResource
    /// Leaves and forgets a room; one of the configuration comes back with the next reload that changes it.
    func removeRoom(_ name: String) async throws(ControlError)
    /// Tells a room something; returns when its worker has taken it, and the room as it is then.
    func perform(_ action: RoomAction, on room: String) async throws(ControlError) -> RoomResource
    /// A JPEG image of a participant's last keyframe; throws `notFound` while there is none.
    func thumbnail(room: String, participant: String) async throws(ControlError) -> [UInt8]
    /// The room's pipelines by name, in the DOT language.
    func pipelineGraphs(room: String) async throws(ControlError) -> [String: String]

    /// A page of recordings, newest first.
    func recordings(_ query: RecordingQuery) async throws(ControlError) -> RecordingPage
    /// One recording; throws `notFound`.
    func recording(_ id: String) async throws(ControlError) -> RecordingResource
    /// Deletes a recording with its files; throws `conflict` while it goes on.
    func deleteRecording(_ id: String) async throws(ControlError)
    /// Queues an export.
    func export(_ recording: String, _ request: ExportRequest) async throws(ControlError) -> ExportResource
    /// Every export of a recording since the daemon started, and those that its manifest knows.
    func exports(_ recording: String) async throws(ControlError) -> [ExportResource]
    /// Path of a recording's file, for a name that `RecordingResource.files` lists; nothing else is ever opened.
    func filePath(_ recording: String, file: String) async throws(ControlError) -> String

    /// How the webhooks do, and the newest deliveries that were given up.
    func webhooks() async throws(ControlError) -> WebhookOverview
    /// Tries a delivery that was given up for another day; throws `notFound`.
    func retryDelivery(_ id: String) async throws(ControlError)

    /// Reads the configuration again; throws `invalid` with every problem, and the old one stays in force.
    func reload() async throws(ControlError)
    /// Whether the daemon does what it is for; the reasons if it does not.
    func health() async -> Health
    /// What `tapedeck status` shows.
    func overview() async -> Overview
}

/// What can be told a room.
public enum RoomAction: Sendable, Hashable {
    /// Joins if need be, and records.
    case record
    /// Leaves media out of the recording.
    case pause
    /// Ends a pause.
    case resume
    /// Finishes the recording; a room that is joined on demand is left.
    case stop
    /// Asks every sender, or one, for a keyframe.
    case requestKeyframe(participant: String?)
    /// Changes what we send; `nil` sends nothing.
    case camera(SendSpec?)
    /// Changes parts of what we send.
    case changeCamera(CameraChange)
    /// Notes an instant in the recording.
    case mark(String)
}

/// Whether the daemon does what it is for.
public struct Health: Sendable, Hashable, Codable {
    /// Whether the daemon runs as it should: supervisor loop alive, storage writable.
    public var isLive: Bool
    /// Whether it has also taken up its rooms and takes more.
    public var isReady: Bool
    /// What is wrong, one sentence each.
    public var problems: [String]

    /// Health with each part given.
    public init(isLive: Bool, isReady: Bool, problems: [String] = []) {
        self.isLive = isLive
        self.isReady = isReady
        self.problems = problems
    }

    private enum CodingKeys: String, CodingKey {
        case isLive = "live"
        case isReady = "ready"
        case problems
    }
}
