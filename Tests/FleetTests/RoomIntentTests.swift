// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model
import Testing
import Timeline

/// What a room is to be after requests, definitions and the disk: each story is a fault that was once, or a rule.
@Suite struct RoomIntentTests {
    /// A room and what happens to it.
    struct Story: Sendable {
        var title: String
        var defined: RoomSpec
        var steps: @Sendable (inout RoomIntent) -> Void
        var isRight: @Sendable (RoomSpec, RoomIntent.Hand) -> Bool
    }

    static let byHand: RecordSpec = {
        var record = RecordSpec()
        (record.isAutomatic, record.announcement) = (false, "recorded")
        return record
    }()

    static func spec(_ change: (inout RoomSpec) -> Void = { _ in }) -> RoomSpec {
        var spec = FleetDriver.order("a")
        spec.send = SendSpec()
        change(&spec)
        return spec
    }

    static let recorded = spec()
    static let unrecorded = spec { $0.record = nil }

    private static func muting(_ change: (inout CameraChange) -> Void) -> RoomIntent.CameraRequest {
        var camera = CameraChange()
        change(&camera)
        return .change(camera)
    }

    private static let mute = muting { $0.isVideoMuted = true }
    private static let unmute = muting { $0.isVideoMuted = false }
    private static let widen = muting { ($0.width, $0.isAudioMuted) = (640, true) }

    private static func accepted(_ request: RoomIntent.CameraRequest, _ intent: inout RoomIntent) {
        intent.mute(for: request)
        intent.request(request)
        intent.acceptCamera()
    }

    private static func pausing(_ intent: inout RoomIntent, isTaken: Bool = true) {
        let taken = intent.pause()
        #expect(taken == isTaken)
    }

    private static func paused(_ intent: inout RoomIntent) {
        self.pausing(&intent)
        intent.acceptPause(of: "r")
    }

    private static func define(_ defined: RoomSpec, _ intent: inout RoomIntent) {
        intent.define(defined, byHand: Self.byHand, takesMedia: true)
    }

