// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Calls booked at an AppRTC room server: nothing goes through it but what it kept for us.
extension XMPPRoomStateMachine {
    private static let joinPrefix = "join "
    private static let leaveID = HTTPRequest.ID(rawValue: "leave")

    /// Notes the room of a call that came, and books it.
    mutating func book(_ peer: PeerID, _ room: String) -> [SignallingAction] {
        self.calls[peer]?.room = room
        return self.joinRequest(peer, room).map { [.request($0)] } ?? []
    }

    /// The request that books a call; nil if there is no room server, or the room's name is none.
    func joinRequest(_ peer: PeerID, _ room: String) -> HTTPRequest? {
        guard Self.isName(room) else { return nil }
        return self.request(HTTPRequest.ID(rawValue: "\(Self.joinPrefix)\(room) \(peer.rawValue)"), "join/\(room)")
    }

    /// Releases the booking of a call.
    mutating func leaveRoom(_ peer: PeerID) -> [SignallingAction] {
        guard let call = self.calls[peer], let room = call.room, let client = call.roomClient else { return [] }
        self.calls[peer]?.roomClient = nil
        return self.request(Self.leaveID, "leave/\(room)/\(client)").map { [.request($0)] } ?? []
    }

    mutating func answered(_ id: HTTPRequest.ID, _ answer: HTTPAnswer) -> [SignallingAction] {
        guard let peer = self.joined(id) else { return [] }
        let reply = answer.isSuccess ? answer.text.flatMap { try? JSONValue(parsing: $0) } : nil
        guard let reply, reply["result"]?.string == "SUCCESS" else {
            let result = reply?["result"]?.string.map { String($0.prefix(64)) } ?? "status \(answer.status)"
            return [.ignored("The room server did not book a call", result)] + self.callBooked(peer)
        }
        let client = reply["params"]?["client_id"]?.string
        self.calls[peer]?.roomClient = client.flatMap { Self.isName($0) ? $0 : nil }
        return self.callBooked(peer) + self.kept(reply["params"]?["messages"]?.array ?? [], peer)
    }

    mutating func requestFailed(_ id: HTTPRequest.ID, _ error: SignallingError) -> [SignallingAction] {
        guard let peer = self.joined(id) else { return [] }
        return [.ignored("The room server did not book a call", error.message)] + self.callBooked(peer)
    }

    /// The call for which a request booked a room, if it is still in progress.
    private func joined(_ id: HTTPRequest.ID) -> PeerID? {
        guard self.state == .online, id.rawValue.hasPrefix(Self.joinPrefix) else { return nil }
        let parts = id.rawValue.split(separator: " ", maxSplits: 2)
        guard parts.count == 3 else { return nil }
        let peer = PeerID(String(parts[2]))
        return self.calls[peer]?.room == String(parts[1]) ? peer : nil
    }

    /// Whether booked or not: our own call begins now.
    private func callBooked(_ peer: PeerID) -> [SignallingAction] {
        guard let call = self.calls[peer], call.isOutgoing, !call.hasOffered else { return [] }
        return [.event(.peerAwaited(peer))]
    }

    /// The caller's messages at the room server: descriptions first.
    private func kept(_ messages: [JSONValue], _ peer: PeerID) -> [SignallingAction] {
        let bodies = messages.prefix(256).map { $0.string ?? $0.text }
        let read = bodies.compactMap { try? XMPPCallMessage(body: $0) }
        let said: [(content: PeerMessage, name: String?)] = read.compactMap { message in
            switch message {
            case .peer(.offer(let sdp), _) where XMPPCallMessage.requiresSDES(sdp): nil
            case .peer(.endOfCandidates, _), .room, .bye: nil
            case .peer(let content, let name): (content, name)
            }
        }
        return (said.filter { $0.content.isDescription } + said.filter { !$0.content.isDescription })
            .flatMap { RoomEvent.said($0.content, name: $0.name, by: peer) }.map { .event($0) }
    }

    private func request(_ id: HTTPRequest.ID, _ path: String) -> HTTPRequest? {
        guard let server = self.address.roomServer else { return nil }
        var url = server
        url.target += (url.target.hasSuffix("/") ? "" : "/") + path
        return HTTPRequest(id, method: "POST", url: url, body: [])
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                default: false
                }
            }
    }
}
