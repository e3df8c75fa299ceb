// SPDX-License-Identifier: Apache-2.0

internal import Platform

/// The requests to a STUN or TURN server, and the meaning of its answers: messages only, no network.
///
/// ```
///   STUN:  binding ───────────────► ended
///   TURN:  asking ──► signing ────► ended
///             └───── no password is needed ─┘
/// ```
/// `ended` is terminal. A message that does not answer the last request is ignored.
struct ICEServerTrial: ~Copyable {
    /// How it ended.
    enum Outcome: Sendable, Hashable {
        /// STUN: the address of ours that the server sees.
        case seen(String)
        /// TURN: the address that the server lent us.
        case lent(String)
        /// The server does not take user name and password.
        case wrongCredential
        /// The server refuses for another reason.
        case refused(code: Int, reason: String)
        /// No connection, or no TLS.
        case unreachable(String)
        /// Nothing came back in time.
        case silent
        /// The message is no answer.
        case strange
        /// We cannot sign what is asked of a server that wants a password; why.
        case unsigned(String)
    }

    /// The next step.
    enum Step: Hashable {
        /// Send these bytes, again and again until an answer comes.
        case ask([UInt8])
        /// Send these bytes, if there are any, and go.
        case end(Outcome, farewell: [UInt8]?)
        /// Wait on.
        case wait
    }

    private enum State {
        case binding([UInt8])
        case asking([UInt8])
        /// `isSecond`: the nonce was too old once already.
        case signing([UInt8], realm: String, nonce: [UInt8], isSecond: Bool)
        case ended
    }

    private var state: State
    private let username: String
    private let password: String
    private let makeKey: MakeKey

    /// Makes a key of user name, realm and password.
    typealias MakeKey = (_ username: String, _ realm: String, _ password: String) throws(MissingHash) -> [UInt8]

    /// A trial before its first request, which has that transaction: 12 bytes.
    /// - Parameter makeKey: for tests, another one than STUN's.
    init(
        relays: Bool,
        username: String,
        password: String,
        transaction: [UInt8],
        makeKey: @escaping MakeKey = STUNMessage.key(username:realm:password:)
    ) {
        self.state = relays ? .asking(transaction) : .binding(transaction)
        self.username = username
        self.password = password
        self.makeKey = makeKey
    }

    /// The first request; nil once it is answered.
    var firstRequest: [UInt8]? {
        switch self.state {
        case .binding(let transaction): STUNMessage(.bindingRequest, transaction: transaction).bytes()
        case .asking(let transaction): Self.allocation(transaction).bytes()
        case .signing, .ended: nil
        }
    }

    /// The server sent a message; `transaction` is for the next request if there is one.
    mutating func received(_ message: STUNMessage, transaction: [UInt8]) -> Step {
        switch self.state {
        case .binding(let asked):
            guard message.transaction == asked else { return .wait }
            self.state = .ended
            guard message.kind == .bindingSuccess else { return .end(Self.refusal(message), farewell: nil) }
            return .end(message.address(.xorMappedAddress).map { .seen($0) } ?? .strange, farewell: nil)
        case .asking(let asked):
            guard message.transaction == asked else { return .wait }
            switch (message.kind, message.error?.code) {
            case (.allocateSuccess, _): return self.lent(message, transaction)
            case (.allocateError, 401): return self.sign(message, transaction, isSecond: false)
            default: return self.end(Self.refusal(message))
            }
        case .signing(let asked, let realm, let nonce, let isSecond):
            guard message.transaction == asked else { return .wait }
            switch (message.kind, message.error?.code) {
            case (.allocateSuccess, _):
                return self.lent(message, transaction, signedFor: (realm, nonce))
            case (.allocateError, 401), (.allocateError, 441): return self.end(.wrongCredential)
            case (.allocateError, 438) where !isSecond: return self.sign(message, transaction, isSecond: true)
            default: return self.end(Self.refusal(message))
            }
        case .ended: return .wait
        }
    }

    /// Asks again with user name and password.
    private mutating func sign(_ message: STUNMessage, _ transaction: [UInt8], isSecond: Bool) -> Step {
        guard let realm = message.attributes[.realm], let nonce = message.attributes[.nonce] else {
            return self.end(.strange)
        }
        let name = String(decoding: realm, as: UTF8.self)
        do {
            let request = try self.signed(Self.allocation(transaction), name, nonce)
            self.state = .signing(transaction, realm: name, nonce: nonce, isSecond: isSecond)
            return .ask(request)
        } catch {
            return self.end(.unsigned("\(error)"))
        }
    }

    /// Gives the address back: a server keeps it for minutes otherwise.
    private mutating func lent(
        _ message: STUNMessage,
        _ transaction: [UInt8],
        signedFor credential: (realm: String, nonce: [UInt8])? = nil
    ) -> Step {
        self.state = .ended
        guard let address = message.address(.xorRelayedAddress) else { return .end(.strange, farewell: nil) }
        var farewell = STUNMessage(.refreshRequest, transaction: transaction)
        farewell.set(.lifetime, [0, 0, 0, 0])
        guard let credential else { return .end(.lent(address), farewell: farewell.bytes()) }
        return .end(.lent(address), farewell: try? self.signed(farewell, credential.realm, credential.nonce))
    }

    private mutating func end(_ outcome: Outcome) -> Step {
        self.state = .ended
        return .end(outcome, farewell: nil)
    }

    private func signed(
        _ message: STUNMessage,
        _ realm: String,
        _ nonce: [UInt8]
    ) throws(MissingHash) -> [UInt8] {
        var message = message
        message.set(.username, Array(self.username.utf8))
        message.set(.realm, Array(realm.utf8))
        message.set(.nonce, nonce)
        return try message.bytes(key: try self.makeKey(self.username, realm, self.password))
    }

    /// A request for an address for UDP (RFC 8656 section 7.1).
    private static func allocation(_ transaction: [UInt8]) -> STUNMessage {
        var message = STUNMessage(.allocateRequest, transaction: transaction)
        message.set(.requestedTransport, [17, 0, 0, 0])
        return message
    }

    private static func refusal(_ message: STUNMessage) -> Outcome {
        message.error.map { .refused(code: $0.code, reason: $0.reason) } ?? .strange
    }
}