    static let recordings: [Story] = [
        Story(title: "as defined", defined: recorded, steps: { _ in }) { spec, _ in spec == recorded },
        Story(title: "nothing defined", defined: unrecorded, steps: { _ in }) { spec, _ in spec.recording == .off },
        Story(title: "by hand", defined: unrecorded, steps: { $0.startRecording() }) { spec, _ in
            spec.record == byHand && spec.recording == .on
        },
        Story(title: "by hand, as defined", defined: recorded, steps: { $0.startRecording() }) { spec, _ in
            spec.record == RecordSpec() && spec.recording == .on
        },
        Story(title: "stopped", defined: recorded, steps: { $0.stopRecording() }) { spec, _ in
            spec.recording == .off && spec.record != nil
        },
        Story(title: "stopped by hand", defined: unrecorded) {
            $0.startRecording()
            $0.stopRecording()
        } isRight: { spec, _ in
            spec.record == nil && spec.recording == .off
        },
        Story(title: "ae38a9f2: a pause outlasts its recording on a full disk", defined: recorded) {
            paused(&$0)
            $0.limit(to: .nothing)
            $0.recordingEnded("r")
            $0.limit(to: .everything)
        } isRight: { spec, hand in
            hand == .held && spec.recording == .off
        },
        Story(title: "ae38a9f2: the disk reaches recordings by hand", defined: unrecorded) {
            $0.startRecording()
            $0.limit(to: .audioOnly)
        } isRight: { spec, hand in
            hand == .on && spec.record?.video == false && spec.record?.audio == true
        },
        Story(title: "dcb7176a: the disk ends what was begun by hand", defined: unrecorded) {
            $0.startRecording()
            $0.limit(to: .nothing)
            $0.limit(to: .everything)
        } isRight: { spec, hand in
            hand == .asDefined && spec.record == nil
        },
        Story(title: "dcb7176a: a definition ends what was begun by hand", defined: recorded) {
            $0.startRecording()
            define(unrecorded, &$0)
        } isRight: { spec, hand in
            hand == .asDefined && spec.recording == .off
        },
        Story(title: "a definition that never recorded ends nothing", defined: unrecorded) {
            $0.startRecording()
            define(spec { ($0.record, $0.priority) = (nil, 7) }, &$0)
        } isRight: { spec, _ in
            spec.recording == .on && spec.priority == 7
        },
        Story(title: "a pause is not ended by a definition that records nothing for a while", defined: recorded) {
            paused(&$0)
            define(unrecorded, &$0)
            define(recorded, &$0)
        } isRight: { spec, hand in
            hand == .held && spec.recording == .off
        },
        Story(title: "a pause that comes while the disk fills", defined: recorded) {
            pausing(&$0)
            $0.limit(to: .nothing)
            $0.acceptPause(of: "r")
            $0.limit(to: .everything)
        } isRight: { spec, hand in
            hand == .held && spec.recording == .off
        },
        Story(title: "a pause ends with its recording", defined: recorded) {
            paused(&$0)
            $0.recordingEnded("r")
        } isRight: { spec, _ in
            spec.recording == .on
        },
        Story(title: "and does not reach the next one", defined: recorded) {
            paused(&$0)
            $0.recordingBegan("s")
        } isRight: { spec, _ in
            spec.recording == .on
        },
        Story(title: "but the next part", defined: recorded) {
            paused(&$0)
            $0.recordingBegan("r")
            $0.recordingEnded("q")
        } isRight: { spec, _ in
            spec.recording == .paused
        },
        Story(title: "a pause that the worker refuses", defined: recorded) {
            pausing(&$0)
            $0.recordingBegan("r")
            $0.withdrawPause()
        } isRight: { spec, hand in
            hand == .asDefined && spec == recorded
        },
        Story(title: "a pause whose recording ended before the answer", defined: recorded) {
            pausing(&$0)
            $0.acceptPause(of: nil)
        } isRight: { spec, _ in
            spec.recording == .on
        },
        Story(title: "another request before the answer", defined: recorded) {
            pausing(&$0)
            $0.startRecording()
            $0.withdrawPause()
            $0.acceptPause(of: "r")
        } isRight: { spec, _ in
            spec.recording == .on
        },
        Story(title: "nothing to pause where nothing is recorded", defined: recorded) {
            $0.stopRecording()
            pausing(&$0, isTaken: false)
            $0.limit(to: .nothing)
            pausing(&$0, isTaken: false)
        } isRight: { spec, hand in
            hand == .off && spec.recording == .off
        },
        Story(title: "a room that is not wanted any more", defined: recorded) {
            paused(&$0)
            $0.forgetRecording()
        } isRight: { spec, _ in
            spec == recorded
        },
    ]

