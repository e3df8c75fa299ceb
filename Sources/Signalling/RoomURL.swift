// SPDX-License-Identifier: Apache-2.0

/// The one string that names a room anywhere: command line, configuration, API.
///
/// The scheme chooses the protocol; a protocol is one case and one file.
public enum RoomURL: Hashable, Sendable, CustomStringConvertible {
    /// A room on a Socket.IO server (protocols.md A).
    case socketIO(SocketIO)

    /// Schemes that this build joins.
    public static let supportedSchemes = ["socketio+http", "socketio+https"]

    /// Schemes of protocols that exist, but not in this build.
    private static let otherSchemes: Set<String> = [
        "skyrtc+ws", "skyrtc+wss", "apprtc+http", "apprtc+https", "xmpp", "lan+tcp", "whip+http", "whip+https",
        "whep+http", "whep+https", "janus+ws", "janus+wss", "janus+http", "janus+https",
    ]

    /// Reads a URL as a person or a file wrote it.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`; its message names the part that is wrong and shows a right
    ///   URL. It never repeats user information, which may hold a password.
    public init(parsing text: String) throws(SignallingError) {
        let scheme = try RoomURLParts.scheme(of: text)
        switch scheme {
        case "socketio+http":
            self = .socketIO(try SocketIO(RoomURLParts(text, scheme: scheme), isSecure: false))
        case "socketio+https":
            self = .socketIO(try SocketIO(RoomURLParts(text, scheme: scheme), isSecure: true))
        case _ where Self.otherSchemes.contains(scheme):
            throw RoomURLParts.error("scheme: \(scheme) is not supported by this build")
        default:
            let suggestion = Self.supportedSchemes.first { $0.hasSuffix("+" + scheme) }
            throw RoomURLParts.error(
                "scheme: \"\(RoomURLParts.excerpt(scheme))\" is not a room scheme; "
                    + (suggestion.map { "did you mean \($0)?" }
                        ?? "one of \(Self.supportedSchemes.joined(separator: ", ")) is")
            )
        }
    }

    /// The URL in its shortest form; it parses back to an equal value.
    public var description: String {
        switch self {
        case .socketIO(let room): room.description
        }
    }
}
