// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The answer to `POST /join/{room}`.
///
/// Servers in other languages write booleans and objects where the original writes strings with JSON; both are taken.
public enum AppRTCJoinAnswer: Sendable, Hashable {
    /// We are a member.
    case joined(Parameters)
    /// Two others are there.
    case full
    /// The server gave us a name that is taken.
    case duplicateClient
    /// The server could not do it.
    case failed
    /// Another result; its name, shortened.
    case unknown(String)

    /// The server's parameters for a new member.
    public struct Parameters: Sendable, Hashable {
        let membership: AppRTCMembership
        /// Whether we are the first, and so the one who offers.
        let isInitiator: Bool
        /// Messages that the first member posted before we came.
        let messages: [AppRTCMessage]
        /// How many of them could not be read.
        let unreadableMessages: Int
        /// The collider.
        let webSocketURL: WebURL
        /// STUN and TURN servers that came with the answer.
        let iceServers: [ICEServer]
        /// Where more of them are to be had: `ice_server_url`.
        let iceServerURL: WebURL?
        /// The same of servers up to 2017: `turn_url`.
        let legacyTURNURL: WebURL?
        /// Messages of the server for human readers, shortened.
        let notices: [String]
    }

    /// Why an answer is not one of a room server.
    public enum ReadingError: Error, Sendable, Hashable {
        /// No JSON object with a `result`.
        case notAnAnswer
        /// Success, but this parameter is missing or wrong.
        case parameter(String)
    }

    /// Most messages taken from one answer.
    static let maximumMessages = 1000
    private static let maximumNotices = 4

    /// Reads a body.
    ///
    /// - Parameters:
    ///   - server: The room server, against which relative URLs are read.
    ///   - room: The room that we asked for.
    public init(parsing body: String, server: WebURL, room: String) throws(ReadingError) {
        guard let value = try? JSONValue(parsing: body), let result = value["result"]?.string else {
            throw .notAnAnswer
        }
        switch result {
        case "SUCCESS": self = .joined(try Parameters(value["params"] ?? .null, server: server, room: room))
        case "FULL": self = .full
        case "DUPLICATE_CLIENT": self = .duplicateClient
        case "ERROR": self = .failed
        default: self = .unknown(String(result.prefix(64)))
        }
    }

    /// A value that may be written as a string that holds JSON.
    static func unwrapped(_ value: JSONValue?) -> JSONValue? {
        value?.string.map { try? JSONValue(parsing: $0) } ?? value
    }

    fileprivate static func notices(_ value: JSONValue) -> [String] {
        let texts = ["error_messages", "warning_messages"].flatMap { value[$0]?.array ?? [] }.compactMap(\.string)
        return texts.prefix(Self.maximumNotices).map { String($0.prefix(200)) }
    }
}

extension AppRTCJoinAnswer.Parameters {
    fileprivate init(_ value: JSONValue, server: WebURL, room: String) throws(AppRTCJoinAnswer.ReadingError) {
        let client = value["client_id"]?.string ?? value["client_id"]?.integer.map(String.init)
        guard let client, RoomURL.AppRTC.isIdentifier(client) else { throw .parameter("client_id") }
        let room = value["room_id"]?.string ?? room
        guard RoomURL.AppRTC.isIdentifier(room) else { throw .parameter("room_id") }
        guard let socket = value["wss_url"]?.string.flatMap({ WebURL(parsing: $0) }), socket.isWebSocket else {
            throw .parameter("wss_url")
        }
        let post = value["wss_post_url"]?.string.flatMap { server.resolving($0) }
        self.membership = AppRTCMembership(
            room: room,
            client: client,
            postURL: post.flatMap { $0.isWebSocket ? nil : $0 }
        )
        self.webSocketURL = socket
        let stored = AppRTCJoinAnswer.unwrapped(value["messages"])?.array ?? []
        self.messages = stored.prefix(AppRTCJoinAnswer.maximumMessages).compactMap { AppRTCMessage($0) }
        self.unreadableMessages = stored.count - self.messages.count
        self.isInitiator = Self.flag(value["is_initiator"]) ?? stored.isEmpty
        let configuration = AppRTCJoinAnswer.unwrapped(value["pc_config"])
        self.iceServers = AppRTCICEServers.read(configuration ?? .null)
        // Servers in the answer are enough if one of them relays; servers that only report addresses are not.
        let hasRelay = self.iceServers.contains { $0.urls.contains { $0.lowercased().hasPrefix("turn") } }
        self.iceServerURL = hasRelay ? nil : Self.url(value["ice_server_url"], server)
        self.legacyTURNURL = hasRelay ? nil : Self.url(value["turn_url"], server)
        self.notices = AppRTCJoinAnswer.notices(value)
    }

    private static func flag(_ value: JSONValue?) -> Bool? {
        value?.bool ?? value?.string.flatMap { Bool($0.lowercased()) }
    }

    private static func url(_ value: JSONValue?, _ server: WebURL) -> WebURL? {
        guard let text = value?.string, !text.isEmpty, let url = server.resolving(text), !url.isWebSocket else {
            return nil
        }
        return url
    }
}