    static let cameras: [Story] = [
        Story(title: "004d4565: the second change goes by what the first made of it", defined: recorded) {
            accepted(widen, &$0)
            accepted(mute, &$0)
        } isRight: { spec, _ in
            spec.send?.width == 640 && spec.send?.isVideoMuted == true && spec.send?.isAudioMuted == true
        },
        Story(title: "9f255a4e: a mute holds where the rest of a change does not", defined: recorded) {
            $0.mute(for: widen)
            $0.request(widen)
            $0.withdrawCamera()
        } isRight: { spec, _ in
            spec.send?.width == 1280 && spec.send?.isAudioMuted == true
        },
        Story(title: "8004e788: what is muted while a change is awaited stays muted", defined: recorded) {
            $0.request(unmute)
            $0.mute(for: mute)
            $0.acceptCamera()
        } isRight: { spec, _ in
            spec.send?.isVideoMuted == true
        },
        Story(title: "88d9cc5d: what was withdrawn is not part of what follows", defined: recorded) {
            $0.request(widen)
            $0.withdrawCamera()
            accepted(mute, &$0)
        } isRight: { spec, _ in
            spec.send?.width == 1280 && spec.send?.isVideoMuted == true
        },
        Story(title: "f06ec963: mutes outlive a definition that sends nothing", defined: recorded) {
            accepted(mute, &$0)
            define(spec { $0.send = nil }, &$0)
            define(spec { $0.send?.width = 1920 }, &$0)
        } isRight: { spec, _ in
            spec.send?.width == 1920 && spec.send?.isVideoMuted == true
        },
        Story(title: "f06ec963: and a request that sends nothing", defined: recorded) {
            accepted(mute, &$0)
            accepted(.camera(nil), &$0)
            define(spec { $0.send?.width = 1920 }, &$0)
        } isRight: { spec, _ in
            spec.send?.width == 1920 && spec.send?.isVideoMuted == true
        },
        Story(title: "another definition counts for all but mutes", defined: recorded) {
            accepted(widen, &$0)
            define(spec { $0.send?.height = 1080 }, &$0)
        } isRight: { spec, _ in
            spec.send?.width == 1280 && spec.send?.height == 1080 && spec.send?.isAudioMuted == true
        },
        Story(title: "a change holds while the camera's definition stays", defined: recorded) {
            accepted(widen, &$0)
            define(spec { $0.priority = 7 }, &$0)
        } isRight: { spec, _ in
            spec.send?.width == 640 && spec.priority == 7
        },
        Story(title: "a reload before the answer: the change goes by the new definition", defined: recorded) {
            $0.request(widen)
            define(spec { $0.send?.height = 1080 }, &$0)
            $0.acceptCamera()
        } isRight: { spec, _ in
            spec.send?.width == 640 && spec.send?.height == 1080
        },
        Story(title: "someone unmutes", defined: recorded) {
            accepted(mute, &$0)
            accepted(unmute, &$0)
            define(spec { $0.send?.width = 1920 }, &$0)
        } isRight: { spec, _ in
            spec.send?.isVideoMuted == false
        },
        Story(title: "nothing is sent into a room that only plays", defined: recorded) {
            accepted(widen, &$0)
            $0.define(recorded, byHand: byHand, takesMedia: false)
        } isRight: { spec, _ in
            spec.send == nil
        },
    ]

    private static let claim = RecordingClaim(cluster: "calls", epoch: 7)
    private static let place = SeriesPlace(series: "s", segment: 3)

