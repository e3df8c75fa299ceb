// SPDX-License-Identifier: Apache-2.0

import Basics
import TestSupport
import Testing
import Timeline

/// The clocks of hosts that recorded one call, by the reports of its senders.
@Suite struct HostClocksTests {
    /// A host: its clocks at the beginning of the simulation, and how fast its crystal runs.
    private struct Host {
        var name = "a"
        var monotonicSeconds = 1_000.0
        var wallSeconds = 0.0
        var drift = 0.0

        /// Its monotonic clock, in nanoseconds.
        func monotonic(_ seconds: Double) -> Int64 {
            Int64(((self.monotonicSeconds + seconds * (1 + self.drift)) * 1e9).rounded())
        }

        func utc(_ seconds: Double) -> UTCTime {
            let passed = Int64(((self.wallSeconds + seconds) * 1e9).rounded())
            return UTCTime(nanosecondsSince1970: HostClocksTests.start + passed)
        }
    }

    /// A participant: its wall clock, and when it was set.
    private struct Sender {
        var id = "alice"
        var wallSeconds = 3.0
        var drift = 0.0
        var step: (at: Double, seconds: Double) = (0, 0)
        /// Seconds from 1900 at the beginning; of the present if it is nothing else.
        var epoch: Double?
        var interval = 1.0

        func ntp(_ seconds: Double) -> UInt64 {
            let unix = Double(HostClocksTests.start) / 1e9
            let step = seconds >= self.step.at ? self.step.seconds : 0
            let time = (self.epoch ?? unix + 2_208_988_800) + self.wallSeconds + seconds * (1 + self.drift) + step
            return UInt64(time * 4_294_967_296)
        }
    }

    private static let start: Int64 = 1_795_230_746_000_000_000
    private static let (a, b) = (Host(), Host(name: "b", monotonicSeconds: 5, wallSeconds: 90))

    /// A segment's journal: reports come 10 ms after they were sent, or later, as queues have it.
    private static func journal(
        _ host: Host,
        _ senders: [Sender],
        _ span: Range<Double>,
        segment: Int = 1,
        boot: String?? = nil
    ) -> [JournalEntry] {
        var entries = [
            JournalEntry(
                .recordingStarted(
                    RecordingStarted(
                        room: "r",
                        id: "\(segment)",
                        host: host.name,
                        utc: host.utc(span.lowerBound),
                        boot: boot ?? host.name,
                        series: "1",
                        segment: segment,
                        claim: RecordingClaim(cluster: "calls", epoch: segment)
                    )
                ),
                monotonicNanoseconds: host.monotonic(span.lowerBound)
            )
        ]
        var chance = SeededGenerator(seed: UInt64(segment))
        for (index, sender) in senders.enumerated() {
            let opened = TrackOpened(
                track: index + 1,
                participant: sender.id,
                media: .audio,
                codec: "opus",
                clockRateHz: 48_000,
                ssrc: UInt32(100 * segment + index),
                file: "tracks/\(index)",
                firstRTPTime: 0
            )
            entries.append(JournalEntry(.trackOpened(opened), monotonicNanoseconds: host.monotonic(span.lowerBound)))
            for seconds in stride(from: span.lowerBound, to: span.upperBound, by: sender.interval) {
                let report = SenderReport(
                    track: index + 1,
                    ssrc: UInt32(100 * segment + index),
                    rtpTimestamp: 0,
                    ntpTime: sender.ntp(seconds)
                )
                let delay = 0.01 + 0.03 * chance.fraction() * chance.fraction()
                entries.append(
                    JournalEntry(.senderReport(report), monotonicNanoseconds: host.monotonic(seconds + delay))
                )
            }
        }
        return entries
    }

    private static func offset(_ ours: [JournalEntry], _ theirs: [JournalEntry], utc: Int64 = 0) -> HostClockOffset? {
        var (one, other) = (SenderReportArrivals(), SenderReportArrivals())
        for entry in ours { one.take(entry) }
        for entry in theirs { other.take(entry) }
        return HostClockOffset.find(one, other, near: utc)
    }

