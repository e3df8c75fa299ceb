// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Signalling

/// One complete HTTP response, before connection handling adds its fields.
struct HTTPResponse: Sendable {
    /// The status.
    var status: HTTPResponseStatus
    /// Fields of this response.
    var headers: HTTPHeaders
    /// The content; a response to HEAD announces its length and leaves it out.
    var body: [UInt8]
    /// Whether the connection closes behind it, because what follows cannot be trusted.
    var closesConnection = false

    /// A response with content of a media type.
    init(_ status: HTTPResponseStatus, type: String, body: some Sequence<UInt8>) {
        self.status = status
        self.headers = [
            "Content-Type": type,
            "X-Content-Type-Options": "nosniff",
        ]
        self.body = [UInt8](body)
    }

    /// One line of human-readable text.
    static func text(_ status: HTTPResponseStatus) -> HTTPResponse {
        var response = HTTPResponse(
            status,
            type: "text/plain; charset=utf-8",
            body: "\(status.code) \(status.reasonPhrase)\n".utf8
        )
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    /// A refused method.
    static func methodNotAllowed(allowed: String) -> HTTPResponse {
        var response = self.text(.methodNotAllowed)
        response.headers.add(name: "Allow", value: allowed)
        return response
    }

    /// A refused Engine.IO request.
    static func refusal(_ refusal: EngineIORefusal) -> HTTPResponse {
        var response = HTTPResponse(
            HTTPResponseStatus(statusCode: refusal.status),
            type: "application/json",
            body: refusal.body.utf8
        )
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    /// A polling response's payload.
    static func payload(_ packets: [EngineIOPacket], version: EngineIOVersion) -> HTTPResponse {
        var response = HTTPResponse(
            .ok,
            type: "text/plain; charset=UTF-8",
            body: EngineIOPayload.encode(packets, version: version).utf8
        )
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    /// The answer to a browser's question whether another origin's page may post.
    static var preflight: HTTPResponse {
        var response = self.text(.ok)
        response.headers.add(name: "Access-Control-Allow-Methods", value: "GET, POST")
        response.headers.add(name: "Access-Control-Allow-Headers", value: "Content-Type")
        response.headers.add(name: "Access-Control-Max-Age", value: "600")
        return response
    }

    /// The answer to a post that was read.
    static var posted: HTTPResponse {
        var response = HTTPResponse(.ok, type: "text/html", body: "ok".utf8)
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }
}
