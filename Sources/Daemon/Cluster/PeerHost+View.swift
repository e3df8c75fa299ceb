// SPDX-License-Identifier: Apache-2.0

import Basics
import Control
import HTTPRequests
import Model

extension PeerHost: ControlPeer {
    /// The time for a list, and for whether a recording is there.
    private static let listLimit = Duration.seconds(2)
    /// The time for a look at a room or a recording, of which an image may be made first.
    private static let lookLimit = Duration.seconds(10)
    /// The time for a change: a worker may look for a camera for 25 s.
    private static let changeLimit = Duration.seconds(35)

    /// Its rooms.
    func rooms() async throws(Failure) -> [RoomResource] {
        try self.decoded(RoomList.self, try await self.list("/v1/rooms")).rooms
    }

    /// A page of its recordings.
    func page(_ query: RecordingQuery) async throws(Failure) -> RecordingPage {
        try self.decoded(RecordingPage.self, try await self.list(query.target))
    }

    /// Whether it has a recording.
    func has(recording id: String) async throws(Failure) -> Bool {
        var request = HTTPClient.Request("GET", "/v1/recordings/\(PercentCoding.encode(id))")
        request.timeout = Self.listLimit
        let status = try await self.answer(to: request).status
        guard status == 200 || status == 404 else { throw Failure(description: "it answers \(status)") }
        return status == 200
    }

    func send(_ request: ForwardedRequest) async throws(ControlError) -> ForwardedAnswer {
        var own = HTTPClient.Request(request.method, request.target)
        own.timeout = ["GET", "HEAD"].contains(request.method) ? Self.lookLimit : Self.changeLimit
        own.headers = request.headers.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }
        own.body = request.body
        do throws(Failure) {
            let answer = try await self.answer(to: own)
            return ForwardedAnswer(
                status: answer.status,
                headers: Dictionary(answer.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
                body: answer.body
            )
        } catch {
            let message = "the host \(self.name), which has it, does not answer: \(error.description)"
            throw ControlError(.unavailable, message)
        }
    }

    private func list(_ path: String) async throws(Failure) -> [UInt8] {
        var request = HTTPClient.Request("GET", path)
        request.timeout = Self.listLimit
        let answer = try await self.answer(to: request)
        switch answer.status {
        case 200: return answer.body
        case 429: throw Failure.tooFast
        default: throw Failure(description: "it answers \(answer.status)")
        }
    }
}
