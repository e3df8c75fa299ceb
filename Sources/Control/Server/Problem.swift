// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import Model

/// A problem document (RFC 9457): the body of every answer that is an error.
struct Problem: Error, Sendable, Hashable {
    /// The kinds there are; `urn:tapedeck:problem:` and the raw value make the document's `type`.
    enum Kind: String, Sendable, Hashable, CaseIterable {
        case badRequest = "bad-request"
        case unauthorized
        case forbidden
        case notFound = "not-found"
        case methodNotAllowed = "method-not-allowed"
        case requestTimeout = "request-timeout"
        case conflict
        case preconditionFailed = "precondition-failed"
        case contentTooLarge = "content-too-large"
        case uriTooLong = "uri-too-long"
        case unsupportedMediaType = "unsupported-media-type"
        case rangeNotSatisfiable = "range-not-satisfiable"
        case invalid
        case idempotencyMismatch = "idempotency-mismatch"
        case rateLimited = "rate-limited"
        case headersTooLarge = "headers-too-large"
        case failed
        case unavailable
    }

    /// The kind.
    var kind: Kind
    /// One sentence about this very occurrence.
    var detail: String
    /// Every single thing that is wrong with what was sent.
    var problems: [String] = []
    /// Header fields that go with the answer.
    var headers = HTTPFields()

    init(_ kind: Kind, _ detail: String, problems: [String] = []) {
        self.kind = kind
        self.detail = detail
        self.problems = problems
    }

    init(_ error: ControlError) {
        let kind: Kind =
            switch error.code {
            case .notFound: .notFound
            case .conflict: .conflict
            case .invalid: .invalid
            case .unavailable: .unavailable
            case .failed: .failed
            }
        self.init(kind, error.message, problems: error.problems)
        if kind == .unavailable { self.headers[.retryAfter] = "1" }
    }

    /// The same problem with one more header field.
    func with(_ name: HTTPField.Name, _ value: String) -> Problem {
        var problem = self
        problem.headers[name] = value
        return problem
    }

    /// The answer.
    var reply: Reply {
        let document = ProblemDocument(
            type: "urn:tapedeck:problem:\(self.kind.rawValue)",
            title: self.kind.title,
            status: self.kind.status.code,
            detail: self.detail,
            problems: self.problems.isEmpty ? nil : self.problems
        )
        var reply = Reply(json: document, status: self.kind.status)
        reply.headers[.contentType] = "application/problem+json"
        for field in self.headers { reply.headers[field.name] = field.value }
        return reply
    }
}

extension Problem.Kind {
    /// The status of the answer.
    var status: HTTPResponse.Status {
        switch self {
        case .badRequest: .badRequest
        case .unauthorized: .unauthorized
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .requestTimeout: .requestTimeout
        case .conflict: .conflict
        case .preconditionFailed: .preconditionFailed
        case .contentTooLarge: .contentTooLarge
        case .uriTooLong: .uriTooLong
        case .unsupportedMediaType: .unsupportedMediaType
        case .rangeNotSatisfiable: .rangeNotSatisfiable
        case .invalid, .idempotencyMismatch: .unprocessableContent
        case .rateLimited: .tooManyRequests
        case .headersTooLarge: .requestHeaderFieldsTooLarge
        case .failed: .internalServerError
        case .unavailable: .serviceUnavailable
        }
    }

    /// The short summary, the same for every occurrence.
    var title: String {
        switch self {
        case .badRequest: "The request is malformed"
        case .unauthorized: "A valid token is needed"
        case .forbidden: "This is not allowed"
        case .notFound: "Not found"
        case .methodNotAllowed: "The method is not allowed here"
        case .requestTimeout: "The request took too long to arrive"
        case .conflict: "The present state does not allow it"
        case .preconditionFailed: "The condition of the request is not met"
        case .contentTooLarge: "The request body is too large"
        case .uriTooLong: "The request target is too long"
        case .unsupportedMediaType: "The request body's type is not taken"
        case .rangeNotSatisfiable: "The range is outside the file"
        case .invalid: "Invalid request"
        case .idempotencyMismatch: "The idempotency key belongs to another request"
        case .rateLimited: "Too many requests"
        case .headersTooLarge: "The header fields are too large"
        case .failed: "Something failed on the server"
        case .unavailable: "It cannot be done now"
        }
    }
}
