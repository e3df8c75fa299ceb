// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing
import Timeline

@Suite struct RTPClockMapTests {
    private var generator = Xorshift(state: 0x1234_5678_9ABC_DEF1)

    /// The largest (audio − video) error, and the largest error of either against the truth, over the call.
    private mutating func errors(
        _ sender: SimulatedSender,
        video: SimulatedTrack,
        audio: SimulatedTrack
    ) throws -> (skew: Double, absolute: Double, basis: [RTPClockMap.Basis?]) {
        let map = RTPClockMap([
            sender.data(video, &self.generator), sender.data(audio, &self.generator),
        ])
        var errors = MapErrors()
        errors.measure(map, sender, [video, audio])
        return (
            try #require(errors.betweenTracks.max()), try #require(errors.absolute.max()),
            [map.basis(track: video.number), map.basis(track: audio.number)]
        )
    }

    @Test mutating func placesANormalSender() throws {
        let result = try self.errors(SimulatedSender(), video: SimulatedTrack.video(), audio: SimulatedTrack.audio())
        #expect(result.skew < 0.1)
        #expect(result.absolute < 3)
        #expect(result.basis == [.senderReports, .senderReports])
    }

    @Test mutating func keepsSyncWhenOneTrackTravelsLonger() throws {
        var video = SimulatedTrack.video()
        video.network = SimulatedNetwork(delay: 0.430)
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedTrack.audio())
        #expect(result.skew < 0.1)
        #expect(result.absolute < 3)
    }

    @Test(arguments: [1.9, 7.0, 58.0])
    mutating func acceptsALateFirstReport(seconds: Double) throws {
        var audio = SimulatedTrack.audio()
        audio.firstReport = seconds
        let result = try self.errors(SimulatedSender(), video: SimulatedTrack.video(), audio: audio)
        #expect(result.skew < 0.1)
        #expect(result.basis == [.senderReports, .senderReports])
    }

    @Test(arguments: [200e-6, -200e-6], [200e-6, 0, -200e-6])
    mutating func followsSkewedClocks(mediaSkew: Double, wallSkew: Double) throws {
        var sender = SimulatedSender()
        sender.seconds = 1800
        sender.wallClock.skew = wallSkew
        var (video, audio) = (SimulatedTrack.video(), SimulatedTrack.audio())
        video.clock.skew = mediaSkew
        audio.clock.skew = mediaSkew
        let result = try self.errors(sender, video: video, audio: audio)
        #expect(result.skew < 0.5)
        #expect(result.absolute < 5)
    }

    @Test(arguments: [200e-6, -200e-6])
    mutating func followsSkewWithoutReports(mediaSkew: Double) throws {
        var sender = SimulatedSender()
        sender.seconds = 1800
        var (video, audio) = (SimulatedTrack.video(), SimulatedTrack.audio())
        video.clock.skew = mediaSkew
        audio.clock.skew = mediaSkew
        video.firstReport = nil
        audio.firstReport = nil
        let result = try self.errors(sender, video: video, audio: audio)
        #expect(result.skew < 5)
        #expect(result.absolute < 5)
        #expect(result.basis == [.arrival, .arrival])
    }

    @Test(arguments: [0, 3, 20], [40_000_000, -900_000_000, 3_600_000_000_000, -86_400_000_000_000])
    mutating func cutsOneFalseWallClock(index: Int, error: Int64) throws {
        var video = SimulatedTrack.video()
        video.reportNTPError = [index: error]
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedTrack.audio())
        #expect(result.skew < 0.2)
        #expect(result.absolute < 3)
    }

    @Test(arguments: [9_000, 900_000, 0x7000_0000, 0x8000_0000] as [UInt32])
    mutating func cutsOneFalseTimestamp(error: UInt32) throws {
        var video = SimulatedTrack.video()
        video.reportRTPError = [2: error]
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedTrack.audio())
        #expect(result.skew < 0.2)
    }

    @Test mutating func cutsAnOutlierAmongThreeReports() throws {
        var sender = SimulatedSender()
        sender.seconds = 8
        var video = SimulatedTrack.video()
        video.reportNTPError = [1: 300_000_000]
        let result = try self.errors(sender, video: video, audio: SimulatedTrack.audio())
        #expect(result.skew < 0.1)
    }

    @Test mutating func fallsBackToArrivalWhenTwoReportsContradict() throws {
        var sender = SimulatedSender()
        sender.seconds = 5
        var video = SimulatedTrack.video()
        video.reportNTPError = [1: 300_000_000]
        let result = try self.errors(sender, video: video, audio: SimulatedTrack.audio())
        #expect(result.basis == [.arrival, .senderReports])
        #expect(result.skew < 15)
    }

    /// Nanoseconds, microseconds, milliseconds; audio and video are reported at different places in a second.
    @Test(arguments: [1e9, 1e6, 1e3], [2.5, 0.97])
    mutating func fractionsOfSecondsAreUnderstoodInOtherUnits(unit: Double, interval: Double) throws {
        var (video, audio) = (SimulatedTrack.video(), SimulatedTrack.audio())
        (video.fractionUnit, audio.fractionUnit) = (unit, unit)
        (video.reportInterval, audio.reportInterval) = (interval, interval)
        audio.firstReport = 0.9
        let result = try self.errors(SimulatedSender(), video: video, audio: audio)
        #expect(result.basis == [.senderReports, .senderReports])
        #expect(result.skew < (unit > 1e3 ? 0.1 : 1.1))
        #expect(result.absolute < 4)
    }

    /// Reports that are always early in their seconds look as if they were counted in nanoseconds.
    @Test mutating func rightFractionsStayWhatTheyAre() throws {
        var (video, audio) = (SimulatedTrack.video(), SimulatedTrack.audio())
        (video.firstReport, audio.firstReport) = (0.02, 0.15)
        (video.reportInterval, audio.reportInterval) = (1, 1)
        (video.reportNoise, audio.reportNoise) = (0.0003, 0.0003)
        let result = try self.errors(SimulatedSender(), video: video, audio: audio)
        #expect(result.skew < 0.5)
        #expect(result.absolute < 3)
    }

    @Test mutating func ignoresAnUnsetWallClock() throws {
        var video = SimulatedTrack.video()
        video.ntp = .unset
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedTrack.audio())
        #expect(result.basis == [.arrival, .senderReports])
        #expect(result.skew < 15)
    }

    @Test mutating func passesTheEraChangeOf2036() throws {
        var sender = SimulatedSender()
        sender.wallStart = 0xFFFF_FFF0_0000_0000
        let result = try self.errors(sender, video: SimulatedTrack.video(), audio: SimulatedTrack.audio())
        #expect(result.skew < 0.1)
        #expect(result.basis == [.senderReports, .senderReports])
    }

    @Test mutating func separatesTracksWhoseWallClocksHaveNothingInCommon() throws {
        var video = SimulatedTrack.video()
        for index in 0..<30 { video.reportNTPError[index] = 1_000_000_000_000 }
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedTrack.audio())
        #expect(result.basis.contains(.arrival))
        #expect(result.skew < 15)
    }

    @Test mutating func ignoresAWallClockThatWasSetDuringTheCall() throws {
        var video = SimulatedTrack.video()
        for index in 12..<30 { video.reportNTPError[index] = 3_600_000_000_000 }
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedTrack.audio())
        #expect(result.skew < 15)
    }

    /// A microphone that gives nothing for a while: reports count on, and units continue where they stopped.
    ///
    /// The first report after it shows that.
    @Test(arguments: [0.7, 2.3, 7, 18], [6.0, 60])
    mutating func followsAClockThatStoodStillWhileReportsCountedOn(pause: Double, rest: Double) throws {
        var (sender, audio) = (SimulatedSender(), SimulatedTrack.audio())
        sender.seconds = 20 + pause + rest
        audio.pauses = [20...(20 + pause)]
        audio.clock.steps = [(20 + pause, 0.02 - pause)]
        audio.reportsInPauses = true
        let result = try self.errors(sender, video: SimulatedTrack.video(), audio: audio)
        #expect(result.skew < 25, "\(result)")
    }

    @Test mutating func bringsParticipantsOntoOneClock() throws {
        var bob = SimulatedSender(participant: "bob")
        bob.wallStart = 0x0000_0100_0000_0000
        let alice = SimulatedSender()
        let map = RTPClockMap([
            alice.data(SimulatedTrack.video(1), &self.generator),
            bob.data(SimulatedTrack.video(7), &self.generator),
        ])
        let rtpTime = SimulatedTrack.video().rtpTime(at: 10)
        let first = try #require(map.sessionTimeNanoseconds(track: 1, rtpTime: rtpTime))
        let second = try #require(map.sessionTimeNanoseconds(track: 7, rtpTime: rtpTime))
        #expect(abs(first - second) < 5_000_000)
    }

    @Test mutating func isMonotonic() throws {
        var sender = SimulatedSender()
        sender.network.jitter = .uniform(0.2)
        var track = SimulatedTrack.video()
        track.clock.skew = -500e-6
        let map = RTPClockMap([sender.data(track, &self.generator)])
        var last = Int64.min
        for tick in 0..<5000 {
            let time = try #require(
                map.sessionTimeNanoseconds(track: 1, rtpTime: track.firstRTPTime + Int64(tick))
            )
            #expect(time > last)
            last = time
        }
    }

    @Test func knowsNothingOfOtherTracks() {
        let map = RTPClockMap([])
        #expect(map.sessionTimeNanoseconds(track: 1, rtpTime: 0) == nil)
        #expect(map.basis(track: 1) == nil)
    }

    @Test func placesATrackByItsFirstUnitAlone() {
        let opened = TrackOpened(
            track: 3,
            participant: "p",
            media: .audio,
            codec: "opus",
            clockRateHz: 48_000,
            file: "f",
            firstRTPTime: 1000
        )
        let entry = JournalEntry(.trackOpened(opened), monotonicNanoseconds: 77)
        let map = RTPClockMap(TrackClockCollector(taking: [entry]).tracks())
        #expect(map.sessionTimeNanoseconds(track: 3, rtpTime: 1000 + 48_000) == 1_000_000_077)
    }

    @Test func survivesExtremeNumbers() {
        let extremes: [Int64] = [.min, .max, 0, -1, 1]
        var data = TrackClockData(track: 1, sender: TrackClockData.Sender(participant: "p"), clock: RTPClock(rateHz: 1))
        data.samples = extremes.flatMap { rtp in
            extremes.map { ClockSample(rtpTime: rtp, monotonicNanoseconds: $0) }
        }
        data.reports = extremes.map {
            TrackClockData.Report(
                rtpTimestamp: UInt32(truncatingIfNeeded: $0),
                ntpTime: NTPTime(rawValue: UInt64(bitPattern: $0)),
                monotonicNanoseconds: $0
            )
        }
        let map = RTPClockMap([data])
        for rtpTime in extremes {
            // Any value will do; the arithmetic must not trap.
            _ = map.sessionTimeNanoseconds(track: 1, rtpTime: rtpTime)
        }
        #expect(map.sessionTimeNanoseconds(track: 2, rtpTime: 0) == nil)
    }
}