    /// A call of which one host has a part, and another a later one, or one at the same time.
    struct Parts: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var first: Range<Double>
        var second: Range<Double>
        var drift = 0.0
        var senderDrift = 0.0
        var interval = 1.0
    }

    private static let parts = [
        Parts(testDescription: "a gap of 10 s", first: 0..<60, second: 70..<130),
        Parts(testDescription: "an overlap of 10 s", first: 0..<60, second: 50..<130),
        Parts(testDescription: "few reports", first: 0..<12, second: 15..<27, interval: 5),
        Parts(
            testDescription: "hours, and crystals that are off",
            first: 0..<7200,
            second: 7210..<10_800,
            drift: 40e-6,
            senderDrift: -60e-6
        ),
        Parts(
            testDescription: "an hour at the same time",
            first: 0..<5400,
            second: 1800..<9000,
            drift: 40e-6,
            senderDrift: 30e-6
        ),
        Parts(
            testDescription: "a sender whose crystal is far off",
            first: 0..<300,
            second: 305..<600,
            senderDrift: 150e-6
        ),
    ]

    @Test(arguments: HostClocksTests.parts)
    func sendersTellHostsClocksApart(parts: Parts) throws {
        var other = Self.b
        other.drift = parts.drift
        let senders = ["alice", "bob"].map { Sender(id: $0, drift: parts.senderDrift, interval: parts.interval) }
        let found = try #require(
            Self.offset(
                Self.journal(Self.a, senders, parts.first),
                Self.journal(other, senders, parts.second, segment: 2)
            )
        )
        let meeting = (parts.first.upperBound + parts.second.lowerBound) / 2
        let error = found.nanoseconds - (Self.a.monotonic(meeting) - other.monotonic(meeting))
        #expect(error.magnitude < 20_000_000, "\(error)")
        #expect(found.boundNanoseconds < 20_000_000)
        #expect(error.magnitude < UInt64(found.boundNanoseconds) + 5_000_000, "\(error) of \(found.boundNanoseconds)")
    }

    @Test func aLongGapWidensTheBound() throws {
        let found = try #require(
            Self.offset(
                Self.journal(Self.a, [Sender()], 0..<60),
                Self.journal(Self.b, [Sender()], 3660..<3720, segment: 2)
            )
        )
        #expect((150_000_000...250_000_000).contains(found.boundNanoseconds))
    }

    @Test func withoutReportsThereIsNone() {
        let whole = Self.journal(Self.b, [Sender()], 70..<130, segment: 2)
        #expect(Self.offset(Self.journal(Self.a, [], 0..<60), whole) == nil)
        #expect(Self.offset(Self.journal(Self.a, [Sender(interval: 100)], 0..<60), whole) == nil, "one is no curve")
        #expect(Self.offset(Self.journal(Self.a, [Sender(id: "bob")], 0..<60), whole) == nil)
        // Such a clock may begin again with each connection.
        let uptime = Sender(epoch: 1_000)
        #expect(
            Self.offset(
                Self.journal(Self.a, [uptime], 0..<60),
                Self.journal(Self.b, [uptime], 70..<130, segment: 2)
            ) == nil
        )
    }

    @Test func aClockThatWasSetIsOutvoted() throws {
        let senders = [
            Sender(id: "alice"), Sender(id: "bob", step: (65, 4)), Sender(id: "carol"),
        ]
        let found = try #require(
            Self.offset(
                Self.journal(Self.a, senders, 0..<60),
                Self.journal(Self.b, senders, 70..<130, segment: 2)
            )
        )
        #expect((found.nanoseconds - 995_000_000_000).magnitude < 20_000_000)
        // Of two that disagree, the one nearer to what the hosts take for UTC.
        let two = try #require(
            Self.offset(
                Self.journal(Self.a, Array(senders.prefix(2)), 0..<60),
                Self.journal(Self.b, Array(senders.prefix(2)), 70..<130, segment: 2),
                utc: 995_500_000_000
            )
        )
        #expect((two.nanoseconds - 995_000_000_000).magnitude < 20_000_000)
    }

    private static func clocks(_ journals: [[JournalEntry]]) -> (leads: [String: Int64], joins: [ClockJoin]) {
        var clocks = HostClocks()
        for entry in journals.joined() { clocks.take(entry) }
        return clocks.joined()
    }

    @Test func eachClockIsJoinedOnce() throws {
        let (leads, joins) = Self.clocks([
            Self.journal(Self.a, [Sender()], 0..<60),
            Self.journal(Self.b, [Sender()], 70..<130, segment: 2),
            Self.journal(Self.a, [Sender()], 140..<200, segment: 3),
            // A host that no sender of the others reported to; its wall clock is right.
            Self.journal(Host(name: "c", monotonicSeconds: 70), [Sender(id: "dora")], 210..<240, segment: 4),
            // It was started again, and its wall clock is off as before.
            Self.journal(
                Host(name: "b", monotonicSeconds: -240, wallSeconds: 90),
                [],
                250..<300,
                segment: 5,
                boot: "b2"
            ),
        ])
        #expect(leads["a"] == 0)
        #expect((try #require(leads["b"]) - 995_000_000_000).magnitude < 20_000_000)
        #expect(leads["c"] == 930_000_000_000)
        #expect((try #require(leads["b2"]) - 1_240_000_000_000).magnitude < 20_000_000)
        #expect(joins.map(\.segment) == [2, 4, 5])
        #expect(joins.map(\.host) == ["b", "c", "b"])
        #expect(joins.map(\.joinedBy) == [.senders, .utc, .utc])
        #expect(joins.map { $0.boundNanoseconds == nil } == [false, true, true])
        #expect(joins[1].text == "segment 4 (host c): joined by utc ± unknown")
        #expect(
            ClockJoin(segment: 2, host: "b", joinedBy: .senders, boundNanoseconds: 2_000_001).text
                == "segment 2 (host b): joined by senders ± 3 ms"
        )
    }

    @Test func ofAHostThatNamesNoClockNothingIsSaid() {
        let second = Self.journal(Self.b, [Sender()], 70..<130, segment: 2)
        let unnamed = Self.clocks([Self.journal(Self.a, [Sender()], 0..<60, boot: .some(nil)), second])
        #expect(unnamed.leads.isEmpty && unnamed.joins.isEmpty)
        let later = Self.clocks([second, Self.journal(Self.a, [Sender()], 140..<200, segment: 3, boot: .some(nil))])
        #expect(later.leads == ["b": 0] && later.joins.isEmpty)
    }

    @Test func numbersMayBeAny() {
        let entries = [Int64.min, .max].flatMap { time in
            [
                JournalEntry(
                    .recordingStarted(
                        RecordingStarted(
                            room: "",
                            id: "",
                            host: "",
                            utc: UTCTime(nanosecondsSince1970: time),
                            boot: "\(time)",
                            segment: .min
                        )
                    ),
                    monotonicNanoseconds: time
                )
            ]
                + (0..<3).map { index in
                    JournalEntry(
                        .senderReport(SenderReport(track: 1, ssrc: 1, rtpTimestamp: 0, ntpTime: UInt64(index) << 62)),
                        monotonicNanoseconds: index == 1 ? .min : .max
                    )
                }
        }
        let (leads, joins) = Self.clocks([entries])
        #expect(leads.count == 2 && joins.count == 1)
    }
}
