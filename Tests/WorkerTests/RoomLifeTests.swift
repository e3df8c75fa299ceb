// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import Recording
import Testing

@testable import Worker

/// A room's life with a recorder and a camera that do at once what they are told; looks and captures may hang.
struct LifeDriver: ~Copyable {
    var life: RoomLife
    var recorder: RecordingStateMachine
    /// What was performed, in words.
    var log: [String] = []
    /// What the camera sends; `nil` without one.
    var sent: SendSpec?
    /// What a look is into that has no end yet.
    var look: SendSpec?
    var capture: SendSpec?
    var looksHang = false
    var capturesHang = false
    private(set) var spec: RoomSpec
    private(set) var revision: UInt64

    /// A room that was joined.
    init(_ spec: RoomSpec, revision: UInt64 = 1, looksHang: Bool = false) throws {
        self.life = RoomLife(spec, revision: revision)
        let settings = try RoomPlan(spec).recorder(host: "")
        self.recorder = RecordingStateMachine(
            startsByItself: settings.isAutomatic,
            goesOn: spec.continues != nil,
            isPaused: settings.continuesPaused,
            emptyLimit: nil,
            now: 0
        )
        (self.spec, self.revision, self.looksHang) = (spec, revision, looksHang)
        self.makeSession()
        self.settle()
    }

    static func spec(_ change: (inout RoomSpec) -> Void = { _ in }) -> RoomSpec {
        var spec = RoomSpec(name: "a", url: "socketio+http://192.0.2.1/a", storage: "/srv")
        (spec.record, spec.send) = (RecordSpec(), SendSpec())
        change(&spec)
        return spec
    }

    mutating func be(_ change: (inout RoomSpec) -> Void) {
        var spec = self.spec
        change(&spec)
        self.be(spec, revision: self.revision + 1)
    }

    mutating func be(_ spec: RoomSpec, revision: UInt64) {
        (self.spec, self.revision) = (spec, revision)
        self.life.be(spec, revision: revision)
        self.settle()
    }

    mutating func makeSession() {
        guard let calls = self.life.beginSession() else { return }
        self.sent = calls.send
        if self.life.sessionMade(usable: calls.send) == .stop { self.sessionEnded() }
    }

    mutating func sessionEnded() {
        self.sent = nil
        if self.life.sessionEnded() { self.makeSession() }
    }

    /// What hangs comes to an end.
    mutating func release(refusal: String? = nil) {
        (self.looksHang, self.capturesHang) = (false, false)
        if let look = self.look {
            self.look = nil
            let found = refusal.map { Result<SendSpec, RoomLife.Refusal>.failure(RoomLife.Refusal(reason: $0)) }
            _ = self.life.looked(found ?? .success(look))
        }
        if let capture = self.capture {
            self.capture = nil
            self.sent = capture
            _ = self.life.captured(.done)
        }
        self.settle()
    }

    mutating func settle() {
        while let action = self.life.next() {
            self.log.append(Self.word(action))
            switch action {
            case .settings, .outputs: self.life.done(action)
            case .start: self.life.done(action, refusal: Self.refusal(self.recorder.recordOrdered()))
            case .stop: self.life.done(action, refusal: Self.refusal(self.recorder.stopOrdered()))
            case .pause: self.life.done(action, refusal: Self.refusal(self.recorder.pauseOrdered()))
            case .resume:
                let result = self.recorder.resumeOrdered()
                let last = result == .nothingRecorded ? self.recorder.recordOrdered() : result
                self.life.done(action, refusal: Self.refusal(last))
            case .rejoin: self.sessionEnded()
            case .look(let send):
                guard !self.looksHang else {
                    self.look = send
                    continue
                }
                _ = self.life.looked(.success(send))
            case .capture(let send):
                guard !self.capturesHang else {
                    self.capture = send
                    continue
                }
                self.sent = send
                _ = self.life.captured(.done)
            case .refuse, .report: break
            }
        }
    }

    private static func refusal(_ result: RecordingStateMachine.OnOrder) -> String? {
        result == .nothingRecorded ? "nothing is recorded" : nil
    }

    private static func word(_ action: RoomLife.Action) -> String {
        switch action {
        case .settings: "settings"
        case .start: "start"
        case .resume: "resume"
        case .pause: "pause"
        case .stop: "stop"
        case .outputs: "outputs"
        case .rejoin: "rejoin"
        case .look: "look"
        case .capture: "capture"
        case .refuse(let part, let reason): "refuse \(part): \(reason)"
        case .report: "report"
        }
    }
}

