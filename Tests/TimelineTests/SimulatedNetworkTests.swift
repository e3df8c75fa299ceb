// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Timeline

/// Properties of the map over simulated calls: each scenario with several seeds.
@Suite struct SimulatedNetworkTests {
    /// One kind of call; some things of it are drawn.
    struct Scenario: Sendable, CustomTestStringConvertible {
        var name: String
        /// The most that 95 % of all instants may be off, in milliseconds: between tracks, and against the truth.
        var betweenTracks = 10.0
        var absolute = 20.0
        var seconds = 120.0
        var seeds = 5
        var basis = RTPClockMap.Basis.senderReports
        /// Instants at which nothing can be known.
        var leavingOut: [ClosedRange<Double>] = []
        var change: @Sendable (inout SimulatedSender, inout [SimulatedTrack], inout Xorshift) -> Void = { _, _, _ in }

        var testDescription: String { self.name }
    }

    static let scenarios: [Scenario] = [
        Scenario(name: "a quiet path"),
        Scenario(name: "exponential jitter") { sender, _, _ in sender.network.jitter = .exponential(0.025) },
        Scenario(name: "bursts of half a second") { sender, _, _ in sender.network.jitter = .bursts(0.01, 0.5) },
        Scenario(name: "queues of two seconds") { sender, _, generator in
            sender.network.queues = (0..<4).map { index in
                let from = Double(index) * 30 + Double.random(in: 0...10, using: &generator)
                return (from, from + Double.random(in: 5...20, using: &generator), 2)
            }
        },
        Scenario(name: "a queue over the whole call but its end") { sender, _, _ in
            sender.network.queues = [(-20, 110, 0.4)]
        },
        // As a whole it may be placed as late as most of it came.
        Scenario(name: "a sender that stalls, and makes up little of it", absolute: 1000, seconds: 8, seeds: 40) {
            sender,
            tracks,
            generator in
            sender.network.stall = (
                at: Double.random(in: 0.5...2, using: &generator),
                seconds: Double.random(in: 1...1.5, using: &generator),
                madeUp: Double.random(in: 0.14...0.18, using: &generator)
            )
            for index in tracks.indices { tracks[index].firstReport = 2.5 }
        },
        Scenario(name: "a tenth of the packets lost, reports too") { sender, _, _ in sender.network.loss = 0.1 },
        Scenario(name: "pictures travel longer") { sender, tracks, generator in
            let delay = Double.random(in: 0.1...0.8, using: &generator)
            tracks[0].network = SimulatedNetwork(delay: sender.network.delay + delay, jitter: .exponential(0.04))
        },
        Scenario(name: "sound travels longer") { sender, tracks, _ in
            tracks[1].network = SimulatedNetwork(delay: sender.network.delay + 0.3, jitter: .exponential(0.02))
        },
        Scenario(name: "noisy reports") { _, tracks, _ in
            for index in tracks.indices { tracks[index].reportNoise = 0.020 }
        },
        Scenario(name: "reports twice") { _, tracks, _ in
            for index in tracks.indices { tracks[index].duplicateEvery = 3 }
        },
        Scenario(name: "one report in ten is wrong") { _, tracks, generator in
            for index in tracks.indices {
                for report in stride(from: Int.random(in: 0...9, using: &generator), to: 120, by: 10) {
                    tracks[index].reportNTPError[report] =
                        Int64.random(in: -3_000_000_000...3_000_000_000, using: &generator)
                    tracks[index].reportRTPError[report] = UInt32.random(in: 0...(.max), using: &generator)
                }
            }
        },
        Scenario(name: "starts within half a second, in any order") { _, tracks, generator in
            for index in tracks.indices { tracks[index].begins = Double.random(in: 0...0.5, using: &generator) }
        },
        Scenario(name: "a late first report") { _, tracks, generator in
            tracks[1].firstReport = Double.random(in: 5...100, using: &generator)
        },
        Scenario(name: "one report in all", betweenTracks: 10) { _, tracks, generator in
            for index in tracks.indices {
                tracks[index].firstReport = Double.random(in: 0...100, using: &generator)
                tracks[index].reportInterval = 1000
            }
        },
        Scenario(name: "camera off for 30 s, silences with discontinuous transmission") { _, tracks, _ in
            tracks[0].pauses = [40...70]
            tracks[1].silences = [10...30, 50...100]
        },
        Scenario(name: "audio and video clocks 200 ppm apart, 10 min", seconds: 600) { _, tracks, _ in
            tracks[0].clock.skew = 100e-6
            tracks[1].clock.skew = -100e-6
        },
        Scenario(name: "every clock skewed, 10 min, bad path", seconds: 600) { sender, tracks, generator in
            sender.wallClock.skew = Double.random(in: -200e-6...200e-6, using: &generator)
            for index in tracks.indices {
                tracks[index].clock.skew = Double.random(in: -200e-6...200e-6, using: &generator)
            }
            sender.network.jitter = .bursts(0.02, 0.3)
            sender.network.queues = [(100, 160, 1), (300, 330, 3)]
        },
        Scenario(name: "crystals that drift over 4 h", seconds: 14_400, seeds: 1) { sender, tracks, _ in
            sender.wallClock.skew = 20e-6
            sender.wallClock.swing = (10e-6, 7200)
            tracks[0].clock.swing = (5e-6, 3600)
            tracks[1].clock.skew = -150e-6
            tracks[1].clock.swing = (15e-6, 5000)
        },
        Scenario(name: "the wall clock is set twice") { sender, _, generator in
            let step = Double.random(in: -2...2, using: &generator)
            sender.wallClock.steps = [(40.7, step), (90.1, 3600)]
        },
        Scenario(name: "the wall clock is set by 50 ms", leavingOut: [60...60.1]) { sender, _, _ in
            sender.wallClock.steps = [(60.05, -0.05)]
        },
        Scenario(name: "the wall clock is set before a late first report") { sender, tracks, _ in
            sender.wallClock.steps = [(30, 100)]
            tracks[1].firstReport = 60
        },
        Scenario(name: "the sound card slips by 60 ms", leavingOut: [60...65]) { _, tracks, _ in
            tracks[1].clock.steps = [(62, -0.06)]
        },
        Scenario(name: "the RTP clock jumps hours ahead", leavingOut: [50...50.1]) { _, tracks, generator in
            tracks[0].clock.steps = [(50.01, Double.random(in: 10...20_000, using: &generator))]
        },
        Scenario(name: "the RTP clock jumps seconds ahead", leavingOut: [50...50.1]) { _, tracks, generator in
            tracks[0].clock.steps = [(50.01, Double.random(in: 0.3...5, using: &generator))]
        },
        Scenario(name: "the RTP clock stands still while the camera is off") { _, tracks, _ in
            tracks[0].pauses = [40...70]
            tracks[0].clock.steps = [(70, -29.9)]
        },
        Scenario(name: "without reports", basis: .arrival) { _, tracks, _ in
            for index in tracks.indices { tracks[index].firstReport = nil }
        },
        Scenario(name: "without reports, hours ahead", basis: .arrival, leavingOut: [50...50.1]) { _, tracks, _ in
            for index in tracks.indices { tracks[index].firstReport = nil }
            tracks[0].clock.steps = [(50.01, 7000)]
        },
        Scenario(name: "without reports, standing still while the camera is off", basis: .arrival) { _, tracks, _ in
            for index in tracks.indices { tracks[index].firstReport = nil }
            tracks[0].pauses = [40...70]
            tracks[0].clock.steps = [(70, -29.9)]
        },
        Scenario(name: "without reports, skewed, queues", seconds: 600, basis: .arrival) { sender, tracks, _ in
            for index in tracks.indices {
                tracks[index].firstReport = nil
                tracks[index].clock.skew = index == 0 ? 200e-6 : -200e-6
            }
            sender.network.queues = [(100, 130, 1), (300, 330, 3)]
        },
        nonsense("unset", .unset), nonsense("constant", .constant), nonsense("random", .random),
        nonsense("running backwards", .backwards),
    ]

