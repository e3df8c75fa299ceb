// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import NIOCore

extension Endpoints {
    /// Bytes of a file that come from another host at once.
    private static let pieceBytes: Int64 = 4 << 20
    /// Header fields of a request that the other host needs; credentials are none of them.
    private static let requestFields: [HTTPField.Name] = [
        .contentType, .idempotencyKey, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange, .ifUnmodifiedSince, .range,
    ]
    /// Header fields of an answer that the client gets, but the length.
    private static let answerFields: [HTTPField.Name] = [
        .acceptRanges, .cacheControl, .contentDisposition, .contentRange, .contentSecurityPolicy, .contentType, .eTag,
        .idempotencyReplayed, .lastModified, .link, .location, .retryAfter,
    ]

    /// The other host that is to answer; nil if this one is.
    func peer(for endpoint: Endpoint, _ call: Call) async throws -> (any ControlPeer)? {
        guard !call.isFromHost, let subject = endpoint.subject else { return nil }
        return try await self.backend.host(of: subject)
    }

    /// The other host's answer, which is in memory as a whole.
    func forward(_ call: Call, to peer: any ControlPeer) async throws -> Reply {
        let method = call.request.method
        let answer = try await peer.send(Self.request(call, method == .head ? .get : method))
        var reply = Reply(status: .init(code: answer.status), body: ByteBuffer(bytes: answer.body))
        reply.headers = Self.fields(of: answer)
        return reply
    }

    /// The other host's answer with a file: its head first, then the body in bounded pieces.
    func forwardFile(_ call: Call, to peer: any ControlPeer) async throws -> Response {
        let head = try await peer.send(Self.request(call, .head))
        let status = HTTPResponse.Status(code: head.status)
        let length = head.headers["content-length"].flatMap { Int64($0) }
        guard status == .ok || status == .partialContent, let count = length, count >= 0 else {
            // The answer to HEAD does not say what is wrong.
            guard status == .notModified else { return try await self.forward(call, to: peer).response }
            return Response(status: status, headers: Self.fields(of: head))
        }
        var headers = Self.fields(of: head)
        headers[.contentLength] = String(count)
        guard call.request.method != .head else { return Response(status: status, headers: headers) }
        let start = head.headers["content-range"].flatMap(Self.start) ?? 0
        var piece = Self.request(call, .get)
        // Of this very content: a file that changes is broken off, as one that is cut on this host.
        piece.headers = head.headers["etag"].map { ["If-Match": $0] } ?? [:]
        return Response(
            status: status,
            headers: headers,
            body: ResponseBody(contentLength: Int(count)) { [piece] writer in
                var offset = start
                while offset < start + count {
                    try Task.checkCancellation()
                    var request = piece
                    let last = min(offset + Self.pieceBytes, start + count) - 1
                    request.headers["Range"] = "bytes=\(offset)-\(last)"
                    let answer = try await peer.send(request)
                    guard answer.status == 206, Int64(answer.body.count) == last - offset + 1 else {
                        throw Problem(.unavailable, "The file changed on its host.")
                    }
                    try await writer.write(ByteBuffer(bytes: answer.body))
                    offset = last + 1
                }
                try await writer.finish(nil)
            }
        )
    }

    private static func request(_ call: Call, _ method: HTTPRequest.Method) -> ForwardedRequest {
        var headers: [String: String] = [:]
        for name in self.requestFields { headers[name.rawName] = call.request.headers[name] }
        let query = call.request.uri.query.map { "?\($0)" } ?? ""
        return ForwardedRequest(
            method: method.rawValue,
            target: call.request.uri.path + query,
            headers: headers,
            body: call.text.isEmpty ? nil : Array(call.text.utf8)
        )
    }

    private static func fields(of answer: ForwardedAnswer) -> HTTPFields {
        var fields = HTTPFields()
        for name in self.answerFields {
            if let value = answer.headers[name.canonicalName] { fields[name] = value }
        }
        return fields
    }

    /// Where a part begins, by `bytes FIRST-LAST/LENGTH`.
    private static func start(_ range: String) -> Int64? {
        range.split(separator: " ").last?.split(separator: "-").first.flatMap { Int64($0) }
    }
}

extension Endpoints.Call {
    /// Whether a host of the cluster asks, which wants to know what this one has.
    var isFromHost: Bool { self.client?.isHost == true || self.request.headers[.tapedeckLocal] != nil }
}