    static let claims: [Story] = [
        Story(title: "all that is written carries the claim", defined: recorded) {
            $0.claim(claim, mayAct: true)
        } isRight: { spec, _ in
            spec == Self.spec { $0.claim = claim }
        },
        Story(title: "an uncertain owner records, unseen and unheard, and sends nothing on", defined: forwarded) {
            $0.claim(claim, mayAct: false)
        } isRight: { spec, _ in
            spec.send?.isVideoMuted == true && spec.send?.isAudioMuted == true && spec.outputs.isEmpty
                && spec.record == RecordSpec() && spec.recording == .automatic
        },
        Story(title: "that it was the owner all the time is as if nothing was", defined: forwarded) {
            accepted(widen, &$0)
            $0.claim(claim, mayAct: false)
            $0.claim(claim, mayAct: true)
        } isRight: { spec, _ in
            spec
                == Self.spec {
                    ($0.claim, $0.outputs) = (claim, forwarded.outputs)
                    $0.send?.width = 640
                    $0.send?.isAudioMuted = true
                }
        },
        Story(title: "what a person unmutes meanwhile is seen afterwards", defined: recorded) {
            accepted(mute, &$0)
            $0.claim(claim, mayAct: false)
            accepted(unmute, &$0)
            $0.claim(claim, mayAct: true)
        } isRight: { spec, _ in
            spec.send?.isVideoMuted == false
        },
        Story(title: "another definition leaves the claim", defined: recorded) {
            $0.claim(claim, mayAct: false)
            define(spec { $0.priority = 7 }, &$0)
        } isRight: { spec, _ in
            spec.claim == claim && spec.priority == 7 && spec.send?.isVideoMuted == true
        },
        Story(title: "the next recording continues one of another host", defined: recorded) {
            $0.claim(claim, mayAct: true)
            $0.follow(place)
        } isRight: { spec, _ in
            spec.record?.follows == place && spec.recording == .automatic
        },
        Story(title: "also one by hand, and whatever else changes", defined: spec { $0.record = nil }) {
            $0.follow(place)
            $0.startRecording()
            $0.claim(claim, mayAct: false)
            define(spec { ($0.record, $0.priority) = (nil, 7) }, &$0)
        } isRight: { spec, _ in
            spec.record?.follows == place && spec.recording == .on
        },
        Story(title: "the one after it does not", defined: recorded) {
            $0.follow(place)
            $0.recordingBegan("a")
            $0.recordingEnded("a")
        } isRight: { spec, _ in
            spec == recorded
        },
        Story(title: "what was paused on another host continues with the next request", defined: recorded) {
            $0.follow(place)
            $0.hold()
            $0.startRecording()
        } isRight: { spec, hand in
            hand == .on && spec.record?.follows == place
        },
        Story(title: "no recording is continued that the room's emptiness has ended", defined: recorded) {
            $0.follow(place)
            $0.follow(nil)
        } isRight: { spec, _ in
            spec == recorded
        },
        Story(title: "what was paused on another host is not recorded here", defined: recorded) {
            $0.claim(claim, mayAct: true)
            $0.hold()
        } isRight: { spec, hand in
            hand == .held && spec.recording == .off
        },
    ]

    private static let forwarded = spec { $0.outputs = [OutputSpec(host: "127.0.0.1")] }

    @Test(arguments: Self.recordings + Self.cameras + Self.claims)
    func isAsWanted(story: Story) {
        var intent = RoomIntent(story.defined, byHand: Self.byHand, takesMedia: true, limit: .everything)
        story.steps(&intent)
        #expect(story.isRight(intent.spec, intent.hand), "\(story.title): \(intent.spec), \(intent.hand)")
    }

    /// Whatever happens: a worker hears of each change, and of nothing else.
    @Test(arguments: Self.recordings + Self.cameras + Self.claims)
    func eachChangeHasARevision(story: Story) {
        var intent = RoomIntent(story.defined, byHand: Self.byHand, takesMedia: true, limit: .everything)
        let (before, revision) = (intent.spec, intent.revision)
        story.steps(&intent)
        if intent.spec != before { #expect(intent.revision > revision, "\(story.title)") }
        let settled = intent
        intent.recordingEnded("nothing")
        intent.withdrawPause()
        intent.withdrawCamera()
        #expect(intent.revision == settled.revision, "\(story.title)")
    }

    @Test func oneOfTwoRequestsPausesAndOneResumes() {
        var intent = RoomIntent(Self.recorded, byHand: Self.byHand, takesMedia: true, limit: .everything)
        Self.pausing(&intent)
        Self.pausing(&intent)
        let pauses = [intent.acceptPause(of: "r"), intent.acceptPause(of: "r")]
        let resumptions = [intent.startRecording(), intent.startRecording()]
        #expect(pauses == [true, false] && resumptions == [true, false])
        // One that is withdrawn was none.
        Self.pausing(&intent)
        let early = intent.startRecording()
        #expect(!early)
    }

    @Test func aRoomThatBeginsOnAFullDiskRecordsNothing() {
        var intent = RoomIntent(Self.recorded, byHand: Self.byHand, takesMedia: true, limit: .nothing)
        #expect(intent.spec.recording == .off && !intent.mayRecord)
        intent.limit(to: .everything)
        #expect(intent.spec == Self.recorded && intent.mayRecord)
    }
}
