// SPDX-License-Identifier: Apache-2.0

import Testing
import Timeline

/// A sender with two tracks whose true capture times are known, seen through a jittery path.
private struct SimulatedSender {
    var participant = "alice"
    /// Our clock when the sender's call begins, in nanoseconds.
    var start: Int64 = 5_000_000_000_000
    var durationSeconds: Double = 60
    /// How much faster the media clock runs than ours.
    var mediaSkew = 0.0
    /// How much faster the sender's wall clock runs than ours.
    var wallSkew = 0.0
    /// The sender's wall clock at `start`.
    var wallStart: UInt64 = 0xE900_0000_0000_0000
    var pathDelay: Int64 = 30_000_000
    var jitter: Int64 = 15_000_000

    /// One track: extra delay of its own path, first report, and reports to falsify.
    struct Track {
        var number: Int
        var rate: Int
        var firstRTPTime: Int64
        var unitMilliseconds: Int64
        var extraDelay: Int64 = 0
        var firstReportSeconds: Double? = 0.5
        var reportNTPError: [Int: Int64] = [:]
        var reportRTPError: [Int: UInt32] = [:]
        var unsetNTP = false
    }

    func rtpTime(_ track: Track, at seconds: Double) -> Int64 {
        track.firstRTPTime + Int64((seconds * (1 + self.mediaSkew) * Double(track.rate)).rounded())
    }

    func data(_ track: Track, generator: inout some RandomNumberGenerator) -> TrackClockData {
        var data = TrackClockData(
            track: track.number,
            participant: self.participant,
            clock: RTPClock(rateHz: track.rate)
        )
        var sampler = ClockAnchorSampler(clock: data.clock)
        var seconds = 0.0
        while seconds < self.durationSeconds {
            let arrival =
                self.start + Int64(seconds * 1e9) + self.pathDelay + track.extraDelay
                + Int64.random(in: 0...self.jitter, using: &generator)
            let sample = ClockSample(rtpTime: self.rtpTime(track, at: seconds), monotonicNanoseconds: arrival)
            if let anchor = sampler.observe(sample) { data.samples.append(anchor) }
            seconds += Double(track.unitMilliseconds) / 1000
        }
        guard let firstReport = track.firstReportSeconds else { return data }
        var index = 0
        seconds = firstReport
        while seconds < self.durationSeconds {
            let wall = Int64((seconds * (1 + self.wallSkew) * 1e9).rounded()) + (track.reportNTPError[index] ?? 0)
            let fraction = UInt64(bitPattern: Int64(Double(wall % 1_000_000_000) * 4.294967296))
            let ntp = self.wallStart &+ UInt64(bitPattern: (wall / 1_000_000_000) << 32) &+ fraction
            let rtp = UInt32(truncatingIfNeeded: self.rtpTime(track, at: seconds))
            data.reports.append(
                TrackClockData.Report(
                    rtpTimestamp: rtp &+ (track.reportRTPError[index] ?? 0),
                    ntpTime: NTPTime(rawValue: track.unsetNTP ? 0 : ntp),
                    monotonicNanoseconds: self.start + Int64(seconds * 1e9) + self.pathDelay
                        + Int64.random(in: 0...self.jitter, using: &generator)
                )
            )
            index += 1
            seconds += 2.5
        }
        return data
    }

    static func video(_ number: Int = 1) -> Track {
        Track(number: number, rate: 90_000, firstRTPTime: 0xFFFF_F000, unitMilliseconds: 33)
    }

    static func audio(_ number: Int = 2) -> Track {
        Track(number: number, rate: 48_000, firstRTPTime: 123_456, unitMilliseconds: 20)
    }
}

@Suite struct RTPClockMapTests {
    private var generator = Xorshift(state: 0x1234_5678_9ABC_DEF1)

