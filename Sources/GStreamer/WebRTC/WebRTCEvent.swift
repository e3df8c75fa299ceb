// SPDX-License-Identifier: Apache-2.0

/// An event of webrtcbin.
///
/// Delivered on GStreamer's threads, in order per thread.
public enum WebRTCEvent: Sendable {
    /// Gathering found a candidate of ours. `line` begins with `candidate:`.
    case localCandidate(mLineIndex: Int, line: String)
    /// Everything has been gathered.
    case gatheringComplete
    /// The ICE transport changed.
    case iceState(ICEState)
    /// ICE and DTLS of every transport are up, or not any more.
    case connectionState(ConnectionState)
    /// ICE chose a pair of candidates, the first or another one.
    case pairSelected(SelectedPair)
    /// A remote stream appeared. Its data are held until the owner attaches a branch with `receive`.
    case streamAppeared(ReceivedStream)
    /// The peer sends from more sources than a connection may have, or of more payload types than a source may; what comes of
    /// the others is dropped. Once.
    case sourcesExhausted
    /// Media came that were not made with the key of the handshake; they are dropped. Once.
    case mediaForged
    /// A look at this connection's packets held up other connections of this process, which are read by the same
    /// thread: this one is not read with others for half a minute now, and whenever it happens again. Reported once.
    case heldUpOthers
}

/// State of the ICE transport (W3C WebRTC section 5.6.4).
public enum ICEState: Int, Sendable, Hashable {
    /// Nothing happened yet.
    case new
    /// Candidates are checked.
    case checking
    /// A pair works.
    case connected
    /// All checks are done and a pair works.
    case completed
    /// No pair works.
    case failed
    /// The working pair went silent.
    case disconnected
    /// Closed by us.
    case closed
}

/// State of the peer connection (W3C WebRTC section 4.3.3).
public enum ConnectionState: Int, Sendable, Hashable {
    /// Nothing happened yet.
    case new
    /// ICE or DTLS are at work.
    case connecting
    /// ICE and DTLS are up.
    case connected
    /// A transport went silent.
    case disconnected
    /// A transport failed.
    case failed
    /// Closed by us.
    case closed
}
