// SPDX-License-Identifier: Apache-2.0

import Basics
import HTTPTypes
import Hummingbird
import Model
import NIOCore

extension Endpoints {
    private struct Graphs: Encodable {
        var graphs: [String: String]
    }

    /// Answers for endpoints below `/v1/rooms`.
    func room(_ endpoint: Endpoint, _ call: Call) async throws -> Reply {
        if case .listRooms = endpoint {
            var query = Query(call.request.uri.query)
            let isLocal = query.flag("local")
            try query.finish()
            return Reply(json: await self.backend.rooms(isLocal: isLocal || call.isFromHost))
        }
        try call.takesNoQuery()
        switch endpoint {
        case .addRoom:
            let new = try RequestBodies.NewRoom(call.body)
            let room = try await self.backend.addRoom(new.name, definition: new.definition)
            return Reply(json: room, status: .created).with(.location, "/v1/rooms/\(PercentCoding.encode(room.name))")
        case .showRoom(let name):
            return Reply(json: try await self.backend.room(name))
        case .changeRoom(let name):
            return Reply(json: try await self.backend.changeRoom(name, patch: call.text))
        case .removeRoom(let name):
            try await self.backend.removeRoom(name)
            return .noContent
        case .act(let name, let verb):
            return Reply(json: try await self.backend.perform(try RequestBodies.action(verb, call.body), on: name))
        case .changeCamera(let name):
            let change = try RequestBodies.cameraChange(call.body)
            return Reply(json: try await self.backend.perform(.changeCamera(change), on: name))
        case .thumbnail(let name, let participant):
            let image = try await self.backend.thumbnail(room: name, participant: participant)
            return Reply(status: .ok, type: "image/jpeg", body: ByteBuffer(bytes: image))
        case .graphs(let name):
            return Reply(json: Graphs(graphs: try await self.backend.pipelineGraphs(room: name)))
        default:
            throw Problem(.notFound, "There is no such room endpoint.")
        }
    }
}
