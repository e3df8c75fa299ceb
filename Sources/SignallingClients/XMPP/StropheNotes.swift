// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CStrophe
internal import Foundation
internal import Signalling

/// The outcome of a stream, gathered from libstrophe's log: its callback for the end says little more than that it
/// ended.
///
/// The log holds passwords and messages, so nothing of it is kept but what is looked for.
struct StropheNotes {
    /// A failure of our own making, which counts before all others.
    var failure: SignallingError?
    /// Whether no address was found.
    var isUnknownHost = false
    /// Whether the TCP connection is there.
    private(set) var isConnected = false

    private let request: XMPPRequest
    private var connectError: Int32?
    private var timedOut = false
    private var offersNoTLS = false
    private var isTLSBroken = false
    private var certificateProblem: String?
    private var saslCondition: String?
    private var streamError: (type: xmpp_error_type_t, text: String)?

    private static let saslConditions = [
        "account-disabled", "credentials-expired", "encryption-required", "invalid-authzid", "invalid-mechanism",
        "malformed-request", "mechanism-too-weak", "not-authorized", "temporary-auth-failure", "aborted",
    ]

    init(_ request: XMPPRequest) {
        self.request = request
    }

    /// Whether trying another mechanism would be no use.
    var isPasswordWrong: Bool { self.saslCondition == "not-authorized" }

    /// Another address is tried.
    mutating func beginConnecting() {
        (self.isConnected, self.connectError, self.timedOut) = (false, nil, false)
    }

    /// Looks at one line of the log.
    mutating func heard(_ message: UnsafePointer<CChar>) {
        // Most lines are stanzas, which are long: their beginning is enough.
        let line = String(decoding: UnsafeRawBufferPointer(start: message, count: strnlen(message, 400)), as: UTF8.self)
        if line.hasPrefix("connection successful") {
            self.isConnected = true
        } else if let code = line.after("connection failed, error ") {
            self.connectError = Int32(code)
        } else if line.hasPrefix("Connection attempt timed out") {
            self.timedOut = true
        } else if line.hasPrefix("Couldn't start TLS") {
            self.isTLSBroken = true
        } else if line.contains("TLS is not supported, but set as mandatory") {
            self.offersNoTLS = true
        } else if let result = line.after("Certificate verification FAILED, result=") {
            self.certificateProblem = String(result.prefix(80))
        } else if line.hasPrefix("RECV: <failure"), line.contains(XMPP_NS_SASL) {
            self.saslCondition = Self.saslConditions.first { line.contains("<\($0)") } ?? "no reason given"
        }
    }

    /// The server ended the stream, and said why.
    mutating func streamEnded(_ error: xmpp_stream_error_t) {
        let text = error.text.map {
            String(decoding: UnsafeRawBufferPointer(start: $0, count: strnlen($0, 200)), as: UTF8.self)
        }
        self.streamError = (error.type, text ?? "")
    }

    /// The error; nil if the stream just ended after it was open.
    func error(hasOpened: Bool) -> SignallingError? {
        if let failure { return failure }
        if self.offersNoTLS {
            return self.failure(.tlsFailed, "offers no encryption: Tapedeck signs in only with TLS.", .configuration)
        }
        if self.isTLSBroken {
            let reason = self.certificateProblem.map { " (\($0))" } ?? ""
            return self.failure(
                .tlsFailed,
                "could not be trusted: check that its certificate is valid, trusted and names \(self.request.account.domain)\(reason).",
                .configuration
            )
        }
        if !hasOpened, let saslCondition { return self.signInFailure(saslCondition) }
        if let streamError { return self.error(streamError.type, streamError.text) }
        if hasOpened { return nil }
        return self.connectFailure
    }

    func failure(_ code: SignallingError.Code, _ what: String, _ blame: SignallingError.Blame) -> SignallingError {
        SignallingError(code, "The XMPP server \(self.address) \(what)", blame: blame)
    }

    private var address: String {
        let host = self.request.host ?? self.request.account.domain
        return "\(IPAddress.bracketed(host)):\(self.request.port)"
    }

    private func signInFailure(_ condition: String) -> SignallingError {
        let account = self.request.account.account
        return switch condition {
        case "not-authorized":
            self.failure(
                .refused,
                "refused the password of \(account), or knows no such account: check the secret.",
                .configuration
            )
        case "temporary-auth-failure":
            self.failure(.unreachable, "cannot sign \(account) in for now (temporary-auth-failure).", .peer)
        default: self.failure(.refused, "did not sign \(account) in (\(condition)).", .configuration)
        }
    }

    private func error(_ type: xmpp_error_type_t, _ text: String) -> SignallingError {
        let said = text.isEmpty ? "" : " (\(text))"
        return switch type {
        case XMPP_SE_CONFLICT:
            self.failure(.removed, "kicked us: the account signed in again with the same resource\(said).", .peer)
        case XMPP_SE_HOST_UNKNOWN, XMPP_SE_HOST_GONE:
            self.failure(.refused, "does not serve \(self.request.account.domain)\(said).", .configuration)
        case XMPP_SE_NOT_AUTHORIZED, XMPP_SE_POLICY_VIOLATION:
            self.failure(.refused, "ended the stream\(said).", .peer)
        default: self.failure(.unreachable, "ended the stream\(said).", .peer)
        }
    }

    private var connectFailure: SignallingError {
        if self.isConnected {
            return self.failure(
                .unreachable,
                "closed the connection before we were signed in: check that it is an XMPP server's client port.",
                .peer
            )
        }
        if self.isUnknownHost {
            return SignallingError(
                .unreachable,
                "The XMPP server's name \(self.request.host ?? self.request.account.domain) was not found: check its "
                    + "spelling and this host's name resolution.",
                blame: .configuration
            )
        }
        if self.timedOut {
            return self.failure(
                .timedOut,
                "did not answer in time: check the address, the port and firewalls.",
                .network
            )
        }
        switch self.connectError {
        case ECONNREFUSED:
            return self.failure(.unreachable, "refused the connection: check that it runs and the port.", .network)
        case ENETUNREACH, EHOSTUNREACH:
            return self.failure(
                .unreachable,
                "cannot be reached from here: check the address and the network.",
                .network
            )
        case let code:
            return self.failure(
                .unreachable,
                "could not be connected to\(code.map { " (error \($0))" } ?? "").",
                .network
            )
        }
    }
}

extension String {
    /// The text after a beginning; nil if the text begins otherwise.
    fileprivate func after(_ prefix: String) -> Substring? {
        self.hasPrefix(prefix) ? self.dropFirst(prefix.count) : nil
    }
}
