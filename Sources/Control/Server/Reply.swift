// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// An answer that is in memory as a whole: everything but files and event streams.
struct Reply: Sendable, Hashable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    var body: ByteBuffer

    init(status: HTTPResponse.Status, type: String? = nil, body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = HTTPFields()
        self.body = body
        if let type { self.headers[.contentType] = type }
    }

    /// A JSON text; keys are sorted, so equal values have equal bodies.
    init(json value: some Encodable, status: HTTPResponse.Status = .ok) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let text = try encoder.encode(value)
            self.init(status: status, type: "application/json", body: ByteBuffer(bytes: text))
        } catch {
            // A figure that is not finite: JSON has no word for it.
            self.init(
                status: .internalServerError,
                type: "application/problem+json",
                body: ByteBuffer(string: #"{"status":500,"type":"urn:tapedeck:problem:failed"}"#)
            )
        }
    }

    /// The same answer with one more header field.
    func with(_ name: HTTPField.Name, _ value: String) -> Reply {
        var reply = self
        reply.headers[name] = value
        return reply
    }

    /// Done, and nothing to say about it.
    static let noContent = Reply(status: .noContent)

    /// For Hummingbird.
    var response: Response {
        guard self.status != .noContent else { return Response(status: self.status, headers: self.headers) }
        return Response(status: self.status, headers: self.headers, body: ResponseBody(byteBuffer: self.body))
    }
}

extension HTTPField.Name {
    /// `Link` (RFC 8288).
    static let link = fieldName("Link")
    /// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
    static let idempotencyKey = fieldName("Idempotency-Key")
    /// `Idempotency-Replayed`: says that an answer is the one of before.
    static let idempotencyReplayed = fieldName("Idempotency-Replayed")
    /// `Tapedeck-Local`: a host of the cluster asks, and wants to know what this one has.
    static let tapedeckLocal = fieldName("Tapedeck-Local")
    /// `Last-Event-ID` (HTML, server-sent events).
    static let lastEventID = fieldName("Last-Event-ID")
    /// `Sec-Fetch-Site` (W3C Fetch Metadata).
    static let secFetchSite = fieldName("Sec-Fetch-Site")
    /// `Referrer-Policy` (W3C).
    static let referrerPolicy = fieldName("Referrer-Policy")
    /// `X-Accel-Buffering`: makes a proxy pass events on at once.
    static let accelBuffering = fieldName("X-Accel-Buffering")
}

private func fieldName(_ name: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(name) else { preconditionFailure("not a field name: \(name)") }
    return name
}