    private static func nonsense(_ name: String, _ ntp: SimulatedTrack.NTP) -> Scenario {
        Scenario(name: "NTP time is \(name)", basis: .arrival) { _, tracks, _ in
            for index in tracks.indices { tracks[index].ntp = ntp }
        }
    }

    @Test(arguments: Self.scenarios)
    func keepsTracksTogether(scenario: Scenario) throws {
        var errors = MapErrors()
        var worstAtEnd = 0.0
        for seed in 1...scenario.seeds {
            var generator = Xorshift(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
            var sender = SimulatedSender()
            sender.seconds = scenario.seconds
            var tracks = [SimulatedTrack.video(), SimulatedTrack.audio()]
            // As browsers send them.
            for (index, interval) in [1.0, 5.0].enumerated() {
                tracks[index].reportInterval = interval
                tracks[index].reportNoise = 0.002
            }
            scenario.change(&sender, &tracks, &generator)
            let map = RTPClockMap(tracks.map { sender.data($0, &generator) })
            errors.measure(map, sender, tracks, leavingOut: scenario.leavingOut)
            worstAtEnd = max(worstAtEnd, errors.betweenTracks.last ?? .infinity)
            for track in tracks {
                #expect(map.basis(track: track.number) == scenario.basis)
                // All these clocks count at the described rate.
                #expect(map.realRates(track: track.number).isEmpty)
                #expect(map.contradiction(track: track.number) == nil)
            }
        }
        let between = (p95: percentile(errors.betweenTracks, 0.95), most: errors.betweenTracks.max() ?? .infinity)
        let absolute = percentile(errors.absolute, 0.95)
        Self.tell("\(scenario.name): between tracks \(between), at the end \(worstAtEnd), absolute p95 \(absolute) ms")
        #expect(between.p95 <= scenario.betweenTracks)
        #expect(between.most <= 2 * scenario.betweenTracks)
        #expect(worstAtEnd <= scenario.betweenTracks)
        #expect(absolute <= scenario.absolute)
    }

    @Test func keepsParticipantsTogether() throws {
        var worst: [Double] = []
        for seed in 1...10 {
            var generator = Xorshift(state: UInt64(seed) &* 0xD1B5_4A32_D192_ED03)
            var senders: [(SimulatedSender, SimulatedTrack)] = []
            for number in 1...3 {
                var sender = SimulatedSender(participant: "p\(number)")
                sender.seconds = 600
                sender.wallStart = UInt64.random(in: 1...(.max), using: &generator)
                sender.wallClock.skew = Double.random(in: -200e-6...200e-6, using: &generator)
                sender.network.jitter = .exponential(0.02)
                sender.network.queues = [(Double(number) * 100, Double(number) * 100 + 50, 0.5)]
                var track = SimulatedTrack.video(number)
                track.clock.skew = Double.random(in: -200e-6...200e-6, using: &generator)
                senders.append((sender, track))
            }
            let map = RTPClockMap(senders.map { $0.data($1, &generator) })
            for seconds in stride(from: 0.0, to: 600, by: 1) {
                let times = try senders.map { sender, track in
                    try #require(
                        map.sessionTimeNanoseconds(track: track.number, rtpTime: track.rtpTime(at: seconds))
                    )
                }
                worst.append(Double((times.max() ?? 0) - (times.min() ?? 0)) / 1e6)
            }
        }
        Self.tell("participants: p95 \(percentile(worst, 0.95)), most \(worst.max() ?? .infinity) ms")
        #expect(worst.max() ?? .infinity <= 20)
    }

