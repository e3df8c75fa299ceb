// SPDX-License-Identifier: Apache-2.0

/// When the steps of a peer connection were done, from the offer to the first packet: nanoseconds of one monotonic
/// clock.
///
/// Steps that were not noted are nil.
public struct SetupTimes: Sendable, Hashable {
    /// The first offer of either side was there.
    public var offer: Int64?
    /// The answer went out, or came.
    public var answer: Int64?
    /// ICE had a pair of candidates that works.
    public var ice: Int64?
    /// DTLS was up.
    public var dtls: Int64?
    /// The track's first packet was there.
    public var packet: Int64?

    /// Times of which none is known.
    public init() {}

    /// How long each step took, up to the first unit in a file; nil if no offer was noted.
    ///
    /// The parts are not negative, and their sum is the time from the offer to the unit. A step that was noted late, or
    /// not at all, was done when the one after it was done at the latest.
    public func parts(firstUnit: Int64) -> [SetupPart: Duration]? {
        guard let offer = self.offer else { return nil }
        var end = max(firstUnit, offer)
        var parts: [SetupPart: Duration] = [:]
        for (part, step) in [
            (SetupPart.file, self.packet), (.packet, self.dtls), (.dtls, self.ice), (.ice, self.answer),
        ] {
            let begin = max(offer, min(step ?? end, end))
            parts[part] = .nanoseconds(end - begin)
            end = begin
        }
        parts[.answer] = .nanoseconds(end - offer)
        return parts
    }
}