    /// The largest (audio − video) error, and the largest error of either against the truth, over the call.
    private mutating func errors(
        _ sender: SimulatedSender,
        video: SimulatedSender.Track,
        audio: SimulatedSender.Track
    ) throws -> (skew: Int64, absolute: Int64, basis: [RTPClockMap.Basis?]) {
        let map = RTPClockMap([
            sender.data(video, generator: &self.generator), sender.data(audio, generator: &self.generator),
        ])
        var worstSkew: Int64 = 0
        var worstAbsolute: Int64 = 0
        for seconds in stride(from: 0.0, to: sender.durationSeconds, by: 0.25) {
            let videoRTP = sender.rtpTime(video, at: seconds)
            let audioRTP = sender.rtpTime(audio, at: seconds)
            let videoTime = try #require(map.sessionTimeNanoseconds(track: video.number, rtpTime: videoRTP))
            let audioTime = try #require(map.sessionTimeNanoseconds(track: audio.number, rtpTime: audioRTP))
            let truth = sender.start + Int64(seconds * 1e9) + sender.pathDelay
            worstSkew = max(worstSkew, abs(audioTime - videoTime))
            worstAbsolute = max(worstAbsolute, abs(videoTime - truth), abs(audioTime - truth))
        }
        return (worstSkew, worstAbsolute, [map.basis(track: video.number), map.basis(track: audio.number)])
    }

    @Test mutating func placesANormalSender() throws {
        let result = try self.errors(SimulatedSender(), video: SimulatedSender.video(), audio: SimulatedSender.audio())
        #expect(result.skew < 100_000)
        #expect(result.absolute < 3_000_000)
        #expect(result.basis == [.senderReports, .senderReports])
    }

