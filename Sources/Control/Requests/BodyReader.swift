// SPDX-License-Identifier: Apache-2.0

import Basics
import HTTPTypes
import Hummingbird
import NIOCore

/// Reads the body of a request as its endpoint wants it.
struct BodyReader: Sendable {
    /// Longest body in bytes.
    let limit: Int

    /// The whole body; throws `contentTooLarge` as soon as it is known to be too long.
    func bytes(of request: Request) async throws -> ByteBuffer {
        let tooLarge = Problem(.contentTooLarge, "The request body is longer than \(self.limit) bytes.")
        if let length = request.headers[.contentLength].flatMap(Int.init), length > self.limit { throw tooLarge }
        var body = ByteBuffer()
        for try await piece in request.body {
            guard body.readableBytes + piece.readableBytes <= self.limit else { throw tooLarge }
            body.writeImmutableBuffer(piece)
        }
        return body
    }

    /// The body as a JSON object, by the endpoint's rule; empty where there may be none.
    func object(_ body: ByteBuffer, type: String?, rule: BodyRule) throws(Problem) -> [String: JSONValue] {
        if rule == .none || rule == .optionalJSON, body.readableBytes == 0 { return [:] }
        let accepted = rule == .patch ? ["application/json", "application/merge-patch+json"] : ["application/json"]
        let essence = type?.split(separator: ";").first?.trimmingSpaces.lowercased()
        guard let essence, accepted.contains(essence) else {
            throw Problem(.unsupportedMediaType, "The body must be \(accepted.joined(separator: " or ")).")
        }
        guard let text = String(validating: body.readableBytesView, as: UTF8.self) else {
            throw Problem(.badRequest, "The body is not UTF-8.")
        }
        let value: JSONValue
        do throws(JSONValue.ParsingError) {
            value = try JSONValue(parsing: text)
        } catch {
            throw Problem(
                .badRequest,
                error == .invalid ? "The body is not JSON." : "The JSON is too deep or too rich."
            )
        }
        guard let object = value.object else { throw Problem(.invalid, "The body must be a JSON object.") }
        return object
    }
}
