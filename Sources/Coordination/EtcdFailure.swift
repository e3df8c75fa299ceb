// SPDX-License-Identifier: Apache-2.0

import Cluster
import HTTPRequests

/// Why a member gave no result.
enum EtcdFailure: Error, Sendable, Hashable {
    /// The request did not reach it.
    case notSent(String)
    /// No answer, or none of etcd's: nobody knows whether it was carried out.
    case lost(String)
    /// The answer has more bytes than are taken.
    case tooLarge
    /// etcd's own words, which are for people; the code of gRPC decides.
    case answered(code: Int, String)

    /// Codes of gRPC that mean something here.
    enum Code {
        static let invalidArgument = 3
        static let notFound = 5
        static let exhausted = 8
        static let outOfRange = 11
        static let unauthenticated = 16
        /// What may go well with another member, or later: cancelled, unknown, deadline exceeded, aborted, internal,
        /// unavailable.
        static let passing: Set = [1, 2, 4, 10, 13, 14]
    }

    init(_ failure: HTTPClient.Failure) {
        switch failure {
        case .malformedRequest, .nameNotFound, .notConnected, .tls: self = .notSent(failure.reason)
        case .tooLarge: self = .tooLarge
        case .timedOut, .closedWithoutAnswer, .cancelled, .other: self = .lost(failure.reason)
        }
    }

    /// Whether another member may be asked.
    func isWorthAnother(_ isRepeatable: Bool) -> Bool {
        switch self {
        case .notSent: true
        case .lost: isRepeatable
        case .answered(let code, _): isRepeatable && Code.passing.contains(code)
        case .tooLarge: false
        }
    }

    /// Whether the member is to blame.
    var isOfMember: Bool {
        switch self {
        case .notSent, .lost: true
        case .answered(let code, _): Code.passing.contains(code)
        case .tooLarge: false
        }
    }

    /// Whether a new token may help: the one that was sent has ended, or there are newer rights than it knows of.
    var isOfToken: Bool {
        guard case .answered(let code, _) = self else { return false }
        return code == Code.unauthenticated || code == Code.invalidArgument
    }

    /// The error for a request, with the member's URL.
    func error(for request: StoreRequest?, at url: String) -> StoreError {
        switch self {
        case .notSent(let reason), .lost(let reason): return .unreachable("\(url): \(reason)")
        case .tooLarge: return .refused("\(url): the answer is too large")
        case .answered(let code, let words):
            switch (code, request) {
            case (Code.notFound, .transact): return .leaseNotFound
            case (Code.exhausted, .transact), (Code.exhausted, .grant): return .full("\(url): \(words)")
            case (Code.exhausted, _): return .unreachable("\(url): \(words)")
            default: break
            }
            return Code.passing.contains(code) ? .unreachable("\(url): \(words)") : .refused("\(url): \(words)")
        }
    }
}

/// Why a call failed, and with which member at last.
struct EtcdRefusal: Error {
    var failure: EtcdFailure
    var url: String

    /// The error for the request.
    func error(for request: StoreRequest?) -> StoreError { self.failure.error(for: request, at: self.url) }
}
