// SPDX-License-Identifier: Apache-2.0

import Media
import Signalling
import Worker

/// When a command leaves its room.
struct LeaveRule: Sendable {
    /// How long to wait for the first media.
    var wait: Duration
    /// When to leave, from the first media; not before an interrupt if left out.
    var duration: Duration?
    /// Whether to leave when the last participant has left.
    var untilEmpty = false

    /// Why a room is left.
    enum Reason { case interrupted, duration, empty, noMedia, session }

    /// What there is of the media that the command is for; failed if there will be none.
    enum Media { case none, some, failed }
}

extension RoomRun {
    /// Waits for a reason to leave.
    ///
    /// - Parameters:
    ///   - media: what there is by now.
    ///   - meanwhile: called once a second, and with everything that happens, with the time since the first media.
    func end(
        _ rule: LeaveRule,
        _ interrupts: Interrupts,
        media: () -> LeaveRule.Media,
        meanwhile: (Duration?) -> Void = { _ in }
    ) async -> (reason: LeaveRule.Reason, hadMedia: Bool) {
        enum Found { case media, reason(LeaveRule.Reason) }
        var firstMedia: ContinuousClock.Instant?
        var deadline: ContinuousClock.Instant? = ContinuousClock.now + rule.wait
        while true {
            let found = await interrupts.bell.wait(until: deadline, every: .seconds(1)) { () -> Found? in
                let came = media()
                if firstMedia == nil, came == .some { return .media }
                if interrupts.came { return .reason(.interrupted) }
                let status = self.status
                if status.hasEnded { return .reason(.session) }
                if firstMedia == nil, came == .failed { return .reason(.noMedia) }
                if firstMedia != nil, rule.untilEmpty, status.presentPeers.isEmpty { return .reason(.empty) }
                meanwhile(firstMedia.map { ContinuousClock.now - $0 })
                return nil
            }
            switch found {
            case .media:
                firstMedia = ContinuousClock.now
                deadline = rule.duration.map { ContinuousClock.now + $0 }
            case .reason(let reason): return (reason, firstMedia != nil)
            case nil: return firstMedia == nil ? (.noMedia, false) : (.duration, true)
            }
        }
    }
}

extension CommandFailure {
    /// Why nothing came, although no session failed.
    ///
    /// - Parameters:
    ///   - runs: what was in the room.
    ///   - wait: how long it was waited.
    ///   - media: what was waited for.
    ///   - silence: what is said of peers that are connected.
    static func nothingCame(in runs: RoomRun..., wait: Duration, media: String, silence: String) -> CommandFailure {
        let (url, statuses) = (runs[0].url, runs.map(\.status))
        let outside = statuses.filter { !$0.hasJoined }
        guard outside.isEmpty else {
            let reason = outside.compactMap(\.lastJoinFailure).first ?? "the room did not answer"
            return CommandFailure(.notJoined, "could not join \(url.shown) in time (\(wait)): \(reason)")
        }
        let reason = statuses.compactMap(\.lastRefusal).first.map { " (last refused: \($0))" } ?? ""
        let peers = statuses.contains(where: \.hasConnected) ? silence : "no participant connected"
        return CommandFailure(.noMedia, "joined \(url.shown), but no \(media) came: \(peers)\(reason)")
    }
}
