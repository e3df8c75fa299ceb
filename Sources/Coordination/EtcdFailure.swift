// SPDX-License-Identifier: Apache-2.0

import Cluster
import HTTPRequests

/// The failure of a call at one member.
enum EtcdFailure: Error, Sendable, Hashable {
    /// The request did not reach the member.
    case notSent(String)
    /// No answer, or not etcd's: the member may have carried out the request or not.
    case lost(String)
    /// The answer has more bytes than the client takes.
    case tooLarge
    /// An error of etcd: the code of gRPC, which decides, and etcd's words.
    case answered(code: Int, String)

    /// Codes of gRPC.
    enum Code {
        static let invalidArgument = 3
        static let notFound = 5
        static let exhausted = 8
        static let outOfRange = 11
        static let unauthenticated = 16
        /// Failures of the member or of the moment: cancelled, unknown, deadline exceeded, aborted, internal, unavailable.
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

    /// Whether a new token may help: the token has ended, or is older than the present rights.
    var isOfToken: Bool {
        guard case .answered(let code, _) = self else { return false }
        return code == Code.unauthenticated || code == Code.invalidArgument
    }

    /// The error of a request, with the member's URL.
    func error(for request: StoreRequest?, at url: String) -> StoreError {
        switch self {
        case .notSent(let reason), .lost(let reason): return .unreachable("\(url): \(reason)")
        case .tooLarge: return .refused("\(url): the answer is too large")
        case .answered(let code, let words):
            switch (code, request) {
            case (Code.notFound, .transact), (Code.notFound, .revoke): return .leaseNotFound
            case (Code.exhausted, .transact), (Code.exhausted, .grant): return .full("\(url): \(words)")
            case (Code.exhausted, _): return .unreachable("\(url): \(words)")
            default: break
            }
            return Code.passing.contains(code) ? .unreachable("\(url): \(words)") : .refused("\(url): \(words)")
        }
    }
}

/// The failure of a call at the last member that got it.
struct EtcdRefusal: Error {
    var failure: EtcdFailure
    var url: String
}
