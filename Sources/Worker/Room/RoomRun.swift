// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import GStreamer
public import Logging
public import Media
public import Model
public import Recording
public import Session
public import Signalling
public import SignallingClients

/// A room of a command: as a spec says, in this process, joined once.
///
/// A `WorkerRoom` is joined again, hears of changes and reports by a pipe. Here whatever happens rings a bell, and the command
/// looks at the parts. Their owner ends them, in the order that it needs, after the run.
public final class RoomRun: Sendable {
    /// What a spec does not say.
    public struct Options: Sendable {
        /// Whether others see a recorder in us, where the protocol has a place for it.
        public var records = false
        /// The video codec that others are asked to send; `nil`: that of the spec.
        public var preferred: PreferredCodec?
        /// The storage directory as messages name it; `nil`: that of the spec.
        public var directory: String?
        /// Whether media are asked for.
        public var receives: Bool
        /// How many other peers of this process are in the room.
        public var companions: Int
        /// What the signaller may use of this host.
        public var environment = SignallerEnvironment()

        /// One that is alone, and does not record.
        public init(receives: Bool = true, companions: Int = 0) {
            (self.receives, self.companions) = (receives, companions)
        }
    }

    /// The room's URL.
    public let url: RoomURL
    /// The thread of GStreamer's objects.
    public let control: ControlThread
    /// What is sent; `nil` for nothing.
    public let camera: CameraSource?
    /// Writes what comes; `nil` if nothing is recorded.
    public let recorder: RoomRecorder?
    /// Where tracks are sent on; `nil` for nowhere.
    public let outputs: RTPOutputs?
    private let session: RoomSession
    private let bell: Bell
    /// One element for each recording that starts.
    private let starts: AsyncStream<Void>

    /// A room that is not joined yet; its recorder runs.
    ///
    /// - Parameters:
    ///   - camera: what is sent; several runs may have the same.
    ///   - bell: rung after everything that happens in the room.
    ///   - onPicture: called for each frame that was written as it came, on the recorder's thread.
    ///   - onEvent: called for what the recorder says, on its thread.
    /// - Throws: `RoomPlanError` if the spec is wrong, or what a certificate cannot be made for.
    public init(
        _ spec: RoomSpec,
        _ options: Options = Options(),
        camera: CameraSource?,
        control: ControlThread,
        bell: Bell = Bell(),
        logger: Logger,
        onPicture: (@Sendable (WrittenPicture) -> Void)? = nil,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in }
    ) throws {
        let plan = try RoomPlan(spec)
        let announcement = Announcement(spec.record?.announcement)
        let (starts, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.url, self.control, self.camera, self.bell, self.starts) = (plan.url, control, camera, bell, starts)
        var settings = plan.recorder(host: ProcessInfo.processInfo.hostName)
        settings.storage = options.directory ?? spec.storage
        // The command ends the recording.
        settings.emptyLimit = nil
        self.recorder =
            spec.record == nil
            ? nil
            : RoomRecorder(
                settings: settings,
                logger: logger,
                onEvent: { event in
                    announcement.note(event)
                    if case .started = event { feed.yield() }
                    onEvent(event)
                    bell.ring()
                },
                onPicture: onPicture
            )
        self.outputs =
            plan.outputs.isEmpty
            ? nil : RTPOutputs(plan.outputs, room: spec.name, logger: logger) { _ in bell.ring() }
        var request = plan.request(sends: camera != nil, records: options.records)
        (request.options.policy, request.options.receives) = (.oneShot, options.receives)
        var configuration = SessionConfiguration()
        // They are peers too, although nothing flows between us.
        configuration.maximumPeers += options.companions
        self.session = RoomSession(
            signaller: Signallers.signaller(for: request, environment: options.environment, logger: logger),
            context: try RoomComposition.context(
                plan,
                control: control,
                recorder: self.recorder,
                announcement: announcement,
                outputs: self.outputs,
                camera: camera,
                preferred: options.preferred ?? spec.record?.preferredCodec ?? spec.send?.preferredCodec ?? .vp8,
                recordsChat: spec.record?.chat ?? false,
                logger: logger
            ),
            configuration: configuration,
            logger: logger,
            // The outcome of one of several does not end the command.
            endLevel: options.companions == 0 ? .info : .warning
        ) { _ in bell.ring() }
    }

    /// How it is now.
    ///
    /// Any thread.
    public var status: RoomSessionStatus { self.session.status }

    /// Joins, and stays until `stop()` or until nothing is left to stay for; then rings.
    public func run() async -> SessionOutcome {
        let announcing = Task { for await _ in self.starts { self.session.announce() } }
        defer {
            announcing.cancel()
            self.bell.ring()
        }
        return await self.session.run()
    }

    /// Leaves the room and ends `run()`.
    ///
    /// Any thread.
    public func stop() { self.session.stop() }
}
