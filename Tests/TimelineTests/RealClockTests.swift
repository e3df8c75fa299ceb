// SPDX-License-Identifier: Apache-2.0

import Testing
import Timeline

/// RTP clocks that count at another rate than described: followed where reports and arrivals agree, named otherwise.
@Suite struct RealClockTests {
    typealias Change = @Sendable (inout SimulatedSender, inout [SimulatedTrack]) -> Void

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var seconds: Double
        /// In Hz, of video and audio; empty where the described one holds.
        var rates: [[Double]] = [[], []]
        /// The most that an instant may be off, in milliseconds.
        var error = 20.0
        var leavingOut: [ClosedRange<Double>] = []
        var change: Change

        init(
            _ name: String,
            _ seconds: Double,
            video: [Double] = [],
            audio: [Double] = [],
            error: Double = 20,
            leavingOut: [ClosedRange<Double>] = [],
            _ change: @escaping Change
        ) {
            (self.name, self.seconds, self.rates) = (name, seconds, [video, audio])
            (self.error, self.leavingOut, self.change) = (error, leavingOut, change)
        }

        var testDescription: String { self.name }
    }

    private static func run(_ one: Case, _ seed: Int) -> (RTPClockMap, SimulatedSender, [SimulatedTrack]) {
        var generator = Xorshift(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        var sender = SimulatedSender()
        sender.seconds = one.seconds
        var tracks = [SimulatedTrack.video(), SimulatedTrack.audio()]
        for (index, interval) in [1.0, 5.0].enumerated() {
            tracks[index].reportInterval = interval
            tracks[index].reportNoise = 0.001
        }
        one.change(&sender, &tracks)
        return (RTPClockMap(tracks.map { sender.data($0, &generator) }), sender, tracks)
    }

    static let followed: [Case] = [
        Case("video counts milliseconds", 15, video: [1000]) { _, tracks in tracks[0].clock.skew = 1.0 / 90 - 1 },
        Case("audio counts at 16 kHz", 15, audio: [16_000]) { _, tracks in tracks[1].clock.skew = 1.0 / 3 - 1 },
        Case("audio counts at 16 kHz, an hour", 3600, audio: [16_000]) { _, tracks in
            tracks[1].clock.skew = (1.0 / 3) * 1.0001 - 1
        },
        Case("both clocks run a tenth fast", 60, video: [99_000], audio: [52_800]) { _, tracks in
            for index in tracks.indices { tracks[index].clock.skew = 0.1 }
        },
        Case("video runs half a percent slow", 300, video: [89_550]) { _, tracks in tracks[0].clock.skew = -0.005 },
        Case("half, and double", 60, video: [45_000], audio: [96_000]) { _, tracks in
            tracks[0].clock.skew = -0.5
            tracks[1].clock.skew = 1
        },
        Case("a ninth", 30, video: [10_000]) { _, tracks in tracks[0].clock.skew = 1.0 / 9 - 1 },
        Case("video counts microseconds", 30, video: [1_000_000]) { _, tracks in
            tracks[0].clock.skew = 1_000_000.0 / 90_000 - 1
        },
        Case("G.711 with a clock of 48 kHz", 60, audio: [48_000]) { _, tracks in
            tracks[1].rate = 8000
            tracks[1].clock.skew = 5
        },
        Case("milliseconds over a bad path", 120, video: [1000]) { sender, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            sender.network.jitter = .bursts(0.01, 0.5)
            sender.network.queues = [(30, 45, 2), (80, 95, 2)]
        },
        Case("milliseconds, slides each 5 s", 90, video: [1000]) { _, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            tracks[0].unitSeconds = 5
        },
        Case("16 kHz with discontinuous transmission", 120, audio: [16_000]) { _, tracks in
            tracks[1].clock.skew = 1.0 / 3 - 1
            tracks[1].silences = [10...40, 60...110]
        },
        Case("milliseconds, camera off for a minute", 150, video: [1000]) { _, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            tracks[0].pauses = [40...100]
        },
        Case("milliseconds that stand still while the camera is off", 150, video: [1000]) { _, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            tracks[0].pauses = [40...100]
            tracks[0].clock.steps = [(100, -59.9 / 90)]
        },
        Case("video turns to milliseconds", 90, video: [90_000, 1000], error: 60, leavingOut: [39...41]) { _, tracks in
            tracks[0].clock.rates = [(40.3, 1.0 / 90)]
        },
        Case("audio turns to 16 kHz and back", 90, audio: [48_000, 16_000, 48_000], leavingOut: [29...31, 59...61]) {
            _,
            tracks in
            tracks[1].clock.rates = [(30.2, 1.0 / 3), (60.2, 1)]
            tracks[1].reportInterval = 1
        },
        Case("one report in five is wrong", 60, video: [1000]) { _, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            for index in stride(from: 3, to: 60, by: 5) { tracks[0].reportNTPError[index] = 3_000_000_000 }
        },
    ]

    @Test(arguments: Self.followed) func followsTheRealClock(one: Case) {
        for seed in 1...3 {
            let (map, sender, tracks) = Self.run(one, seed)
            for (track, rates) in zip(tracks, one.rates) {
                let found = map.realRates(track: track.number)
                #expect(found.count == rates.count, "\(found)")
                for (found, rate) in zip(found, rates) { #expect(abs(Double(found) / rate - 1) < 1e-3, "\(found) Hz") }
                #expect(map.basis(track: track.number) == .senderReports)
                #expect(map.contradiction(track: track.number) == nil)
            }
            var errors = MapErrors()
            errors.measure(map, sender, tracks, leavingOut: one.leavingOut)
            #expect(errors.betweenTracks.max() ?? .infinity <= one.error)
            #expect(errors.absolute.max() ?? .infinity <= one.error + 10)
        }
    }

    /// Beyond those of `SimulatedNetworkTests`.
    static let right: [Case] = [
        Case("everything comes in bursts", 60) { sender, _ in sender.network.jitter = .bursts(0.02, 2) },
        Case("a relay over TCP stands still now and then", 60) { sender, _ in
            sender.network.queues = (0..<10).map { (Double($0) * 6, Double($0) * 6 + 5, 3.0) }
        },
        Case("short, and a queue at the end", 8) { sender, _ in sender.network.queues = [(5, 12, 1.5)] },
        Case("slides each 5 s", 60) { _, tracks in tracks[0].unitSeconds = 5 },
        Case("slides each 5 s, without reports", 60) { _, tracks in
            tracks[0].unitSeconds = 5
            tracks[0].firstReport = nil
        },
        Case("on hold for minutes, the RTP clock stands still", 600) { _, tracks in
            for index in tracks.indices {
                tracks[index].pauses = [60...420]
                tracks[index].clock.steps = [(420, -359.98)]
            }
        },
        Case("on hold for minutes, the RTP clock goes on", 600) { _, tracks in
            for index in tracks.indices { tracks[index].pauses = [60...420] }
        },
        Case("the wall clock runs a tenth fast", 60) { sender, _ in sender.wallClock.skew = 0.1 },
        Case("the wall clock counts milliseconds", 60) { sender, _ in sender.wallClock.skew = 999 },
        Case("the wall clock is slewed for a minute", 180) { sender, _ in
            sender.wallClock.rates = [(60, 1.05), (120, 1)]
        },
        Case("reports count milliseconds, units do not", 60) { _, tracks in
            tracks[0].reportClock = SimulatedClock(skew: 1.0 / 90 - 1)
        },
    ]

    @Test(arguments: Self.right) func leavesRightClocksAlone(one: Case) {
        for seed in 1...3 {
            let (map, sender, tracks) = Self.run(one, seed)
            for track in tracks {
                #expect(map.realRates(track: track.number).isEmpty)
                #expect(map.contradiction(track: track.number) == nil)
            }
            var errors = MapErrors()
            errors.measure(map, sender, tracks)
            #expect(errors.absolute.max() ?? .infinity < 4000)
        }
    }

    /// Clocks of video, while the audio is right.
    static let contradicting: [Case] = [
        Case("milliseconds without reports", 15) { _, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            tracks[0].firstReport = nil
        },
        Case("a tenth fast without reports", 15) { _, tracks in
            tracks[0].clock.skew = 0.1
            tracks[0].firstReport = nil
        },
        Case("a third, one report in all", 15) { _, tracks in
            tracks[0].clock.skew = 1.0 / 3 - 1
            tracks[0].reportInterval = 1000
        },
        Case("a third, NTP time unset", 15) { _, tracks in
            tracks[0].clock.skew = 1.0 / 3 - 1
            tracks[0].ntp = .unset
        },
        Case("half, and NTP times are nonsense", 60) { _, tracks in
            tracks[0].clock.skew = -0.5
            tracks[0].ntp = .random
        },
        Case("milliseconds, and reports at the described rate", 15) { _, tracks in
            tracks[0].clock.skew = 1.0 / 90 - 1
            tracks[0].reportClock = SimulatedClock()
        },
        Case("double, and reports that say half", 60) { _, tracks in
            tracks[0].clock.skew = 1
            tracks[0].reportClock = SimulatedClock(skew: -0.5)
        },
        Case("standing still", 15) { _, tracks in tracks[0].clock.skew = -1 },
        Case("standing still without reports", 15) { _, tracks in
            tracks[0].clock.skew = -1
            tracks[0].firstReport = nil
        },
        Case("running backwards", 15) { _, tracks in tracks[0].clock.skew = -1.2 },
        Case("milliseconds from the middle on, without reports", 60) { _, tracks in
            tracks[0].clock.rates = [(30, 1.0 / 90)]
            tracks[0].firstReport = nil
        },
    ]

    @Test(arguments: Self.contradicting) func namesWhatContradictsArrivals(one: Case) throws {
        for seed in 1...3 {
            let (map, _, _) = Self.run(one, seed)
            #expect(map.realRates(track: 1).isEmpty)
            let found = try #require(map.contradiction(track: 1))
            #expect(abs(found.mediaNanoseconds - found.arrivalNanoseconds) > 700_000_000)
            #expect(map.contradiction(track: 2) == nil)
        }
    }

    /// Numbers of a journal may be any.
    @Test(arguments: [0, 1, -1, Int64.max, Int64.min, 1 << 62]) func takesAnyNumbers(rtpTime: Int64) {
        var generator = Xorshift(state: 7)
        var video = SimulatedTrack.video()
        video.clock.skew = 1.0 / 90 - 1
        var data = SimulatedSender().data(video, &generator)
        data.samples.append(ClockSample(rtpTime: rtpTime, monotonicNanoseconds: rtpTime))
        data.reports.append(
            TrackClockData.Report(
                rtpTimestamp: 0,
                ntpTime: NTPTime(rawValue: UInt64(bitPattern: rtpTime)),
                monotonicNanoseconds: rtpTime
            )
        )
        let map = RTPClockMap([data])
        for time in [0, .max, .min, rtpTime] { _ = map.sessionTimeNanoseconds(track: 1, rtpTime: time) }
        #expect(map.realRates(track: 1).allSatisfy { $0 > 0 })
    }
}
