// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Observability

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

    /// The group of the metrics of the path's requests, whatever their method.
    var group: RouteGroup { self.endpoints.first?.1.group ?? .other }

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
        case ("cluster", 0): return [(.get, .showCluster)]
        case ("cluster", 1) where rest[0] == "drain": return [(.post, .drain)]
        case ("cluster", 1) where rest[0] == "undrain": return [(.post, .undrain)]
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
        if rest.count == 2 {
            switch rest[1] {
            case "timeline": return [(.get, .recordingTimeline(id))]
            case "thumbnail.jpg": return [(.get, .recordingImage(id))]
            case "levels": return [(.get, .recordingLevels(id))]
            case "archive.tar": return [(.get, .archive(id))]
            default: return nil
            }
        }
        if rest.count == 3, rest[1] == "exports", !rest[2].isEmpty {
            return [(.delete, .cancelExport(rest[2], recording: id))]
        }
        guard rest.count > 2, rest[1] == "files" else { return nil }
        return FileName(rest.dropFirst(2)).map { [(.get, .file(recording: id, name: $0.text))] }
    }
}
