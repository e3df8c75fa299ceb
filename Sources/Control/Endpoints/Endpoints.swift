// SPDX-License-Identifier: Apache-2.0

import Basics
internal import EmbeddedFiles
import HTTPTypes
import Hummingbird
import Model
import NIOCore
import Observability

/// The work of every endpoint, once a request is admitted: calls the backend, and formats its answer.
struct Endpoints: Sendable {
    /// A request as an endpoint needs it.
    struct Call: Sendable {
        /// The request.
        var request: Request
        /// The client; `nil` without credentials.
        var client: Gatekeeper.Client?
        /// The client's address.
        var address: String
        /// The members of the body; empty without one.
        var body: [String: JSONValue] = [:]
        /// The body as it came.
        var text = ""
        /// Time since the server's origin of time.
        var now: Duration
    }

    let backend: any ControlBackend
    let events: EventHub
    let gatekeeper: Gatekeeper
    let metrics: @Sendable (PrometheusFormat) async -> String
    let eventStreams: Int
    let cookieIsSecure: Bool

    /// Answers a request; throws `Problem` and `ControlError`.
    func response(to endpoint: Endpoint, _ call: Call) async throws -> Response {
        switch endpoint {
        case .file(let recording, let name):
            if let peer = try await self.peer(for: endpoint, call) {
                try await self.forwardFile(call, to: peer)
            } else {
                try await self.file(recording, name, call)
            }
        case .archive(let recording):
            if let peer = try await self.peer(for: endpoint, call) {
                try await self.forwardFile(call, to: peer)
            } else {
                try await self.archive(recording, call)
            }
        case .events: try self.eventStream(call)
        default: try await self.reply(to: endpoint, call).response
        }
    }

    /// Answers a request whose answer is in memory as a whole.
    func reply(to endpoint: Endpoint, _ call: Call) async throws -> Reply {
        if let peer = try await self.peer(for: endpoint, call) { return try await self.forward(call, to: peer) }
        switch endpoint {
        case .page(let file):
            let headers = call.request.headers
            return file.reply(ifNoneMatch: headers[.ifNoneMatch], ifMatch: headers[.ifMatch])
        case .description: return Self.description
        case .liveness: return try await self.liveness()
        case .readiness: return try await self.readiness()
        case .metrics:
            let format = PrometheusFormat(accept: call.request.headers[.accept])
            return Reply(
                status: .ok,
                type: format.contentType,
                body: ByteBuffer(string: await self.metrics(format))
            )
        case .overview: return Reply(json: await self.backend.overview())
        case .reload:
            try call.takesNoFields()
            return Reply(json: try await self.backend.reload())
        case .showCluster:
            try call.takesNoQuery()
            return Reply(json: try await self.backend.cluster())
        case .drain:
            let (time, untilRestart) = try RequestBodies.drain(call.body)
            return Reply(json: try await self.backend.drain(within: time, untilRestart: untilRestart))
        case .undrain:
            try call.takesNoFields()
            return Reply(json: try await self.backend.drain(within: nil, untilRestart: false))
        case .webhooks: return Reply(json: try await self.backend.webhooks())
        case .retryDelivery(let id):
            try call.takesNoFields()
            try await self.backend.retryDelivery(id)
            return .noContent
        case .showSession: return self.showSession(call)
        case .openSession: return try self.openSession(call)
        case .closeSession: return self.closeSession(call)
        case .listRooms, .addRoom, .showRoom, .changeRoom, .removeRoom, .act, .changeCamera, .thumbnail,
            .graphs:
            return try await self.room(endpoint, call)
        case .listRecordings, .showRecording, .recordingTimeline, .recordingImage, .recordingLevels, .deleteRecording,
            .listExports, .export, .cancelExport, .file, .archive, .events:
            return try await self.recording(endpoint, call)
        }
    }

    private static let description = Reply(
        status: .ok,
        type: "application/yaml; charset=utf-8",
        body: ByteBuffer(bytes: EmbeddedFile.description.bytes)
    )

    private func liveness() async throws -> Reply {
        let health = await self.backend.health()
        guard health.isLive else {
            throw Problem(.unavailable, "The daemon does not run as it should.", problems: health.problems)
        }
        return Reply(json: health)
    }

    private func readiness() async throws -> Reply {
        let health = await self.backend.health()
        guard health.isLive, health.isReady else {
            throw Problem(.unavailable, "The daemon is not ready.", problems: health.problems)
        }
        return Reply(json: health)
    }

    private func eventStream(_ call: Call) throws -> Response {
        var query = Query(call.request.uri.query)
        let types = query.text("types", longest: 2048)
        let again = query.text("last_event_id")
        try query.finish()
        let filter = try types.map(EventFilter.init(parsing:)) ?? .all
        let text = call.request.headers[.lastEventID] ?? again
        let last = text.flatMap(EventID.init(parsing:))
        guard text == nil || text == "" || last != nil else {
            throw Problem(.badRequest, "\"Last-Event-ID\" must be the id of an event of this stream.")
        }
        guard let subscription = self.events.subscribe(after: last, limit: self.eventStreams) else {
            throw Problem(.unavailable, "There are \(self.eventStreams) event streams already.")
                .with(.retryAfter, "10")
                // A client that only waits for a stream must not keep a connection from other clients.
                .with(.connection, "close")
        }
        return EventStream.response(to: call.request, subscription, filter: filter)
    }
}

extension Endpoints.Call {
    /// Throws `invalid` if the body names anything.
    func takesNoFields() throws(Problem) {
        try JSONFields(self.body).finish()
    }

    /// Throws `badRequest` if the query names anything.
    func takesNoQuery() throws(Problem) {
        try Query(self.request.uri.query).finish()
    }
}
