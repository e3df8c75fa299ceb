// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// Why an Engine.IO request is refused with HTTP 400, numbered as on the wire.
enum EngineIORefusal: Int, Error, Hashable, Sendable, CaseIterable {
    /// `transport` is missing or neither `polling` nor `websocket`.
    case unknownTransport = 0
    /// `sid` names no session.
    case unknownSessionID = 1
    /// A handshake by another method than GET.
    case badHandshakeMethod = 2
    /// A request that does not fit the session: wrong transport, overlapping request, unreadable body.
    case badRequest = 3
    /// The server has as many sessions as it takes.
    case forbidden = 4
    /// `EIO` is neither 3 nor 4.
    case unsupportedProtocolVersion = 5

    /// The sentence that clients show.
    var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSessionID: "Session ID unknown"
        case .badHandshakeMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Too many sessions"
        case .unsupportedProtocolVersion: "Unsupported protocol version"
        }
    }

    /// The HTTP status: a refused session is not the client's mistake.
    var status: Int { self == .forbidden ? 403 : 400 }

    /// The response's JSON body.
    var body: String {
        JSONValue.object(["code": .integer(self.rawValue), "message": .string(self.message)]).text
    }
}
