// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The negotiation of one peer connection, between the peer, which sees outer descriptions, and webrtcbin, which sees
/// inner ones.
///
/// webrtcbin 1.22 breaks on direction changes, stopped and recycled m-lines and several codecs on an m-line. Inner
/// descriptions therefore only ever grow: one codec per m-line, directions pinned, no m-line stopped or reused.
/// Everything else is exchanged with the peer only. Descriptions of the peer and ours for it are values: the receiver
/// parses them, the sender prints them. webrtcbin uses text, which is parsed and printed here.
///
///          offerReceived                 offerCreated
///     ┌──────────────────── stable ────────────────────┐
///     ▼                      ▲  ▲                       ▼
///  answering ─ answerCreated ┘  └ answerReceived ─ offering
///
/// There is no terminal state and no way back: when anything throws while not stable, or `.rebuild` is returned, the
/// driver throws peer connection and state away and starts with new ones. Calls are serialised by the caller. Every
/// method is a pure function of what it was given, except for the random session id chosen at creation.
public struct NegotiationState: Sendable {
    /// Limits of the negotiation.
    public let policy: NegotiationPolicy
    /// The fingerprints of our certificate, the only ones that outer descriptions carry.
    public let ourFingerprints: [Fingerprint]

    enum Phase: Sendable, Hashable {
        case stable
        case answering
        case offering
    }

    let sessionID: UInt64
    var version: UInt64 = 0
    var phase = Phase.stable
    /// The outer m-lines.
    var sections: [Section] = []
    /// The inner m-lines.
    var innerLines: [InnerLine] = []
    var remote: RemoteSession?
    var localICE: ICECredentials?
    /// Whether the offer that is being answered restarts ICE (RFC 8839 section 4.4.1.1.1): the agent must restart as
    /// well, before it gets the offer.
    public internal(set) var restartsICE = false
    /// Our DTLS role, once an answer settled it.
    var ourRole: Setup?
    /// The peer's last offer, and our answer to it.
    var lastRemoteOffer: SessionDescription?
    var lastOuterAnswer: SessionDescription?
    /// Candidates that the offer adds to those of the one before, if webrtcbin does not get the offer.
    var newCandidates: [CandidateLine] = []
    /// The inner offer that webrtcbin last got, without what may change freely.
    var appliedInner: SessionDescription?
    var innerVersion: UInt64 = 0
    /// Whether the peer stopped every m-line, and with them the transport.
    var hasLostTransport = false
    /// The outer m-line whose transport the whole BUNDLE uses.
    var bundleTag: Int?
    /// The inner m-lines on which our camera and our microphone go out, since the peer's first offer.
    var trackPlaces: [MediaKind: Int] = [:]

    /// A negotiation in which nothing was said yet.
    /// - Parameter sessionID: for our `o=` line; unique per negotiation (RFC 8866 section 5.2).
    public init(
        policy: NegotiationPolicy,
        ourFingerprints: [Fingerprint],
        sessionID: UInt64 = .random(in: 1..<(1 << 62))
    ) {
        self.policy = policy
        self.ourFingerprints = ourFingerprints
        self.sessionID = sessionID
    }

    /// Whether no offer is open, so that a new one may be made or taken.
    public var isStable: Bool { self.phase == .stable }
    /// The fingerprints of the peer's certificate; empty until its first description.
    public var remoteFingerprints: FingerprintSet { self.remote?.fingerprints ?? FingerprintSet([]) }
    /// The peer's ICE user name fragment; nil until its first description.
    public var remoteICEUfrag: String? { self.remote?.ice.ufrag }

    /// The m-lines in use, in the peer's order.
    ///
    /// After `offerReceived` it already says what the answer will be, so that
    /// the driver can prepare what it sends before it creates the answer.
    public var negotiatedMedia: [NegotiatedMedia] {
        self.sections.enumerated().compactMap { index, section in
            guard case .taken(let taken) = section.use, self.innerLines.indices.contains(taken.innerIndex),
                let codec = self.innerLines[taken.innerIndex].codec
            else { return nil }
            return NegotiatedMedia(
                outerIndex: index,
                innerIndex: taken.innerIndex,
                mid: section.mid,
                kind: self.innerLines[taken.innerIndex].kind,
                codec: codec,
                ourDirection: taken.ourDirection,
                remoteDirection: taken.remoteDirection,
                carriesOurTrack: self.innerLines[taken.innerIndex].carriesOurTrack,
                remoteSources: self.innerLines[taken.innerIndex].sources,
                simulcast: taken.ourDirection.receives ? taken.simulcast : nil,
                streamID: taken.streamID,
                trackID: taken.trackID
            )
        }
    }

    /// Whether media are agreed in either direction, so RTP or reports about it should come: a peer that offers to send
    /// and gets an answer that receives nothing sends neither.
    public var hasAgreedMedia: Bool {
        self.negotiatedMedia.contains { $0.ourDirection != .inactive }
    }

    /// The m-lines that are not in use, each with the reason, for one log line.
    public var refusedMedia: [(outerIndex: Int, media: String, reason: String)] {
        self.sections.enumerated().compactMap { index, section in
            guard case .refused(let reason) = section.use else { return nil }
            return (index, section.media, reason)
        }
    }

