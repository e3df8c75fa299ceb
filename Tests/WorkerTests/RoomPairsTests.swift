// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model
import Recording
import Testing

@testable import Worker

/// What may happen to a room by hand, by its definition, its disk and its worker.
enum Happening: String, CaseIterable, Sendable {
    case mute, pause, cameraChange, diskLimit, reload, crash
}

/// A daemon and its workers without processes: what is wanted, who is told, and what each worker makes of it.
struct RoomWorld: ~Copyable {
    /// What becomes of a change of the camera.
    enum Camera: String, CaseIterable, Sendable {
        case quick, hangs, hangsAndIsRefused
    }

    private static let narrow: RoomIntent.CameraRequest = {
        var change = CameraChange()
        change.width = 640
        return .change(change)
    }()
    private static let mute: RoomIntent.CameraRequest = {
        var change = CameraChange()
        change.isVideoMuted = true
        return .change(change)
    }()
    private static let recording = RecordingReference(id: "r", folder: "/srv/r")

    var fleet = Fleet(settings: FleetSettings(), seed: 7)
    var intent: RoomIntent
    var life: LifeDriver
    let camera: Camera
    /// Requests of the camera that wait for their turn.
    private var waiting: [RoomIntent.CameraRequest] = []
    private var isCameraBusy = false
    /// Whether a change of the camera was withdrawn.
    private(set) var isWithdrawn = false
    /// Whether a pause was refused.
    private(set) var isPauseRefused = false

    private init(_ camera: Camera, _ life: consuming LifeDriver) {
        self.camera = camera
        self.intent = RoomIntent(LifeDriver.spec(), byHand: RecordSpec(), takesMedia: true, limit: .everything)
        self.life = life
    }

    /// A room that is joined and recorded.
    static func joined(_ camera: Camera) throws -> RoomWorld {
        var world = RoomWorld(camera, try LifeDriver(LifeDriver.spec()))
        try world.join()
        return world
    }

    private mutating func join() throws {
        try self.feed(.define(self.intent.spec, revision: self.intent.revision))
        try self.feed(.want(room: "a", true))
        try self.start()
        _ = self.life.recorder.mediaCame(now: 0)
        try self.feed(.event(try self.worker, .recordingStarted(room: "a", Self.recording)))
    }

