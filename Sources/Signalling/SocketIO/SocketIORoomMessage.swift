// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The data of a relayed `message` event: a description or a candidate.
public struct SocketIORoomMessage: Sendable, Hashable {
    /// The content of the message.
    public var content: PeerMessage
    /// The receiver, if the sender named one (our extension for rooms of more than two).
    public var to: PeerID?
    /// The sender, if it named itself (our extension for rooms of more than two).
    public var from: PeerID?
    /// The name that the sender of a description gives itself (our extension).
    public var name: String?
    /// Whether the sender of a description says that it is there to record (our extension).
    public var isOfRecorder: Bool
    /// Under which ids the sender was a member before its connection was lost (our extension for rooms of more than two).
    public var was: [PeerID]
    /// Most of them that are read and written.
    static let maximumEarlierIDs = 8

    /// A message with each part given.
    public init(
        _ content: PeerMessage,
        to: PeerID? = nil,
        from: PeerID? = nil,
        name: String? = nil,
        isOfRecorder: Bool = false,
        was: [PeerID] = []
    ) {
        self.content = content
        self.to = to
        self.from = from
        self.name = content.isDescription ? name : nil
        self.isOfRecorder = content.isDescription && isOfRecorder
        self.was = was
    }

    /// Reads a message.
    public init(_ data: JSONValue) throws(PeerMessage.ReadingError) {
        let content = try PeerMessage(data)
        self.content = content
        self.name = content.isDescription ? PeerMessage.name(data) : nil
        self.isOfRecorder = content.isDescription && PeerMessage.isOfRecorder(data)
        let object = data.object ?? [:]
        self.to = object["to"]?.string.map { PeerID($0) }
        self.from = object["from"]?.string.map { PeerID($0) }
        let was = (object["was"]?.array ?? []).prefix(Self.maximumEarlierIDs)
        self.was = was.compactMap { $0.string.map { PeerID($0) } }
    }

    /// The superset that every known reader takes.
    ///
    /// An end of candidates has no form that all peers survive: nil.
    public var data: JSONValue? {
        var object: [String: JSONValue]
        switch self.content {
        case .offer(let sdp):
            object = ["type": "offer", "sdp": .string(sdp)]
        case .answer(let sdp):
            object = ["type": "answer", "sdp": .string(sdp)]
        case .candidate(let candidate):
            object = PeerMessage.members(of: candidate)
            object["type"] = "candidate"
        case .endOfCandidates:
            return nil
        }
        object["to"] = self.to.map { .string($0.rawValue) }
        object["from"] = self.from.map { .string($0.rawValue) }
        object["name"] = self.name.map { .string($0) }
        if self.isOfRecorder { object["recorder"] = .bool(true) }
        if !self.was.isEmpty { object["was"] = .array(self.was.map { .string($0.rawValue) }) }
        return .object(object)
    }
}
