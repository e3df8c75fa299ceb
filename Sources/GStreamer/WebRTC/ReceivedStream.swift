// SPDX-License-Identifier: Apache-2.0

/// A source pad of webrtcbin that nothing has been attached to yet; what comes out of it is held.
public struct ReceivedStream: Sendable {
    /// The format in the pad's caps.
    public let format: RTPFormat?
    /// `CLOCK_MONOTONIC` when it appeared, with its first packet.
    public let appearedNanoseconds = Runtime.monotonicNanoseconds
    let pad: Pad
    let hold: PadHold
}
