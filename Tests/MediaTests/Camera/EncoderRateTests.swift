// SPDX-License-Identifier: Apache-2.0

internal import Basics
import ConfigurationFile
import Logging
import Model
import PipelineCatalogue
import Session
import Testing

@testable import Media

/// A rate that expectations may change.
@dynamicMemberLookup
private final class Followed {
    private var rate: EncoderRate

    init(_ rate: EncoderRate) { self.rate = rate }

    subscript<Value>(dynamicMember path: KeyPath<EncoderRate, Value>) -> Value { self.rate[keyPath: path] }

    func follow(_ limit: RateLimit, at now: UInt64) -> EncoderRate.OnFollow { self.rate.follow(limit, at: now) }

    func taken() -> EncoderRate { self.rate.taken() }
}

@Suite struct EncoderRateTests {
    private static let second: UInt64 = 1_000_000_000

    private static func limit(_ bitsPerSecond: Int, pause: Duration = .zero) -> RateLimit {
        RateLimit(bitsPerSecond: bitsPerSecond, pause: pause)
    }

    @Test func smallChangesAreNotToldButTheEndIs() {
        let rate = Followed(EncoderRate(configured: 1_000_000))
        #expect(rate.follow(Self.limit(1_000_000), at: 0) == .nothing)
        #expect(rate.follow(Self.limit(990_000), at: 1) == .nothing)
        #expect(!rate.isDue && rate.isReduced)
        #expect(rate.follow(Self.limit(970_000), at: 2) == .reduce)
        #expect(rate.taken().bitsPerSecond == 970_000)
        #expect(!rate.isDue)
        #expect(rate.follow(Self.limit(980_000), at: 3) == .nothing)
        #expect(rate.follow(Self.limit(990_000), at: 4) == .tell)
        #expect(rate.follow(Self.limit(1_000_000), at: 5) == .tell)
        #expect(!rate.isReduced)
    }

    @Test func aPauseGoesWithAnotherPictureAndIsTakenOnce() {
        let rate = Followed(EncoderRate(configured: 1_000_000))
        #expect(rate.follow(Self.limit(900_000, pause: .milliseconds(300)), at: 0) == .reduce)
        #expect(rate.taken().pauseDue == .zero, "the encoder goes on")
        #expect(rate.follow(Self.limit(400_000, pause: .milliseconds(300)), at: 0) == .reduce)
        #expect(rate.isStepDue, "much waits: at once")
        #expect(rate.follow(Self.limit(400_000), at: 1) == .nothing)
        #expect(rate.taken().pauseDue == .milliseconds(300))
        #expect(rate.taken().pauseDue == .zero)
    }

    @Test func aSmallerPictureIsToldOnceAndToEveryNewEncoder() {
        let rate = Followed(EncoderRate(configured: 1_000_000))
        #expect(rate.follow(Self.limit(400_000), at: 0) == .reduce)
        #expect(!rate.taken().isStepDue)
        #expect(rate.follow(Self.limit(400_000), at: Self.second) == .tell)
        #expect(rate.taken().isStepDue)
        #expect(!rate.taken().isStepDue)
        #expect(rate.fresh.isStepDue && rate.fresh.step == VideoLadder.steps[1])
        // All bits are back at once, the frame size in steps.
        #expect(rate.follow(Self.limit(1_000_000), at: 2 * Self.second) == .tell)
        #expect(rate.isReduced)
        #expect(rate.follow(Self.limit(1_000_000), at: 7 * Self.second) == .tell)
        #expect(!rate.isReduced)
    }
}

@Suite struct CameraRateTests {
    private final class Session {}

    private static func camera() throws -> CameraSource {
        CameraSource(settings: SendSpec(), pipelines: try PipelineCatalogue.load(), logger: Logger(label: "test"))
    }

    private static func limit(_ bitsPerSecond: Int, pause: Duration = .zero) -> RateLimit {
        RateLimit(bitsPerSecond: bitsPerSecond, pause: pause)
    }

    @Test func sessionsThatShareACameraShareItsRate() throws {
        let camera = try Self.camera()
        let (wide, narrow) = (Session(), Session())
        func follow(_ session: Session, _ limits: [RateLimit], at now: UInt64) -> Bool {
            camera.follow(limits.isEmpty ? [:] : [.vp8: limits], of: ObjectIdentifier(session), at: now)
        }
        #expect(!follow(wide, [Self.limit(1_500_000)], at: 0))
        #expect(follow(narrow, [Self.limit(600_000)], at: 1))
        // Messages of the others in that time do not undo it.
        for now: UInt64 in 2..<10 { #expect(!follow(wide, [Self.limit(1_500_000)], at: now)) }
        #expect(camera.reductions == 1)
        #expect(follow(narrow, [], at: 10))
        #expect(camera.reductions == 1)
    }

    @Test func aCodecThatNobodyTakesStartsWithAll() throws {
        let camera = try Self.camera()
        let session = Session()
        func follow(_ limits: [MediaCodec: [RateLimit]], at now: UInt64) -> Bool {
            camera.follow(limits, of: ObjectIdentifier(session), at: now)
        }
        #expect(follow([.vp8: [Self.limit(600_000)], .h264: [Self.limit(1_500_000)]], at: 0))
        #expect(follow([.h264: [Self.limit(1_500_000)]], at: 1), "VP8 goes back up")
        #expect(!follow([.h264: [Self.limit(1_500_000)]], at: 2))
        #expect(camera.targetBitsPerSecond == nil, "no encoder runs")
    }
}
