// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird

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
    case listExports(String), export(String)
    case file(recording: String, name: String)
    case webhooks, retryDelivery(String)
    case events, overview, reload

    /// The scope that a client needs; `nil` for what everybody may ask.
    var scope: Scope? {
        switch self {
        case .page, .liveness, .readiness, .showSession, .openSession, .closeSession, .description: nil
        case .metrics, .listRooms, .showRoom, .graphs, .listRecordings, .showRecording, .listExports, .events,
            .overview, .webhooks:
            .read
        case .addRoom, .changeRoom, .removeRoom, .act, .changeCamera, .deleteRecording, .export, .reload,
            .retryDelivery:
            .control
        case .thumbnail, .file: .media
        }
    }

    /// What the request body must be.
    var body: BodyRule {
        switch self {
        case .openSession, .addRoom: .json
        case .changeRoom, .changeCamera: .patch
        case .act(_, let verb): verb.body
        case .export: .optionalJSON
        default: .none
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

/// What a request body must be.
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

/// What a room can be told, as the path says it.
enum RoomVerb: String, Sendable, Hashable, CaseIterable {
    case record, pause, resume, stop, keyframe, camera, mark

    var body: BodyRule {
        switch self {
        case .record, .pause, .resume, .stop: .none
        case .keyframe: .optionalJSON
        case .camera, .mark: .json
        }
    }
}

/// The endpoints of one path, by method.
struct Route: Sendable, Hashable {
    private let endpoints: [(HTTPRequest.Method, Endpoint)]

    /// The route of a path, decoded; `nil` if there is none.
    init?(_ segments: [String]) {
        guard let endpoints = Self.endpoints(of: segments[...]) else { return nil }
        self.endpoints = endpoints
    }

    /// The endpoint for a method; HEAD is answered like GET, without the body.
    func endpoint(for method: HTTPRequest.Method) -> Endpoint? {
        let wanted = method == .head ? .get : method
        return self.endpoints.first { $0.0 == wanted }?.1
    }

    /// The methods there are, as `Allow` lists them (RFC 9110 section 10.2.1).
    var allow: String {
        self.endpoints.flatMap { $0.0 == .get ? ["GET", "HEAD"] : [$0.0.rawValue] }.joined(separator: ", ")
    }

    static func == (left: Route, right: Route) -> Bool {
        left.endpoints.elementsEqual(right.endpoints) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) {
        for (method, endpoint) in self.endpoints {
            hasher.combine(method)
            hasher.combine(endpoint)
        }
    }

    private static func endpoints(of path: ArraySlice<String>) -> [(HTTPRequest.Method, Endpoint)]? {
        switch path.first {
        case "v1": return self.versioned(path.dropFirst())
        case "healthz" where path.count == 1: return [(.get, .liveness)]
        case "readyz" where path.count == 1: return [(.get, .readiness)]
        case "metrics" where path.count == 1: return [(.get, .metrics)]
        default:
            guard path.count == 1, let file = path.first.flatMap(PageFile.init(path:)) else { return nil }
            return [(.get, .page(file))]
        }
    }

    private static func versioned(_ path: ArraySlice<String>) -> [(HTTPRequest.Method, Endpoint)]? {
        let rest = Array(path.dropFirst())
        switch (path.first, rest.count) {
        case ("rooms", _): return self.rooms(rest)
        case ("recordings", _): return self.recordings(rest)
        case ("session", 0): return [(.get, .showSession), (.post, .openSession), (.delete, .closeSession)]
        case ("events", 0): return [(.get, .events)]
        case ("overview", 0): return [(.get, .overview)]
        case ("reload", 0): return [(.post, .reload)]
        case ("webhooks", 0): return [(.get, .webhooks)]
        case ("webhooks", 3) where rest[0] == "deliveries" && rest[2] == "retry" && !rest[1].isEmpty:
            return [(.post, .retryDelivery(rest[1]))]
        case ("openapi.yaml", 0): return [(.get, .description)]
        default: return nil
        }
    }

    private static func rooms(_ rest: [String]) -> [(HTTPRequest.Method, Endpoint)]? {
        guard let name = rest.first else { return [(.get, .listRooms), (.post, .addRoom)] }
        guard !name.isEmpty else { return nil }
        switch rest.count {
        case 1: return [(.get, .showRoom(name)), (.patch, .changeRoom(name)), (.delete, .removeRoom(name))]
        case 2 where rest[1] == "graphs": return [(.get, .graphs(name))]
        case 2 where rest[1] == "camera": return [(.post, .act(name, .camera)), (.patch, .changeCamera(name))]
        case 2: return RoomVerb(rawValue: rest[1]).map { [(.post, .act(name, $0))] }
        case 4 where rest[1] == "participants" && rest[3] == "thumbnail.jpg" && !rest[2].isEmpty:
            return [(.get, .thumbnail(room: name, participant: rest[2]))]
        default: return nil
        }
    }

    private static func recordings(_ rest: [String]) -> [(HTTPRequest.Method, Endpoint)]? {
        guard let id = rest.first else { return [(.get, .listRecordings)] }
        guard !id.isEmpty else { return nil }
        if rest.count == 1 { return [(.get, .showRecording(id)), (.delete, .deleteRecording(id))] }
        if rest.count == 2, rest[1] == "exports" { return [(.get, .listExports(id)), (.post, .export(id))] }
        guard rest.count > 2, rest[1] == "files" else { return nil }
        return FileName(rest.dropFirst(2)).map { [(.get, .file(recording: id, name: $0.text))] }
    }
}

/// The name of a file inside a recording's folder, as a request may ask for it.
struct FileName: Sendable, Hashable {
    /// Longest name in bytes.
    static let maximumBytes = 1024

    /// The name, its parts joined by single slashes.
    let text: String
    /// The parts: none is empty, `.` or `..`.
    let parts: [String]

    /// A name from decoded segments, whose slashes count as separators too; `nil` if it could leave the folder.
    init?(_ segments: some Sequence<String>) {
        let text = segments.joined(separator: "/")
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= Self.maximumBytes, parts.count <= 8,
            parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) })
        else { return nil }
        self.text = text
        self.parts = parts
    }
}
