// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The connection to the server during one attempt: one WebSocket, or requests one at a time with a parallel long poll.
///
/// Requests over HTTP wait for each other, because two on their way could overtake each other.
struct JanusLink: Sendable {
    /// The answer to the request that is under way.
    static let post = HTTPRequest.ID(rawValue: "post")
    /// Waits for events.
    static let poll = HTTPRequest.ID(rawValue: "poll")
    /// A request whose answer is ignored.
    static let last = HTTPRequest.ID(rawValue: "last")
    /// Most requests that wait; what comes on top is lost.
    private static let maximumWaiting = 1024
    /// The server holds a poll for 30 s.
    private static let pollLimit = Duration.seconds(60)

    private let address: RoomURL.Janus
    private var waiting: [HTTPRequest] = []
    private var isPosting = false
    private var polls = 0

    init(_ address: RoomURL.Janus) {
        self.address = address
    }

    /// Whether an opening must be awaited.
    var isWebSocket: Bool { self.address.transport == .webSocket }

    /// Opens the WebSocket.
    func open() -> [SignallingAction] {
        guard self.isWebSocket else { return [] }
        return [.openWebSocket(WebSocketRequest(url: self.address.url, subprotocol: "janus-protocol"))]
    }

    /// Sends a request, or lets it wait; `isLast` lets it overtake those that wait.
    mutating func send(
        _ members: [String: JSONValue],
        session: Int?,
        handle: Int?,
        isLast: Bool = false
    ) -> [SignallingAction] {
        var members = members
        if let token = self.address.token { members["token"] = .string(token) }
        if let secret = self.address.apiSecret { members["apisecret"] = .string(secret) }
        if self.isWebSocket {
            if let session { members["session_id"] = .integer(session) }
            if let handle { members["handle_id"] = .integer(handle) }
            return [.sendWebSocket(.text(JSONValue.object(members).text))]
        }
        let request = HTTPRequest(
            isLast ? Self.last : Self.post,
            method: "POST",
            url: self.url([session, handle]),
            headers: [HTTPField("Content-Type", "application/json")],
            body: [UInt8](JSONValue.object(members).text.utf8)
        )
        if isLast { return [.request(request)] }
        if self.waiting.count < Self.maximumWaiting { self.waiting.append(request) }
        return self.next()
    }

    /// Notes that a request was answered, and sends the next one.
    mutating func posted() -> [SignallingAction] {
        self.isPosting = false
        return self.next()
    }

    /// Asks for events once more.
    mutating func pollAgain(session: Int) -> [SignallingAction] {
        guard !self.isWebSocket else { return [] }
        self.polls += 1
        var url = self.url([session])
        url.target += "?maxev=10&rid=\(self.polls)"
        if let token = self.address.token { url.target += "&token=\(PercentCoding.encode(token))" }
        if let secret = self.address.apiSecret {
            url.target += "&apisecret=\(PercentCoding.encode(secret))"
        }
        return [.request(HTTPRequest(Self.poll, method: "GET", url: url, timeout: Self.pollLimit))]
    }

    private mutating func next() -> [SignallingAction] {
        guard !self.isPosting, !self.waiting.isEmpty else { return [] }
        self.isPosting = true
        return [.request(self.waiting.removeFirst())]
    }

    private func url(_ parts: [Int?]) -> WebURL {
        var url = self.address.url
        url.target = self.address.path + parts.compactMap { $0.map { "/\($0)" } }.joined()
        if url.target.isEmpty { url.target = "/" }
        return url
    }
}
