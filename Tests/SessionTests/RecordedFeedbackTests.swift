// SPDX-License-Identifier: Apache-2.0

import Foundation
import Session
import Testing

/// Chromium's reports about a camera that sent 1.5 Mbit/s, in front of which `tc tbf` limited the path to 500 kbit/s.
///
/// `long-queue`: 96 kB could wait, `short-queue`: 32 kB, of which five packets were lost. The camera followed an
/// earlier controller: the reports of the first second are those that any controller gets.
private struct Recording {
    var reports: [(time: UInt64, feedback: RateFeedback)] = []

    init(_ name: String) throws {
        let url = Bundle.module.bundleURL.appending(path: "Fixtures").appending(path: "\(name).csv")
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n").dropFirst() {
            let fields = line.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
            let (time, sent) = (try #require(fields[0]), try #require(fields[1]))
            var arrivals: RateFeedback.Arrivals?
            if let packets = fields[2], let bytes = fields[3], let lost = fields[4], let queueing = fields[5],
                let span = fields[6], let onTheirWay = fields[7]
            {
                arrivals = .init(
                    packets: Int(packets),
                    bytes: Int(bytes),
                    lostPackets: Int(lost),
                    queueing: .milliseconds(queueing),
                    span: .milliseconds(span),
                    bytesOnTheirWay: Int(onTheirWay)
                )
            }
            let feedback = RateFeedback(sentBytes: Int(sent), arrivals: arrivals)
            self.reports.append((UInt64(time) * 1_000_000 + 1_000_000_000, feedback))
        }
    }

    /// When the way became full: the first report of 30 ms or more in a queue.
    var fullSince: UInt64? { self.reports.first { $0.feedback.arrivals?.queueing ?? .zero >= .milliseconds(30) }?.time }
}

@Suite struct RecordedFeedbackTests {
    @Test(arguments: ["long-queue", "short-queue"])
    func aLimitIsSeenWithinHalfASecond(name: String) throws {
        let recording = try Recording(name)
        let full = try #require(recording.fullSince)
        #expect(recording.reports.count > 100)
        var controller = RateController(minimum: 100_000, maximum: 1_500_000)
        var first: (time: UInt64, limit: RateLimit)?
        for (time, feedback) in recording.reports {
            let limit = controller.update(feedback, at: time)
            if time < full { #expect(limit == RateLimit(bitsPerSecond: 1_500_000), "nothing waits") }
            if limit.bitsPerSecond < 1_500_000, first == nil { first = (time, limit) }
            #expect(limit.bitsPerSecond >= 100_000)
        }
        let reduction = try #require(first)
        #expect(reduction.time - full <= 500_000_000)
        #expect((200_000...450_000).contains(reduction.limit.bitsPerSecond), "\(reduction.limit)")
        #expect(reduction.limit.pause == .milliseconds(400))
        #expect((250_000...480_000).contains(controller.target), "\(controller.target) at the end")
    }

    @Test(arguments: ["long-queue", "short-queue"])
    func reportsThatComeTwiceAsLateLeadToTheSame(name: String) throws {
        let recording = try Recording(name)
        let full = try #require(recording.fullSince)
        var controller = RateController(minimum: 100_000, maximum: 1_500_000)
        var waiting = RateFeedback()
        for (index, (time, feedback)) in recording.reports.enumerated() {
            waiting.sentBytes += feedback.sentBytes
            if let arrivals = feedback.arrivals {
                var sum = waiting.arrivals ?? .init(packets: 0, bytes: 0, queueing: arrivals.queueing)
                sum.packets += arrivals.packets
                sum.bytes += arrivals.bytes
                sum.lostPackets += arrivals.lostPackets
                sum.queueing = min(sum.queueing, arrivals.queueing)
                sum.span += arrivals.span
                sum.bytesOnTheirWay = arrivals.bytesOnTheirWay
                waiting.arrivals = sum
            }
            guard index % 2 == 1 else { continue }
            let limit = controller.update(waiting, at: time)
            waiting = RateFeedback()
            if time < full { #expect(limit.bitsPerSecond == 1_500_000) }
        }
        #expect((250_000...480_000).contains(controller.target), "\(controller.target) at the end")
    }
}
