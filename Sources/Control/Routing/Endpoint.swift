// SPDX-License-Identifier: Apache-2.0

import Model
import Observability

/// Everything that can be asked, with the names that the path held.
enum Endpoint: Sendable, Hashable {
    case page(PageFile)
    case liveness, readiness, metrics, description
    case showSession, openSession, closeSession
    case listRooms, addRoom
    case showRoom(String), changeRoom(String), removeRoom(String)
    case act(String, RoomVerb), changeCamera(String)
    case thumbnail(room: String, participant: String)
    case graphs(String)
    case listRecordings
    case showRecording(String), deleteRecording(String)
    case recordingTimeline(String), recordingImage(String), recordingLevels(String), archive(String)
    case listExports(String), export(String), cancelExport(String, recording: String)
    case file(recording: String, name: String)
    case webhooks, retryDelivery(String)
    case events, overview, reload
    case showCluster, drain, undrain

    /// The scope that a client needs; `nil` for requests open to all.
    var scope: Scope? {
        switch self {
        case .page, .liveness, .readiness, .showSession, .openSession, .closeSession, .description: nil
        case .metrics, .listRooms, .showRoom, .graphs, .listRecordings, .showRecording, .recordingTimeline,
            .listExports, .events, .overview, .webhooks, .showCluster:
            .read
        case .addRoom, .changeRoom, .removeRoom, .act, .changeCamera, .deleteRecording, .export, .cancelExport,
            .reload, .retryDelivery, .drain, .undrain:
            .control
        case .thumbnail, .recordingImage, .recordingLevels, .file, .archive: .media
        }
    }

    /// What it is about, by which a cluster knows the host that answers.
    var subject: ControlSubject? {
        switch self {
        case .showRoom(let room), .changeRoom(let room), .removeRoom(let room), .act(let room, _),
            .changeCamera(let room), .thumbnail(let room, _), .graphs(let room):
            .room(room)
        case .showRecording(let id), .deleteRecording(let id), .recordingTimeline(let id), .recordingImage(let id),
            .recordingLevels(let id), .archive(let id), .listExports(let id), .export(let id), .cancelExport(_, let id),
            .file(let id, _):
            .recording(id)
        case .page, .liveness, .readiness, .metrics, .description, .showSession, .openSession, .closeSession,
            .listRooms, .addRoom, .listRecordings, .webhooks, .retryDelivery, .events, .overview, .reload, .showCluster,
            .drain, .undrain:
            nil
        }
    }

    /// Whether other hosts of the cluster ask for it, with a token that is good for nothing else.
    var isForHosts: Bool {
        switch self {
        case .listRooms, .listRecordings: true
        default: self.subject != nil
        }
    }

    /// The group of its metrics.
    var group: RouteGroup {
        switch self {
        case .page: .dashboard
        case .liveness, .readiness: .health
        case .metrics: .metrics
        case .listRooms, .addRoom, .showRoom, .changeRoom, .removeRoom, .act, .changeCamera, .thumbnail, .graphs: .rooms
        case .listRecordings, .showRecording, .recordingTimeline, .recordingImage, .recordingLevels, .deleteRecording,
            .listExports, .export, .cancelExport:
            .recordings
        case .file, .archive: .files
        case .events: .events
        case .description, .showSession, .openSession, .closeSession, .webhooks, .retryDelivery, .overview, .reload,
            .showCluster, .drain, .undrain:
            .other
        }
    }

    /// The rule for its request body.
    var body: BodyRule {
        switch self {
        case .openSession, .addRoom: .json
        case .changeRoom, .changeCamera: .patch
        case .act(_, let verb): verb.body
        case .export, .drain: .optionalJSON
        default: .none
        }
    }

    /// Whether answers have an entity tag, which conditions of requests can name.
    var hasEntityTag: Bool {
        switch self {
        case .page, .file, .archive: true
        default: false
        }
    }

    /// Whether `Idempotency-Key` has a meaning.
    var isRepeatable: Bool {
        switch self {
        case .addRoom, .act, .export, .reload, .retryDelivery: true
        default: false
        }
    }
}

/// The rule for a request body.
enum BodyRule: Sendable, Hashable {
    /// Empty, or ignored where a method has none.
    case none
    /// A JSON object.
    case json
    /// A JSON object or nothing.
    case optionalJSON
    /// A JSON merge patch (RFC 7396), also taken as JSON.
    case patch
}