@Suite struct RoomLifeTests {
    /// How a room is to be another, and what is done for it, in order.
    struct Change: Sendable {
        var title: String
        var before: @Sendable (inout RoomSpec) -> Void = { _ in }
        /// Whether media come before.
        var isRecording = false
        var change: @Sendable (inout RoomSpec) -> Void
        var actions: [String]
        var phase: RecordingStateMachine.Phase
    }

    static let changes: [Change] = [
        Change(title: "nothing", change: { _ in }, actions: ["report"], phase: .waiting),
        Change(
            title: "pause",
            isRecording: true,
            change: { $0.recording = .paused },
            actions: ["pause", "report"],
            phase: .paused
        ),
        Change(
            title: "pause of nothing",
            change: { $0.recording = .paused },
            actions: ["pause", "report"],
            phase: .waiting
        ),
        Change(
            title: "resume",
            before: { ($0.recording, $0.continues) = (.paused, "/srv/r") },
            change: { $0.recording = .on },
            actions: ["resume", "report"],
            phase: .recording
        ),
        Change(
            title: "resume where nothing starts automatically",
            before: {
                $0.record?.isAutomatic = false
                $0.recording = .paused
                $0.continues = "/srv/r"
            },
            change: { $0.recording = .automatic },
            actions: ["resume", "report"],
            phase: .recording
        ),
        Change(
            title: "stop",
            isRecording: true,
            change: { $0.recording = .off },
            actions: ["stop", "report"],
            phase: .off
        ),
        Change(
            title: "start",
            before: { $0.recording = .off },
            change: { $0.recording = .on },
            actions: ["start", "report"],
            phase: .waiting
        ),
        Change(
            title: "by hand what starts automatically",
            isRecording: true,
            change: { $0.recording = .on },
            actions: ["report"],
            phase: .recording
        ),
        Change(
            title: "nothing starts automatically any more",
            isRecording: true,
            change: { $0.record?.isAutomatic = false },
            actions: ["settings", "report"],
            phase: .recording
        ),
        Change(
            title: "no record",
            isRecording: true,
            change: { $0.record = nil },
            actions: ["stop", "report"],
            phase: .off
        ),
        Change(
            title: "files before peers: a room that was not recorded",
            before: { $0.record = nil },
            change: {
                $0.record = RecordSpec()
                $0.outputs = [OutputSpec(host: "192.0.2.7")]
                $0.send?.width = 640
            },
            actions: ["settings", "start", "outputs", "rejoin", "look", "capture", "report"],
            phase: .waiting
        ),
        Change(
            title: "another codec is asked for",
            change: { $0.record?.preferredCodec = .h264 },
            actions: ["settings", "rejoin", "report"],
            phase: .waiting
        ),
        Change(
            title: "chat",
            before: { $0.record?.chat = false },
            change: { $0.record?.chat = true },
            actions: ["settings", "rejoin", "report"],
            phase: .waiting
        ),
        Change(
            title: "no chat: channels stay",
            change: { $0.record?.chat = false },
            actions: ["settings", "report"],
            phase: .waiting
        ),
        Change(
            title: "mute: nothing is looked into",
            change: { $0.send?.isVideoMuted = true },
            actions: ["capture", "report"],
            phase: .waiting
        ),
        Change(
            title: "another size, muted first",
            change: {
                $0.send?.width = 640
                $0.send?.isVideoMuted = true
            },
            actions: ["capture", "look", "capture", "report"],
            phase: .waiting
        ),
        Change(
            title: "another codec is sent",
            change: { $0.send?.preferredCodec = .h264 },
            actions: ["look", "rejoin", "report"],
            phase: .waiting
        ),
        Change(
            title: "nothing is sent",
            change: { $0.send = nil },
            actions: ["rejoin", "report"],
            phase: .waiting
        ),
        Change(
            title: "something is sent",
            before: { $0.send = nil },
            change: { $0.send = SendSpec() },
            actions: ["look", "rejoin", "report"],
            phase: .waiting
        ),
        Change(
            title: "8c0b0adb: what cannot be sent refuses nothing else",
            isRecording: true,
            change: {
                $0.send?.framesPerSecond = 1000
                $0.recording = .paused
            },
            actions: ["pause", "refuse send: framesPerSecond takes 1 to 60, not 1000", "report"],
            phase: .paused
        ),
        Change(
            title: "waits are the supervisor's",
            change: { ($0.priority, $0.afterKickSeconds) = (7, 7) },
            actions: ["report"],
            phase: .waiting
        ),
    ]