    /// A participant that comes back may come with other clocks: a new call of a telephone, a browser started again.
    @Test func placesConnectionsOfOneParticipantByThemselves() throws {
        var generator = Xorshift(state: 77)
        var first = SimulatedSender(connection: 1)
        first.seconds = 30
        var second = SimulatedSender(connection: 2, start: first.start + 40_000_000_000)
        second.seconds = 30
        second.wallClock.steps = [(-1, 41.3)]
        let tracks = [SimulatedTrack.video(1), .audio(2), .video(3), .audio(4)]
        let map = RTPClockMap(
            tracks[...1].map { first.data($0, &generator) } + tracks[2...].map { second.data($0, &generator) }
        )
        var errors = MapErrors()
        errors.measure(map, first, Array(tracks[...1]))
        errors.measure(map, second, Array(tracks[2...]))
        #expect(errors.betweenTracks.max() ?? .infinity <= 1)
        #expect(errors.absolute.max() ?? .infinity <= 5)
        for track in tracks { #expect(map.basis(track: track.number) == .senderReports) }
    }

    @Test(arguments: [(0, 0), (2_147_483_648, 0), (-5, 0), (90_000, Int64.max), (90_000, Int64.min), (90_000, 1 << 62)])
    func damageOfOneTrackStaysThere(rate: Int, firstRTPTime: Int64) throws {
        var generator = Xorshift(state: 5)
        let sender = SimulatedSender()
        var (video, audio) = (SimulatedTrack.video(), SimulatedTrack.audio())
        video.firstRTPTime = 0x1234_5678
        var broken = sender.data(video, &generator)
        broken.clock = RTPClock(rateHz: rate)
        if firstRTPTime != 0 { broken.samples[0].rtpTime = firstRTPTime }
        let map = RTPClockMap([broken, sender.data(audio, &generator)])
        var errors = MapErrors()
        errors.measure(map, sender, [audio])
        #expect(errors.absolute.max() ?? .infinity <= 3)
        // Where the file of the track begins is known, whatever else is wrong.
        let start = try #require(map.sessionTimeNanoseconds(track: 1, rtpTime: broken.samples[0].rtpTime))
        #expect(abs(start - sender.truth(at: 0)) <= 100_000_000)
    }

    @Test func followsASenderThatJumpsAllTheTime() throws {
        var generator = Xorshift(state: 3)
        var sender = SimulatedSender()
        sender.seconds = 2000
        var track = SimulatedTrack.audio()
        track.clock.steps = (1...190).map { (Double($0) * 10, 60) }
        let map = RTPClockMap([sender.data(track, &generator)])
        var errors = MapErrors()
        errors.measure(map, sender, [track])
        #expect(percentile(errors.absolute, 0.95) <= 10)
    }

    /// Prints the figures of a test on request.
    private static func tell(_ figures: String) {
        if ProcessInfo.processInfo.environment["TAPEDECK_FIGURES"] != nil { print(figures) }
    }

    private func percentile(_ values: [Double], _ share: Double) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .infinity : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}
