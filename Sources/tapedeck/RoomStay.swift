// SPDX-License-Identifier: Apache-2.0

import GStreamer
import Logging
import Media
import Model
import PipelineCatalogue
import Session
import Signalling
import SignallingClients
import Worker

/// One stay of a command in one room: what it joins, what it sends there, and when it leaves.
struct RoomStay: Sendable {
    var url: RoomURL
    /// The room's password, PIN or token; that of the environment if left out.
    var secret: String?
    /// When to leave, from the first media; when somebody says so if left out.
    var duration: Duration?
    /// Whether to leave when the last participant has left.
    var untilEmpty: Bool
    /// What to send; nothing if left out.
    var sends: SendSpec?
    /// Where what is sent is looked up.
    var pipelines = PipelineCatalogue([])
    /// The video codec that others are asked to send.
    var preferred = PreferredCodec.vp8
    /// How long to wait for the first media.
    var wait: Duration
    var network: NetworkOptions
    /// Where signalling is traced.
    var trace: TraceFile?
    var logger: Logger

    /// Why a stay ended.
    enum End {
        case interrupted
        case duration
        case empty
        case noMedia
        case session
    }

    /// What there is of the media that the stay is for.
    enum Media {
        case none
        case some
        /// There will be none.
        case failed
    }

    /// What is sent, opened once; nil if nothing is.
    func camera(_ control: ControlThread) async throws -> CameraSource? {
        guard let sends = self.sends else { return nil }
        return try await CaptureArgument.camera(sends, from: self.pipelines, control: control, logger: self.logger)
    }

    /// How the room is joined.
    func request(sends: Bool) -> JoinRequest {
        JoinRequest(
            self.url,
            SignallingOptions(
                policy: .oneShot,
                sends: sends,
                secret: self.secret ?? RoomArgument.secret(for: self.url),
                seed: .random(in: 0...UInt64.max)
            )
        )
    }

    /// The session, which has yet to run.
    func session(
        _ request: JoinRequest,
        control: ControlThread,
        recorder: RecorderThread? = nil,
        outputs: RTPOutputs?,
        camera: CameraSource?,
        announcement: Announcement? = nil,
        recordsChat: Bool = false,
        configuration: SessionConfiguration = SessionConfiguration()
    ) throws -> RoomSession {
        RoomSession(
            signaller: Signallers.signaller(
                for: request,
                environment: .forCommand(trace: self.trace),
                logger: self.logger
            ),
            context: try RoomComposition.context(
                url: request.url,
                network: try self.network.settings(),
                control: control,
                recorder: recorder,
                announcement: announcement,
                outputs: outputs,
                camera: camera,
                preferred: self.preferred,
                recordsChat: recordsChat,
                logger: self.logger
            ),
            configuration: configuration,
            logger: self.logger
        )
    }

    /// Why nothing came, although no session failed.
    ///
    /// - Parameters:
    ///   - media: what was waited for.
    ///   - silence: what is said of peers that are connected.
    func nothingCame(_ statuses: [RoomSessionStatus], media: String, silence: String) -> CommandFailure {
        guard statuses.allSatisfy(\.hasJoined) else { return self.notJoined(statuses) }
        let reason = statuses.compactMap(\.lastRefusal).first.map { " (last refused: \($0))" } ?? ""
        let peers = statuses.contains(where: \.hasConnected) ? silence : "no participant connected"
        return CommandFailure(.noMedia, "joined \(self.url.shown), but no \(media) came: \(peers)\(reason)")
    }

    /// Why the room is not joined, although no session failed.
    func notJoined(_ statuses: [RoomSessionStatus]) -> CommandFailure {
        let reason = statuses.filter { !$0.hasJoined }.compactMap(\.lastJoinFailure).first
        return CommandFailure(
            .notJoined,
            "could not join \(self.url.shown) in time (\(self.wait)): \(reason ?? "the room did not answer")"
        )
    }

    /// Looks ten times a second for a reason to leave.
    ///
    /// - Parameters:
    ///   - media: what there is by now.
    ///   - meanwhile: called after each look that found no reason, with the time since the first media.
    func end(
        of session: RoomSession,
        _ interrupts: Interrupts,
        media: () -> Media,
        meanwhile: (RoomSessionStatus, Duration?, ContinuousClock.Instant) -> Void = { _, _, _ in }
    ) async -> (end: End, hadMedia: Bool) {
        let started = ContinuousClock.now
        var firstMedia: ContinuousClock.Instant?
        while true {
            let now = ContinuousClock.now
            let status = session.status
            let found = media()
            if firstMedia == nil, found == .some { firstMedia = now }
            if interrupts.came { return (.interrupted, firstMedia != nil) }
            if status.hasEnded { return (.session, firstMedia != nil) }
            if let firstMedia {
                if let duration = self.duration, now - firstMedia >= duration { return (.duration, true) }
                if self.untilEmpty, status.presentPeers.isEmpty { return (.empty, true) }
            } else if now - started >= self.wait || found == .failed {
                return (.noMedia, false)
            }
            meanwhile(status, firstMedia.map { now - $0 }, now)
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