    @Test(arguments: Self.changes)
    func doesWhatDiffers(row: Change) throws {
        var driver = try LifeDriver(LifeDriver.spec(row.before))
        if row.isRecording { _ = driver.recorder.mediaCame(now: 0) }
        driver.log = []
        driver.be(row.change)
        #expect(driver.log == row.actions, "\(row.title)")
        #expect(driver.recorder.phase == row.phase, "\(row.title)")
        let inForce = driver.life.inForce
        #expect(inForce?.revision == 2, "\(row.title)")
        // abc4333a: it is reported once all is done, and once.
        driver.settle()
        #expect(driver.log == row.actions, "\(row.title)")
        #expect((driver.sent != nil) == (driver.spec.send != nil), "\(row.title)")
        if inForce?.refused[.send] == nil { #expect(driver.sent == driver.spec.send, "\(row.title)") }
    }

    @Test func anOlderRevisionChangesNothing() throws {
        var driver = try LifeDriver(LifeDriver.spec(), revision: 7)
        driver.life.be(LifeDriver.spec { $0.recording = .off }, revision: 7)
        driver.settle()
        #expect(driver.recorder.phase == .waiting && driver.life.inForce?.revision == 7)
    }

    @Test func whatNeedsAnotherRoomIsRefused() throws {
        let parts: [(RoomPart, (inout RoomSpec) -> Void)] = [
            (.address, { $0.url = Secret("socketio+http://192.0.2.1/b") }), (.displayName, { $0.displayName = "x" }),
            (.secret, { $0.secret = Secret("x") }), (.host, { $0.storage = "/x" }),
        ]
        for (part, change) in parts {
            var driver = try LifeDriver(LifeDriver.spec { $0.continues = "/srv/r" })
            driver.be {
                change(&$0)
                $0.continues = nil
            }
            #expect(driver.life.inForce?.refused.keys.sorted { $0.rawValue < $1.rawValue } == [part])
        }
    }

    // MARK: What hangs

    /// b29c49ec, 9f255a4e: a mute is at once, and waits for nothing.
    @Test(arguments: [true, false]) func aMuteWaitsForNothing(looksHang: Bool) throws {
        var driver = try LifeDriver(LifeDriver.spec())
        (driver.capturesHang, driver.looksHang) = (!looksHang, looksHang)
        driver.be { $0.send?.width = 640 }
        driver.be { $0.send?.isVideoMuted = true }
        #expect(driver.life.mutes.isVideoMuted)
        if looksHang {
            #expect(driver.sent?.isVideoMuted == true && driver.sent?.width == 1280, "it closes the device")
        }
        driver.release()
        #expect(driver.sent == driver.spec.send && driver.life.mutes.isVideoMuted)
        #expect(driver.life.inForce == RoomLife.InForce(revision: 3, refused: [:]))
    }

    /// d92243f2, 8004e788: what was muted is not shown before what is captured has changed, nor where that fails.
    @Test(arguments: [nil, "no capture"]) func nothingIsShownTooEarly(refusal: String?) throws {
        var driver = try LifeDriver(LifeDriver.spec { $0.send?.isVideoMuted = true })
        driver.looksHang = true
        driver.be {
            $0.send?.width = 640
            $0.send?.isVideoMuted = false
        }
        #expect(driver.life.mutes.isVideoMuted && driver.life.inForce?.revision == 1)
        driver.release(refusal: refusal)
        #expect(driver.life.mutes.isVideoMuted == (refusal != nil))
        // 12a57d8e: a change that hangs has an end.
        #expect(driver.life.inForce == RoomLife.InForce(revision: 2, refused: refusal.map { [.send: $0] } ?? [:]))
        #expect(driver.sent?.width == (refusal == nil ? 640 : 1280))
    }

    /// 88d9cc5d: what was withdrawn is never done, whatever becomes of the look.
    @Test(arguments: [nil, "no capture"]) func whatIsWithdrawnIsNeverDone(refusal: String?) throws {
        var driver = try LifeDriver(LifeDriver.spec())
        driver.looksHang = true
        driver.be { $0.send?.width = 640 }
        driver.be { $0.send?.width = 1280 }
        #expect(driver.life.inForce == RoomLife.InForce(revision: 3, refused: [:]), "it waits for nothing that hangs")
        driver.release(refusal: refusal)
        #expect(driver.sent == SendSpec() && driver.life.inForce?.refused == [:])
    }

    /// 8004e788: another change comes behind one that hangs, and is not refused with it.
    @Test func theNextChangeIsNotRefusedWithTheOneBefore() throws {
        var driver = try LifeDriver(LifeDriver.spec())
        driver.looksHang = true
        driver.be { $0.send?.width = 640 }
        driver.be { $0.send?.width = 1920 }
        #expect(driver.life.inForce?.revision == 1)
        driver.release(refusal: "no capture")
        #expect(driver.sent?.width == 1920 && driver.life.inForce == RoomLife.InForce(revision: 3, refused: [:]))
    }

    @Test func whatIsRecordedDoesNotWaitForTheCamera() throws {
        var driver = try LifeDriver(LifeDriver.spec())
        _ = driver.recorder.mediaCame(now: 0)
        driver.looksHang = true
        driver.be { $0.send?.width = 640 }
        driver.be { $0.recording = .off }
        #expect(driver.recorder.phase == .off && driver.life.inForce?.revision == 1)
    }

    /// A capture that failed may be done late: the next spec has the camera do it again.
    @Test func aCaptureThatIsNotCertainIsRepeated() throws {
        for isWithdrawn in [true, false] {
            var driver = try LifeDriver(LifeDriver.spec())
            driver.capturesHang = true
            driver.be {
                $0.send?.width = 640
                $0.send?.isVideoMuted = true
            }
            driver.release()
            driver.capturesHang = true
            driver.be {
                $0.send?.width = 1920
                $0.send?.isVideoMuted = false
            }
            driver.capture = nil
            let reason = driver.life.captured(.refused("it did not return"))
            #expect(reason == "it did not return")
            driver.settle()
            #expect(driver.life.inForce?.refused == [.send: "it did not return"])
            #expect(driver.life.mutes.isVideoMuted, "it may be done late")
            driver.log = []
            driver.capturesHang = false
            driver.be { spec in
                if isWithdrawn {
                    spec.send?.width = 640
                    spec.send?.isVideoMuted = true
                } else {
                    spec.priority = 7
                }
            }
            #expect(driver.log == ["capture", "report"])
            #expect(driver.sent?.width == 640 && driver.sent?.isVideoMuted == true && driver.life.mutes.isVideoMuted)
        }
    }

    // MARK: Sessions

    @Test func aChangeWhileASessionIsMadeIsInTheNext() throws {
        var life = RoomLife(LifeDriver.spec { $0.record = nil }, revision: 1)
        let first = life.beginSession()
        #expect(first?.records == false)
        life.be(LifeDriver.spec(), revision: 2)
        while let action = life.next() { life.done(action) }
        #expect(life.inForce?.revision == 2)
        let made = life.sessionMade(usable: SendSpec())
        let isFollowed = life.sessionEnded()
        #expect(made == .stop && isFollowed)
        let second = life.beginSession()
        let madeAgain = life.sessionMade(usable: SendSpec())
        let isFollowedAgain = life.sessionEnded()
        #expect(second?.records == true && madeAgain == .run && !isFollowedAgain)
    }

    @Test func whatIsMutedWhileASessionIsMadeIsMutedInIt() throws {
        var life = RoomLife(LifeDriver.spec(), revision: 1)
        _ = life.beginSession()
        life.be(LifeDriver.spec { $0.send?.isVideoMuted = true }, revision: 2)
        while let action = life.next() { life.done(action) }
        #expect(life.mutes.isVideoMuted)
        let made = life.sessionMade(usable: SendSpec())
        #expect(made == .run && life.mutes.isVideoMuted)
        var muted = SendSpec()
        muted.isVideoMuted = true
        let action = life.next()
        #expect(action == .capture(muted))
    }

    @Test func aCameraThatCannotBeMadeIsTriedWithAnotherWish() throws {
        var life = RoomLife(LifeDriver.spec(), revision: 1)
        _ = life.beginSession()
        let made = life.sessionMade(usable: nil, refusal: "no camera")
        #expect(made == .run)
        while let action = life.next() { life.done(action) }
        #expect(life.inForce == RoomLife.InForce(revision: 1, refused: [.send: "no camera"]))
        life.be(LifeDriver.spec { $0.recording = .off }, revision: 2)
        #expect(Self.actions(&life) == [.stop, .report])
        #expect(life.inForce?.refused == [.send: "no camera"], "another part is no other wish")
        let muted = LifeDriver.spec { $0.send?.isVideoMuted = true }
        life.be(muted, revision: 3)
        let send = muted.send ?? SendSpec()
        #expect(Self.actions(&life) == [.start, .look(send)])
        let refusal = life.looked(.success(send))
        #expect(refusal == nil)
        #expect(Self.actions(&life) == [.rejoin, .report])
    }

    private static func actions(_ life: inout RoomLife) -> [RoomLife.Action] {
        var actions: [RoomLife.Action] = []
        while let action = life.next() {
            actions.append(action)
            life.done(action)
        }
        return actions
    }

    @Test func nothingIsDoneForARoomThatIsLeft() throws {
        var driver = try LifeDriver(LifeDriver.spec())
        driver.life.leave()
        driver.log = []
        driver.be { ($0.recording, $0.send) = (.off, nil) }
        let calls = driver.life.beginSession()
        let made = driver.life.sessionMade(usable: nil)
        let isFollowed = driver.life.sessionEnded()
        #expect(driver.log.isEmpty && calls == nil && made == .leave && !isFollowed)
    }
}
