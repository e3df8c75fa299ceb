// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One message of a SkyRTC server or client: `{"eventName":…,"data":{…}}`.
///
/// Names are matched without underscores and case, because dialects differ in both.
public struct SkyRTCMessage: Sendable, Hashable {
    /// The meaning of messages; the raw value is the name without underscores, in lower case.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// A client wants to be a member.
        case join
        /// The answer to `join`: who is there.
        case peers
        /// A member joined after us.
        case newPeer = "newpeer"
        /// A member is gone.
        case removePeer = "removepeer"
        /// A session description that asks.
        case offer
        /// A session description that answers.
        case answer
        /// A candidate.
        case iceCandidate = "icecandidate"
        /// Call dialect: the server took us.
        case loginSuccess = "loginsuccess"
        /// Call dialect: makes a room with us in it.
        case create
        /// Call dialect: a user calls.
        case invite
        /// Call dialect: a phone rings.
        case ring
        /// Call dialect: the caller gave up.
        case cancel
        /// Call dialect: a user rejects a call.
        case reject
        /// Call dialect: a member leaves.
        case leave
        /// Call dialect: a member lost another one.
        case disconnect
        /// Call dialect: continue without video.
        case audio
        /// Registered in servers, and empty there.
        case ack
    }

    /// Why a message was not taken.
    public enum ReadingError: Error, Sendable, Hashable {
        /// Not JSON, or not UTF-8.
        case notJSON
        /// JSON beyond the limits.
        case tooLarge
        /// No object with an event name.
        case noEvent
        /// An event of another name, shortened.
        case unknownEvent(String)
    }

    /// Longest id taken, in bytes.
    static let maximumIDBytes = 256
    /// Most members of a room.
    static let maximumMembers = 64

    /// The meaning of the message.
    public var event: Event
    /// Data of the message; null if it has none.
    public var data: JSONValue

    /// A message with both parts given.
    public init(_ event: Event, _ data: JSONValue) {
        self.event = event
        self.data = data
    }

    /// Reads a text or a binary message of UTF-8.
    public init(_ message: WebSocketMessage) throws(ReadingError) {
        guard let text = message.text else { throw .notJSON }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: text)
        } catch {
            throw error == .tooLarge ? .tooLarge : .notJSON
        }
        guard let name = value["eventName"]?.string else { throw .noEvent }
        guard name.utf8.count <= 64, let event = Event(rawValue: name.lowercased().filter { $0 != "_" }) else {
            throw .unknownEvent(String(name.prefix(64)))
        }
        self.event = event
        self.data = value["data"] ?? .null
    }

    /// The message on the wire.
    ///
    /// - Parameter prefix: Two underscores towards a server, one towards a client of the classic dialect.
    public func text(prefix: String) -> WebSocketMessage {
        .text(JSONValue.object(["eventName": .string(prefix + self.name), "data": self.data]).text)
    }

    /// The id under the first of these keys that has one.
    public func peer(_ keys: String...) -> PeerID? {
        keys.lazy.compactMap { self.data[$0] }.compactMap(Self.peer).first
    }

    /// The members that a `peers` message lists, as an array or with commas between; each once, 64 at most.
    public var connections: [PeerID] {
        let listed: [PeerID]
        switch self.data["connections"] {
        case .array(let values)?: listed = values.compactMap(Self.peer)
        case .string(let text)?: listed = text.split(separator: ",").compactMap { Self.peer(.string(String($0))) }
        default: listed = []
        }
        var result: [PeerID] = []
        for peer in listed.prefix(Self.maximumMembers) where !result.contains(peer) { result.append(peer) }
        return result
    }

    /// The description or candidate; nil for events that carry none.
    ///
    /// The event's name decides, whatever `type` says.
    public func content() throws(PeerMessage.ReadingError) -> PeerMessage? {
        switch self.event {
        case .offer: .offer(sdp: try PeerMessage.description(self.data))
        case .answer: .answer(sdp: try PeerMessage.description(self.data))
        case .iceCandidate: try PeerMessage.candidate(self.data)
        case .join, .peers, .newPeer, .removePeer, .loginSuccess, .create, .invite, .ring, .cancel, .reject, .leave,
            .disconnect, .audio, .ack:
            nil
        }
    }

    /// The name that the sender of a description gives itself; nil for everything else.
    public var senderName: String? {
        self.event == .offer || self.event == .answer ? PeerMessage.name(self.data) : nil
    }

    /// Whether the sender of a description says that it is there to record; false for everything else.
    public var isOfRecorder: Bool {
        (self.event == .offer || self.event == .answer) && PeerMessage.isOfRecorder(self.data)
    }

    /// The same message, which introduces its sender if it is a description: by name, and as a recorder.
    public func introducing(_ name: String?, isRecorder: Bool) -> SkyRTCMessage {
        guard self.event == .offer || self.event == .answer, var object = self.data.object else { return self }
        if let name { object["name"] = .string(name) }
        if isRecorder { object["recorder"] = .bool(true) }
        return SkyRTCMessage(self.event, .object(object))
    }

    /// The event's name without the underscores before it.
    private var name: String {
        switch self.event {
        case .newPeer: "new_peer"
        case .removePeer: "remove_peer"
        case .iceCandidate: "ice_candidate"
        case .loginSuccess: "login_success"
        case .join, .peers, .offer, .answer, .create, .invite, .ring, .cancel, .reject, .leave, .disconnect, .audio,
            .ack:
            self.event.rawValue
        }
    }

    private static func peer(_ value: JSONValue) -> PeerID? {
        let id = value.string ?? value.integer.map { String($0) } ?? ""
        return id.isEmpty || id.utf8.count > Self.maximumIDBytes ? nil : PeerID(id)
    }
}

extension SkyRTCMessage {
    /// A description or candidate of the classic dialect; nil for an end of candidates, which readers do not survive.
    ///
    /// - Parameter addressing: The receiver or, towards clients, the sender.
    public init?(_ content: PeerMessage, classic addressing: [String: JSONValue]) {
        switch content {
        case .offer(let sdp):
            self.init(.offer, .object(addressing.merging(["sdp": Self.object("offer", sdp)]) { $1 }))
        case .answer(let sdp):
            self.init(.answer, .object(addressing.merging(["sdp": Self.object("answer", sdp)]) { $1 }))
        case .candidate(let candidate):
            self.init(.iceCandidate, .object(addressing.merging(Self.members(of: candidate)) { $1 }))
        case .endOfCandidates:
            return nil
        }
    }

    /// A description or candidate of the call dialect; nil for an end of candidates.
    public init?(_ content: PeerMessage, to receiver: PeerID, fromUser sender: String) {
        var data: [String: JSONValue] = ["userID": .string(receiver.rawValue), "fromID": .string(sender)]
        switch content {
        case .offer(let sdp):
            data["sdp"] = .string(sdp)
            self.init(.offer, .object(data))
        case .answer(let sdp):
            data["sdp"] = .string(sdp)
            self.init(.answer, .object(data))
        case .candidate(let candidate):
            self.init(.iceCandidate, .object(data.merging(Self.members(of: candidate)) { $1 }))
        case .endOfCandidates:
            return nil
        }
    }

    private static func object(_ type: String, _ sdp: String) -> JSONValue {
        .object(["type": .string(type), "sdp": .string(sdp)])
    }

    /// The common members, and the browser's names that web clients of the call dialect read.
    private static func members(of candidate: ICECandidate) -> [String: JSONValue] {
        var members = PeerMessage.members(of: candidate)
        members["sdpMLineIndex"] = members["label"]
        members["sdpMid"] = members["id"]
        return members
    }
}
