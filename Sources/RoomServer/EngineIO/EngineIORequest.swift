// SPDX-License-Identifier: Apache-2.0

import Signalling

/// The query of one Engine.IO request.
struct EngineIORequest: Hashable, Sendable {
    /// How packets travel.
    enum Transport: String, Hashable, Sendable, CaseIterable {
        /// HTTP requests.
        case polling
        /// A WebSocket.
        case webSocket = "websocket"
    }

    /// How packets travel.
    var transport: Transport
    /// The session; nil asks for a new one.
    var sessionID: String?
    /// The protocol revision of a new session.
    ///
    /// A query without `EIO` comes from a client of version 3.
    var version: EngineIOVersion

    /// Reads the query of a request.
    /// - Throws: The refusal that the stock server gives, checked in its order.
    init(target: HTTPTarget, isGET: Bool) throws(EngineIORefusal) {
        guard let transport = target.value(of: "transport").flatMap(Transport.init(rawValue:)) else {
            throw .unknownTransport
        }
        self.transport = transport
        self.sessionID = target.value(of: "sid")
        guard self.sessionID == nil else {
            self.version = .four
            return
        }
        guard isGET else { throw .badHandshakeMethod }
        guard let version = EngineIOVersion(rawValue: Int(target.value(of: "EIO") ?? "3") ?? 0) else {
            throw .unsupportedProtocolVersion
        }
        self.version = version
    }
}
