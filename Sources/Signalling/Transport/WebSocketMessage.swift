// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One WebSocket message (RFC 6455 section 5.6).
public enum WebSocketMessage: Sendable, Hashable {
    /// A text message.
    case text(String)
    /// A binary message.
    case binary([UInt8])

    /// The text, also of a binary message that holds UTF-8; nil otherwise.
    public var text: String? {
        switch self {
        case .text(let text): text
        case .binary(let bytes): String(validating: bytes, as: UTF8.self)
        }
    }
}

/// The WebSocket that a machine asks for.
public struct WebSocketRequest: Sendable, Hashable {
    /// Where; its scheme is ws or wss.
    public var url: WebURL
    /// Headers in addition to those of the handshake, such as `Origin`.
    public var headers: [HTTPField]
    /// The sub-protocol to ask for; nil asks for none.
    public var subprotocol: String?
    /// Largest message taken, in bytes.
    public var maximumMessageBytes: Int

    /// A request with each part given.
    public init(
        url: WebURL,
        headers: [HTTPField] = [],
        subprotocol: String? = nil,
        maximumMessageBytes: Int = JSONValue.maximumBytes
    ) {
        self.url = url
        self.headers = headers
        self.subprotocol = subprotocol
        self.maximumMessageBytes = maximumMessageBytes
    }
}

/// An event of the WebSocket; `refused` and `closed` are the last.
public enum WebSocketEvent: Sendable, Equatable {
    /// The handshake is done.
    case opened
    /// A message came.
    case received(WebSocketMessage)
    /// The server answered the handshake with another status; `body` is its beginning.
    case refused(status: Int, body: [UInt8])
    /// It is closed, after a close frame (nil) or by a failure.
    case closed(SignallingError?)
}