    /// The kinds of media that the peer said it may send, and that we receive.
    public var awaitedKinds: Set<MediaKind> {
        Set(self.negotiatedMedia.filter { $0.remoteDirection.sends && $0.ourDirection.receives }.map(\.kind))
    }

    /// The m-lines of the peer's last offer on which it would send what we receive, and that our answer refuses.
    public var refusedSenders: [(outerIndex: Int, kind: MediaKind, reason: String)] {
        guard let offer = self.lastRemoteOffer else { return [] }
        return self.refusedMedia.compactMap { refused in
            guard let media = offer.media[checked: refused.outerIndex], let kind = media.kind,
                media.port != 0 || media.isBundleOnly, offer.direction(of: media).sends,
                !self.policy.received(kind).isEmpty
            else { return nil }
            return (refused.outerIndex, kind, refused.reason)
        }
    }

    /// Kinds that we send and the peer listens for, but only on m-lines that cannot carry them.
    public var unservedKinds: [MediaKind] {
        [MediaKind.audio, .video].filter { kind in
            let media = self.negotiatedMedia.filter { $0.kind == kind }
            return !self.policy.sent(kind).isEmpty && media.contains { $0.remoteDirection.receives }
                && !media.contains { $0.ourDirection.sends }
        }
    }

    /// Our SCTP port, if data channels are negotiated; webrtcbin does not know of them.
    public var dataChannelPort: UInt16? {
        self.sections.contains { $0.dataChannels != nil } ? DataChannelMedia.port : nil
    }

    /// The m-line whose description names a source.
    public func media(forSSRC ssrc: UInt32) -> NegotiatedMedia? {
        self.negotiatedMedia.first { $0.remoteSources.contains { $0.ssrc == ssrc } }
    }

    /// The m-line of a source, or, if no description names it, the only m-line that uses the payload type.
    public func media(forSSRC ssrc: UInt32, payloadType: UInt8) -> NegotiatedMedia? {
        if let named = self.media(forSSRC: ssrc) { return named }
        let users = self.negotiatedMedia.filter {
            $0.codec.payloadType == payloadType || $0.codec.rtxPayloadType == payloadType
        }
        return users.count == 1 ? users.first : nil
    }

    /// Whether webrtcbin takes all that the m-lines ever named: it forgets none that is gone.
    var sourcesFit: Bool { self.innerLines.reduce(0) { $0 + $1.sources.count } <= SDPLimits.sources }
}

/// The known properties of the peer's transport.
struct RemoteSession: Sendable, Hashable {
    var origin: Origin
    var fingerprints: FingerprintSet
    var ice: ICECredentials
    var isICELite: Bool
    /// The DTLS role in the description for webrtcbin: pinned by the first answer.
    var setup: Setup
}

/// One m-line that the peer sees.
struct Section: Sendable, Hashable {
    enum Use: Sendable, Hashable {
        case taken(TakenMedia)
        case dataChannels(DataChannelMedia)
        case refused(reason: String)
    }

    var media: String
    var protocolName: String
    /// The formats to repeat when it is answered with port 0.
    var formats: [String]
    /// The lines to repeat with them.
    var repeatedLines: [SDPLine] = []
    var mid: String?
    var isBundled: Bool
    var use: Use

    var taken: TakenMedia? {
        if case .taken(let taken) = self.use { taken } else { nil }
    }

    var dataChannels: DataChannelMedia? {
        if case .dataChannels(let channels) = self.use { channels } else { nil }
    }

    /// Whether it has a part in the transport.
    var isUsed: Bool { self.taken != nil || self.dataChannels != nil }
}

/// How an outer m-line is used now.
struct TakenMedia: Sendable, Hashable {
    var innerIndex: Int
    var remoteDirection: Direction
    var ourDirection: Direction
    var streamID: String?
    var trackID: String?
    /// The layers that the peer offers.
    var simulcast: Simulcast?
    /// The feedback that its last offer names for the codec; nil if there was none.
    var feedback: [String]?
}

/// One m-line that webrtcbin sees.
///
/// It is never taken away or changed, but for more sources.
struct InnerLine: Sendable, Hashable {
    var mid: String
    var kind: MediaKind
    /// Nil only between our offer and its answer.
    var codec: NegotiatedCodec?
    var sources: [RemoteSource]
    /// Whether webrtcbin has a sender of ours for it whose packets the peer takes.
    var carriesOurTrack: Bool
    /// The direction that webrtcbin offered on it, while that offer is open.
    var localDirection: Direction?
    /// The direction that webrtcbin settled on it.
    var answeredDirection: Direction?
    /// webrtcbin's own `ssrc` and `ssrc-group` lines.
    var localSources: [SDPLine] = []
    /// Formats that our offer lists; empty when answering.
    var offered: [OuterFormat] = []

    /// Whether what we send can go out on it: webrtcbin agreed, or was not asked yet.
    var takesOurTrack: Bool { self.carriesOurTrack && (self.answeredDirection?.sends ?? true) }

    /// Remembers sources that were not known, up to one more than may be named.
    mutating func add(_ new: [RemoteSource]) {
        for source in new where !self.sources.contains(where: { $0.ssrc == source.ssrc }) {
            guard self.sources.count <= SDPLimits.sources else { return }
            self.sources.append(source)
        }
    }
}
