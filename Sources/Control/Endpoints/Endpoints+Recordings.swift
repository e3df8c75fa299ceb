// SPDX-License-Identifier: Apache-2.0

import Basics
import HTTPTypes
import Hummingbird
import Model
import NIOCore
import NIOPosix

extension Endpoints {
    /// The same for some minutes, and nothing for long of a recording that was deleted on request.
    private static let brief = "private, max-age=300"

    private struct Exports: Encodable {
        var exports: [ExportResource]
    }

    /// Answers for endpoints below `/v1/recordings`, files apart.
    func recording(_ endpoint: Endpoint, _ call: Call) async throws -> Reply {
        if case .listRecordings = endpoint { return try await self.listRecordings(call) }
        if case .recordingImage(let id) = endpoint { return try await self.image(of: id, call) }
        try call.takesNoQuery()
        switch endpoint {
        case .showRecording(let id):
            return Reply(json: try await self.backend.recording(id))
        case .recordingTimeline(let id):
            return Reply(json: try await self.backend.timeline(recording: id))
        case .recordingLevels(let id):
            return Reply(json: try await self.backend.levels(recording: id)).with(.cacheControl, Self.brief)
        case .deleteRecording(let id):
            try await self.backend.deleteRecording(id)
            return .noContent
        case .listExports(let id):
            return Reply(json: Exports(exports: try await self.backend.exports(id)))
        case .export(let id):
            let export = try await self.backend.export(id, try RequestBodies.export(call.body))
            return Reply(json: export, status: .accepted)
                .with(.location, "/v1/recordings/\(PercentCoding.encode(id))/exports")
        case .cancelExport(let export, let id):
            try await self.backend.cancelExport(export, of: id)
            return .noContent
        default:
            throw Problem(.notFound, "There is no such recording endpoint.")
        }
    }

    private func image(of recording: String, _ call: Call) async throws -> Reply {
        var query = Query(call.request.uri.query)
        let second = query.integer("at", in: 0...31_536_000)
        try query.finish()
        let image = try await self.backend.thumbnail(recording: recording, at: second)
        return Reply(status: .ok, type: "image/jpeg", body: ByteBuffer(bytes: image))
            .with(.cacheControl, Self.brief)
    }

    /// A file of a recording.
    func file(_ recording: String, _ name: String, _ call: Call) async throws -> Response {
        var query = Query(call.request.uri.query)
        let isDownload = query.flag("download")
        try query.finish()
        let path = try await self.backend.filePath(recording, file: name)
        let missing = Problem(.notFound, "There is no such file.")
        guard let name = FileName([name]), path.hasSuffix("/" + name.text) else { throw missing }
        let folder = String(path.dropLast(name.text.count + 1))
        do {
            let file = try await NIOThreadPool.singleton.runIfActive {
                try ServedFile(folder: folder, parts: name.parts)
            }
            return try FileResponder(file: file, name: name.parts.last ?? "", isDownload: isDownload)
                .response(to: call.request)
        } catch ServedFile.Failure.missing {
            throw missing
        }
    }

    /// All files of a recording in one.
    func archive(_ id: String, _ call: Call) async throws -> Response {
        try call.takesNoQuery()
        let recording = try await self.backend.recording(id)
        guard recording.state != "recording" else {
            throw Problem(.conflict, "The recording is in progress: its files still change.")
        }
        let names = recording.files.compactMap { FileName([$0.name]) }
        let missing = Problem(.notFound, "The recording has no files.")
        guard let first = names.first else { throw missing }
        let path = try await self.backend.filePath(id, file: first.text)
        guard path.hasSuffix("/" + first.text) else { throw missing }
        let folder = String(path.dropLast(first.text.count + 1))
        let archive = try await NIOThreadPool.singleton.runIfActive {
            try RecordingArchive(folder: folder, names: names)
        }
        return try FileResponder(file: archive, name: archive.name, isDownload: true).response(to: call.request)
    }

    private func listRecordings(_ call: Call) async throws -> Reply {
        var asked = try Self.query(call.request.uri.query)
        asked.isLocal = asked.isLocal || call.isFromHost
        let page = try await self.backend.recordings(asked)
        let reply = Reply(json: page)
        guard let next = page.next else { return reply }
        asked.cursor = next
        return reply.with(.link, "<\(asked.target)>; rel=\"next\"")
    }

    /// The query of `GET /v1/recordings`; throws `badRequest`.
    static func query(_ text: String?) throws(Problem) -> RecordingQuery {
        var query = Query(text)
        var asked = RecordingQuery()
        if let limit = query.integer("limit", in: 1...200) { asked.limit = limit }
        asked.cursor = query.text("cursor")
        asked.room = query.text("room")
        asked.text = query.text("text")
        asked.from = query.time("from")
        asked.to = query.time("to")
        asked.isLocal = query.flag("local")
        try query.finish()
        return asked
    }
}
