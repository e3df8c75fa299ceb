// SPDX-License-Identifier: Apache-2.0

import Basics
public import Model

/// Calls of the HTTP API to the daemon.
///
/// Every method may be called at any time, from any task. Names and ids come from requests and may be anything.
public protocol ControlBackend: Sendable {
    /// Every room of the cluster, or of this host alone, by name.
    func rooms(isLocal: Bool) async -> RoomList
    /// One room; throws `notFound`.
    func room(_ name: String) async throws(ControlError) -> RoomResource
    /// Adds a room, which is kept across restarts; throws `conflict` if the name is taken, `invalid` with every problem.
    ///
    /// - Parameter definition: what the configuration holds under the room's name, as JSON text.
    func addRoom(_ name: String, definition: String) async throws(ControlError) -> RoomResource
    /// Changes parts of a room's definition (RFC 7396 merge patch); what is not named stays.
    func changeRoom(_ name: String, patch: String) async throws(ControlError) -> RoomResource
    /// Leaves and forgets a room; one of the configuration comes back with the next reload that changes it.
    func removeRoom(_ name: String) async throws(ControlError)
    /// Performs an action on a room; returns the new state of the room when its worker has accepted it.
    func perform(_ action: RoomAction, on room: String) async throws(ControlError) -> RoomResource
    /// A JPEG image of a participant's last keyframe; throws `notFound` while there is none.
    func thumbnail(room: String, participant: String) async throws(ControlError) -> [UInt8]
    /// The room's pipelines by name, in the DOT language.
    func pipelineGraphs(room: String) async throws(ControlError) -> [String: String]

    /// A page of recordings, newest first.
    func recordings(_ query: RecordingQuery) async throws(ControlError) -> RecordingPage
    /// One recording; throws `notFound`.
    func recording(_ id: String) async throws(ControlError) -> RecordingResource
    /// The course of a recording: presence, speech, gaps and events.
    func timeline(recording: String) async throws(ControlError) -> RecordingTimeline
    /// A JPEG image of a recording; throws `notFound` where it has no video.
    ///
    /// - Parameter second: a time from its beginning; nil for an image of the whole recording.
    func thumbnail(recording: String, at second: Int?) async throws(ControlError) -> [UInt8]
    /// How loud each participant of a recording is; throws `notFound` before its first export.
    func levels(recording: String) async throws(ControlError) -> RecordingLevels
    /// Deletes a recording with its files; throws `conflict` while it is in progress.
    func deleteRecording(_ id: String) async throws(ControlError)
    /// Queues an export.
    func export(_ recording: String, _ spec: ExportSpec) async throws(ControlError) -> ExportResource
    /// Every export of a recording since the daemon started, and those that its manifest knows.
    func exports(_ recording: String) async throws(ControlError) -> [ExportResource]
    /// Takes an export that waits out of the queue; throws `notFound`, and `conflict` if it runs or is over.
    func cancelExport(_ export: String, of recording: String) async throws(ControlError)
    /// Path of a recording's file, for a name that `RecordingResource.files` lists; nothing else is ever opened.
    func filePath(_ recording: String, file: String) async throws(ControlError) -> String

    /// State of the webhooks, and the newest deliveries that failed for good.
    func webhooks() async throws(ControlError) -> WebhookOverview
    /// Retries a failed delivery for another day; throws `notFound`.
    func retryDelivery(_ id: String) async throws(ControlError)

    /// The other host of the cluster that has a room or a recording; nil where this host answers for it. Throws `unavailable`
    /// if that cannot be found out.
    func host(of subject: ControlSubject) async throws(ControlError) -> (any ControlPeer)?
    /// The cluster of this host; throws `notFound` where it has none.
    func cluster() async throws(ControlError) -> ClusterResource
    /// Takes no more rooms of the cluster and hands on those that this host has, all of them within this time; nil takes
    /// rooms again. A drain is kept across restarts of the daemon unless it is `untilRestart`. Throws `notFound` without a
    /// cluster.
    func drain(within time: Duration?, untilRestart: Bool) async throws(ControlError) -> ClusterResource

    /// Reads the configuration again; throws `invalid` with every problem, and the old one stays in force.
    func reload() async throws(ControlError) -> ReloadReport
    /// Whether the daemon does what it is for; the reasons if it does not.
    func health() async -> Health
    /// The overview that `tapedeck status` shows.
    func overview() async -> Overview
}

/// Which recordings are asked for.
public struct RecordingQuery: Sendable, Hashable {
    /// Only of this room.
    public var room: String?
    /// Only those whose room, id, tags, notes or participants contain this text.
    public var text: String?
    /// Only those that began at this time or later: RFC 3339.
    public var from: String?
    /// Only those that began before this time: RFC 3339.
    public var to: String?
    /// Most recordings of the page, 1 to 200.
    public var limit: Int
    /// Where the page begins, as the page before said.
    public var cursor: String?
    /// Whether only those of this host are asked for, in a cluster.
    public var isLocal = false

    /// The first page of everything.
    public init(limit: Int = 50) {
        self.limit = limit
    }

    /// Path and query of a request for it.
    public var target: String {
        let items: [(String, String?)] = [
            ("limit", String(self.limit)), ("cursor", self.cursor), ("room", self.room), ("text", self.text),
            ("from", self.from), ("to", self.to), ("local", self.isLocal ? "true" : nil),
        ]
        let text = items.compactMap { name, value in value.map { "\(name)=\(PercentCoding.encode($0))" } }
        return "/v1/recordings?" + text.joined(separator: "&")
    }
}

/// An action on a room.
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