    @Test mutating func keepsSyncWhenOneTrackTravelsLonger() throws {
        var video = SimulatedSender.video()
        video.extraDelay = 400_000_000
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedSender.audio())
        #expect(result.skew < 100_000)
        #expect(result.absolute < 3_000_000)
    }

    @Test(arguments: [1.9, 7.0, 58.0])
    mutating func acceptsALateFirstReport(seconds: Double) throws {
        var audio = SimulatedSender.audio()
        audio.firstReportSeconds = seconds
        let result = try self.errors(SimulatedSender(), video: SimulatedSender.video(), audio: audio)
        #expect(result.skew < 100_000)
        #expect(result.basis == [.senderReports, .senderReports])
    }

    @Test(arguments: [200e-6, -200e-6], [200e-6, 0, -200e-6])
    mutating func followsSkewedClocks(mediaSkew: Double, wallSkew: Double) throws {
        var sender = SimulatedSender()
        sender.durationSeconds = 1800
        sender.mediaSkew = mediaSkew
        sender.wallSkew = wallSkew
        let result = try self.errors(sender, video: SimulatedSender.video(), audio: SimulatedSender.audio())
        #expect(result.skew < 500_000)
        #expect(result.absolute < 5_000_000)
    }

    @Test(arguments: [200e-6, -200e-6])
    mutating func followsSkewWithoutReports(mediaSkew: Double) throws {
        var sender = SimulatedSender()
        sender.durationSeconds = 1800
        sender.mediaSkew = mediaSkew
        var (video, audio) = (SimulatedSender.video(), SimulatedSender.audio())
        video.firstReportSeconds = nil
        audio.firstReportSeconds = nil
        let result = try self.errors(sender, video: video, audio: audio)
        #expect(result.skew < 5_000_000)
        #expect(result.absolute < 5_000_000)
        #expect(result.basis == [.arrival, .arrival])
    }

    @Test(arguments: [0, 3, 20], [40_000_000, -900_000_000, 3_600_000_000_000, -86_400_000_000_000])
    mutating func cutsOneFalseWallClock(index: Int, error: Int64) throws {
        var video = SimulatedSender.video()
        video.reportNTPError = [index: error]
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedSender.audio())
        #expect(result.skew < 200_000)
        #expect(result.absolute < 3_000_000)
    }

    @Test(arguments: [9_000, 900_000, 0x7000_0000, 0x8000_0000] as [UInt32])
    mutating func cutsOneFalseTimestamp(error: UInt32) throws {
        var video = SimulatedSender.video()
        video.reportRTPError = [2: error]
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedSender.audio())
        #expect(result.skew < 200_000)
    }

    @Test mutating func cutsAnOutlierAmongThreeReports() throws {
        var sender = SimulatedSender()
        sender.durationSeconds = 8
        var video = SimulatedSender.video()
        video.reportNTPError = [1: 300_000_000]
        let result = try self.errors(sender, video: video, audio: SimulatedSender.audio())
        #expect(result.skew < 100_000)
    }

    @Test mutating func fallsBackToArrivalWhenTwoReportsContradict() throws {
        var sender = SimulatedSender()
        sender.durationSeconds = 5
        var video = SimulatedSender.video()
        video.reportNTPError = [1: 300_000_000]
        let result = try self.errors(sender, video: video, audio: SimulatedSender.audio())
        #expect(result.basis == [.arrival, .senderReports])
        #expect(result.skew < 15_000_000)
    }

    @Test mutating func ignoresAnUnsetWallClock() throws {
        var video = SimulatedSender.video()
        video.unsetNTP = true
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedSender.audio())
        #expect(result.basis == [.arrival, .senderReports])
        #expect(result.skew < 15_000_000)
    }

    @Test mutating func passesTheEraChangeOf2036() throws {
        var sender = SimulatedSender()
        sender.wallStart = 0xFFFF_FFF0_0000_0000
        let result = try self.errors(sender, video: SimulatedSender.video(), audio: SimulatedSender.audio())
        #expect(result.skew < 100_000)
        #expect(result.basis == [.senderReports, .senderReports])
    }

    @Test mutating func separatesTracksWhoseWallClocksHaveNothingInCommon() throws {
        var video = SimulatedSender.video()
        for index in 0..<30 { video.reportNTPError[index] = 1_000_000_000_000 }
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedSender.audio())
        #expect(result.basis.contains(.arrival))
        #expect(result.skew < 15_000_000)
    }

    @Test mutating func ignoresAWallClockThatWasSetDuringTheCall() throws {
        var video = SimulatedSender.video()
        for index in 12..<30 { video.reportNTPError[index] = 3_600_000_000_000 }
        let result = try self.errors(SimulatedSender(), video: video, audio: SimulatedSender.audio())
        #expect(result.skew < 15_000_000)
    }

    @Test mutating func bringsParticipantsOntoOneClock() throws {
        var bob = SimulatedSender(participant: "bob")
        bob.wallStart = 0x0000_0100_0000_0000
        let alice = SimulatedSender()
        let map = RTPClockMap([
            alice.data(SimulatedSender.video(1), generator: &self.generator),
            bob.data(SimulatedSender.video(7), generator: &self.generator),
        ])
        let rtpTime = alice.rtpTime(SimulatedSender.video(), at: 10)
        let first = try #require(map.sessionTimeNanoseconds(track: 1, rtpTime: rtpTime))
        let second = try #require(map.sessionTimeNanoseconds(track: 7, rtpTime: rtpTime))
        #expect(abs(first - second) < 5_000_000)
    }

    @Test mutating func isMonotonic() throws {
        var sender = SimulatedSender()
        sender.mediaSkew = -500e-6
        sender.jitter = 200_000_000
        let track = SimulatedSender.video()
        let map = RTPClockMap([sender.data(track, generator: &self.generator)])
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
        let map = RTPClockMap(entries: [JournalEntry(.trackOpened(opened), monotonicNanoseconds: 77)])
        #expect(map.sessionTimeNanoseconds(track: 3, rtpTime: 1000 + 48_000) == 1_000_000_077)
    }

    @Test func survivesExtremeNumbers() {
        let extremes: [Int64] = [.min, .max, 0, -1, 1]
        var data = TrackClockData(track: 1, participant: "p", clock: RTPClock(rateHz: 1))
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

/// A small generator with a seed, so that a failure repeats.
private struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state ^= self.state << 13
        self.state ^= self.state >> 7
        self.state ^= self.state << 17
        return self.state
    }
}
