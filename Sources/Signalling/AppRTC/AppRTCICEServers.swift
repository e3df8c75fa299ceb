// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The STUN and TURN servers in an AppRTC server's answers.
enum AppRTCICEServers {
    /// Most servers taken from one answer.
    static let maximumServers = 16

    /// Reads `iceServers` of today's services, or `uris` with one `username` and `password` of those up to 2017.
    static func read(_ value: JSONValue) -> [ICEServer] {
        if let servers = value["iceServers"]?.array {
            return Array(servers.compactMap { ICEServer($0) }.prefix(Self.maximumServers))
        }
        let (username, password) = (value["username"]?.string, value["password"]?.string)
        return (value["uris"]?.array ?? []).compactMap(\.string).prefix(Self.maximumServers).map {
            ICEServer(urls: [$0], username: username, credential: password)
        }
    }

    /// Reads a body; empty if it holds no server.
    static func read(_ answer: HTTPAnswer) -> [ICEServer] {
        guard answer.isSuccess, let text = answer.text, let value = try? JSONValue(parsing: text) else { return [] }
        return Self.read(value)
    }
}