    private var worker: WorkerID { get throws { try #require(self.fleet.rooms["a"]?.worker) } }

    private mutating func start() throws {
        let id = try self.worker
        try self.feed(.event(id, .ready(protocolVersion: WorkerLine.protocolVersion, processID: 1)))
        try self.feed(.event(id, .joined(room: "a")))
        guard self.life.spec.continues != nil else { return }
        try self.feed(.event(id, .recordingStarted(room: "a", Self.recording)))
        try self.intend { $0.recordingBegan(Self.recording.id) }
    }

    private mutating func feed(_ input: FleetInput) throws {
        for case .send(_, .be(let spec, let revision)) in self.fleet.handle(input, now: .zero) {
            if self.fleet.rooms["a"]?.phase == .joined {
                self.life.be(spec, revision: revision)
            } else {
                self.life = try LifeDriver(spec, revision: revision)
            }
        }
    }

    @discardableResult
    private mutating func intend<Result>(_ change: (inout RoomIntent) -> Result) throws -> Result {
        let before = self.intent.revision
        let result = change(&self.intent)
        if self.intent.revision != before {
            try self.feed(.define(self.intent.spec, revision: self.intent.revision))
        }
        return result
    }

    private mutating func request(_ request: RoomIntent.CameraRequest) throws {
        try self.intend { $0.mute(for: request) }
        guard !self.isCameraBusy else { return self.waiting.append(request) }
        self.isCameraBusy = true
        self.life.looksHang = self.camera != .quick
        try self.intend { $0.request(request) }
        // A mute looks into nothing.
        if self.life.look == nil { try self.answered(isRefused: false) }
    }

    private mutating func answered(isRefused: Bool) throws {
        guard self.isCameraBusy else { return }
        self.isCameraBusy = false
        if isRefused { self.isWithdrawn = true }
        try self.intend { isRefused ? $0.withdrawCamera() : $0.acceptCamera() }
        if !self.waiting.isEmpty { try self.request(self.waiting.removeFirst()) }
    }

    mutating func happen(_ happening: Happening) throws {
        switch happening {
        case .mute: try self.request(Self.mute)
        case .cameraChange: try self.request(Self.narrow)
        case .pause:
            guard try self.intend({ $0.pause() }) else {
                self.isPauseRefused = true
                return
            }
            try self.intend { $0.acceptPause(of: Self.recording.id) }
        case .diskLimit:
            try self.intend { $0.limit(to: .nothing) }
            try self.feed(.event(try self.worker, .recordingFinished(room: "a", Self.recording, reason: "stopped")))
            try self.intend { $0.recordingEnded(Self.recording.id) }
        case .reload:
            let defined = LifeDriver.spec {
                $0.send?.width = 1920
                $0.record?.tags = ["reloaded"]
            }
            try self.intend { $0.define(defined, byHand: RecordSpec(), takesMedia: true) }
        case .crash:
            try self.feed(.exited(try self.worker, reason: "killed"))
            // Who waited for it heard nothing.
            try self.answered(isRefused: true)
            for _ in 0..<100 where self.fleet.rooms["a"]?.worker == nil {
                _ = self.fleet.handle(.retry(room: "a"), now: .zero)
            }
            try self.start()
        }
    }

    /// What hangs comes to an end, and whoever waits for it is answered.
    mutating func end() throws {
        for _ in 0..<3 where self.isCameraBusy {
            let refusal = self.camera == .hangsAndIsRefused ? "no capture" : nil
            self.life.release(refusal: refusal)
            try self.answered(isRefused: refusal != nil)
        }
        self.life.release()
    }

    mutating func liftLimit() throws {
        try self.intend { $0.limit(to: .everything) }
    }
}

/// Every ordered pair of what may happen to a room: what it is then, by a rule for each part that knows of no machine.
@Suite struct RoomPairsTests {
    /// What a room is to be after some of them.
    struct Expected {
        var isMuted = false
        var width = 1280
        var isReloaded = false
        var phase = RecordingStateMachine.Phase.recording
        var isPaused = false

        /// - Parameter isChanged: whether the last change of the camera is in force in the end.
        init(_ happenings: [Happening], isChanged: Bool) {
            for happening in happenings {
                switch happening {
                case .mute: self.isMuted = true
                case .pause: if self.phase == .recording { (self.phase, self.isPaused) = (.paused, true) }
                case .cameraChange: if isChanged { self.width = 640 }
                case .diskLimit: self.phase = .off
                case .reload: (self.width, self.isReloaded) = (1920, true)
                case .crash: break
                }
            }
        }
    }

    @Test(arguments: Happening.allCases, Happening.allCases)
    func aPairIsAsItsPartsAre(first: Happening, second: Happening) throws {
        for camera in RoomWorld.Camera.allCases {
            let title = "\(first), then \(second), camera \(camera)"
            var world = try RoomWorld.joined(camera)
            try world.happen(first)
            try world.happen(second)
            let happenings = [first, second]
            // A worker that dies does not answer; and a change that waits is one of the definition that is there then.
            let isLost = first == .cameraChange && second == .crash && camera != .quick
            let isChanged = camera != .hangsAndIsRefused && !isLost
            var expected = Expected(happenings, isChanged: isChanged)
            if first == .cameraChange, second == .reload, camera == .hangs { expected.width = 640 }

            // At once, also while a change of the camera hangs.
            #expect(world.life.life.mutes.isVideoMuted == expected.isMuted, "\(title)")
            #expect(world.life.recorder.phase == expected.phase, "\(title)")

            try world.end()
            let spec = world.intent.spec
            #expect(spec.send?.width == expected.width && spec.send?.isVideoMuted == expected.isMuted, "\(title)")
            #expect(world.life.sent == spec.send, "\(title)")
            #expect(world.life.life.mutes.isVideoMuted == expected.isMuted, "\(title)")
            #expect(world.life.recorder.phase == expected.phase, "\(title)")
            #expect(
                spec.record?.tags == (expected.phase == .off ? nil : expected.isReloaded ? ["reloaded"] : []),
                "\(title)"
            )
            #expect(world.isWithdrawn == (happenings.contains(.cameraChange) && !isChanged), "\(title)")
            #expect(world.isPauseRefused == (first == .diskLimit && second == .pause), "\(title)")
            let inForce = RoomLife.InForce(revision: world.intent.revision, refused: [:])
            #expect(world.life.life.inForce == inForce, "\(title)")
            #expect(world.fleet.rooms["a"]?.spec == spec && world.fleet.rooms["a"]?.revision == inForce.revision)

            // The next worker is told the same.
            try world.happen(.crash)
            #expect(world.life.sent == spec.send && world.life.life.mutes.isVideoMuted == expected.isMuted, "\(title)")
            #expect(world.life.recorder.phase == expected.phase, "\(title)")

            // With space again, what records automatically does, and what was paused does not.
            try world.liftLimit()
            let isOver = happenings.contains(.diskLimit)
            let after: RecordingStateMachine.Phase = !isOver ? expected.phase : expected.isPaused ? .off : .waiting
            #expect(world.life.recorder.phase == after, "\(title)")
        }
    }
}
