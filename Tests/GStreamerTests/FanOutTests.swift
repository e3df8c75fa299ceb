// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Dispatch
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct FanOutTests {
        private static let second: UInt64 = 1_000_000_000
        private static let frame: UInt64 = 40_000_000
        private static let baseTime: UInt64 = 10_000 * second

        /// An encoder played by hand.
        private struct Source {
            let feed: HandFeed
            let fanOut: FanOut
            let requests = Log<Void>()

            init() throws {
                self.feed = try HandFeed(
                    launch: "identity name=in ! appsink name=encoded sync=false",
                    into: "in",
                    caps: "video/x-vp8,width=320,height=180,framerate=25/1",
                    baseTimeNanoseconds: FanOutTests.baseTime
                )
                self.fanOut = FanOut(startsAtKeyframe: true)
                try self.fanOut.attach(to: self.feed.pipeline, sink: "encoded")
                self.feed.pad.observeKeyframeRequests { [requests] in requests.append(()) }
            }

            /// Pushes frame `number`, 40 ms after the one before.
            func push(_ number: UInt64, isKeyframe: Bool = false) {
                let isTaken = self.feed.push(
                    number: number,
                    timeNanoseconds: number * FanOutTests.frame,
                    isKeyframe: isKeyframe
                )
                #expect(isTaken)
            }
        }

        /// A peer's sending branch, without the peer.
        private final class Receiver: Sendable {
            let pipeline: Pipeline
            let source: Element
            let seen = Log<SeenBuffer>()

            init(baseTimeNanoseconds: UInt64 = FanOutTests.baseTime) throws {
                self.pipeline = try Pipeline(
                    launch: """
                        appsrc name=media is-live=true format=time block=false max-bytes=0 ! identity name=passed \
                        ! fakesink sync=false async=false
                        """
                ) { _ in }
                self.source = try self.pipeline.element(named: "media")
                try self.pipeline.element(named: "passed").staticPad("src").observe { [seen] buffer in
                    seen.append(buffer)
                    return true
                }
                try self.pipeline.play(baseTimeNanoseconds: baseTimeNanoseconds)
            }

            /// Waits until everything that was handed over has come through.
            func hasSeenAll(of consumer: FanOut.Consumer) async -> Bool {
                await eventually { UInt64(self.seen.count) == consumer.counters.pushed }
            }
        }

        @Test
        func handsOverOneOfSeveralAndSaysSo() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            let consumer = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            source.push(0, isKeyframe: true)
            source.push(1)
            consumer.takeOneOf(2)
            for number: UInt64 in 2...7 { source.push(number) }
            #expect(await receiver.hasSeenAll(of: consumer))
            #expect(consumer.counters.pushed == 5)
            #expect(try Self.framerate(of: receiver) == "25/2")
            consumer.takeOneOf(1)
            for number: UInt64 in 8...9 { source.push(number) }
            #expect(await receiver.hasSeenAll(of: consumer))
            #expect(consumer.counters.pushed == 7)
            #expect(try Self.framerate(of: receiver) == "25/1")
        }

        @Test
        func leavesOutEverythingForAWhile() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            let consumer = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            source.push(0, isKeyframe: true)
            let start = Runtime.monotonicNanoseconds
            // No longer than 400 ms, whatever is asked.
            consumer.hold(.seconds(60))
            var number: UInt64 = 1
            let limit = ContinuousClock.now + .seconds(10)
            while consumer.counters.pushed == 1, ContinuousClock.now < limit {
                source.push(number)
                number += 1
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(Runtime.monotonicNanoseconds - start >= 400_000_000)
            #expect(consumer.counters.pushed == 2)
            #expect(await receiver.hasSeenAll(of: consumer))
            consumer.hold(.milliseconds(300))
            consumer.hold(.zero)
            source.push(number)
            #expect(consumer.counters.pushed == 3)
        }

        /// As RTP wants it: opusenc's own stamps are 6.5 ms earlier, for players that skip its look-ahead.
        @Test
        func packetsOfSoundAreStampedWithWhenTheirSamplesWereTaken() async throws {
            let fanOut = FanOut(startsAtKeyframe: false)
            let encoder = try Pipeline(
                launch: """
                    audiotestsrc num-buffers=20 samplesperbuffer=960 ! audio/x-raw,rate=48000,channels=2 ! opusenc \
                    ! appsink name=encoded sync=false
                    """
            ) { _ in }
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            try fanOut.attach(to: encoder, sink: "encoded", baseTimeNanoseconds: Self.baseTime)
            let consumer = try fanOut.add(receiver.source, of: receiver.pipeline)
            try encoder.play(baseTimeNanoseconds: Self.baseTime)
            defer { encoder.stop() }
            #expect(await eventually { consumer.counters.pushed >= 19 })
            #expect(await receiver.hasSeenAll(of: consumer))
            // The first packet is look-ahead only.
            #expect(receiver.seen.all.prefix(19).map(\.timeNanoseconds) == (1...19).map { $0 * 20_000_000 })
        }

        private static func framerate(of receiver: Receiver) throws -> String? {
            let pad = try receiver.pipeline.element(named: "passed").staticPad("src")
            guard let caps = gst_pad_get_current_caps(pad.pointer) else { return nil }
            defer { gst_caps_unref(caps) }
            var numerator: Int32 = 0
            var denominator: Int32 = 0
            gst_structure_get_fraction(gst_caps_get_structure(caps, 0), "framerate", &numerator, &denominator)
            return "\(numerator)/\(denominator)"
        }

        @Test
        func rawMediaStayInOrderWhenOneSourceTakesThePlaceOfAnother() async throws {
            func raw() throws -> HandFeed {
                try HandFeed(
                    launch: "identity name=in ! appsink name=raw sync=false",
                    into: "in",
                    caps: "video/x-raw,format=GRAY8,width=16,height=16,framerate=25/1",
                    baseTimeNanoseconds: Self.baseTime
                )
            }
            let (camera, slate) = (try raw(), try raw())
            defer { for feed in [camera, slate] { feed.stop() } }
            let fanOut = FanOut(startsAtKeyframe: false)
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            func push(_ number: UInt64, from feed: HandFeed) {
                #expect(feed.push(number: number, timeNanoseconds: number * Self.frame, isKeyframe: true))
            }
            try fanOut.attach(to: camera.pipeline, sink: "raw")
            let consumer = try fanOut.add(receiver.source, of: receiver.pipeline)
            for number in 0...3 { push(UInt64(number), from: camera) }
            try fanOut.attach(to: slate.pipeline, sink: "raw")
            // Made before the newest frame of the camera.
            push(2, from: slate)
            push(3, from: slate)
            push(4, from: slate)
            #expect(consumer.counters.pushed == 5)
            #expect(fanOut.count == 7, "also what is left out shows that a source gives something")
            // The camera has no listener any more.
            push(5, from: camera)
            #expect(consumer.counters.pushed == 5)
            #expect(fanOut.count == 7)
            #expect(await receiver.hasSeenAll(of: consumer))
            let times = receiver.seen.all.map(\.timeNanoseconds)
            #expect(times == times.sorted() && Set(times).count == 5)
        }

        @Test
        func startsAtAKeyframe() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            source.push(0, isKeyframe: true)
            source.push(1)
            let consumer = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            source.push(2)
            source.push(3)
            #expect(consumer.counters.pushed == 0)
            #expect(source.requests.count == 1, "a consumer that waits makes the encoder start anew")
            source.push(4, isKeyframe: true)
            source.push(5)
            #expect(consumer.counters.pushed == 2)
            #expect(consumer.counters.dropped == 0)
            #expect(await receiver.hasSeenAll(of: consumer))
            #expect(receiver.seen.all.map(\.number) == [4, 5])
            #expect(receiver.seen.all.map(\.isKeyframe) == [true, false])
            #expect(source.fanOut.count == 6)
        }

        @Test
        func rawBuffersNeedNoKeyframe() async throws {
            let feed = try HandFeed(
                launch: "identity name=in ! appsink name=raw sync=false",
                into: "in",
                caps: "audio/x-opus,rate=48000,channels=2,channel-mapping-family=0",
                baseTimeNanoseconds: Self.baseTime
            )
            defer { feed.stop() }
            let fanOut = FanOut(startsAtKeyframe: false)
            try fanOut.attach(to: feed.pipeline, sink: "raw")
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            let consumer = try fanOut.add(receiver.source, of: receiver.pipeline)
            for number in UInt64(0)..<3 {
                feed.push(number: number, timeNanoseconds: number * Self.frame, isKeyframe: false)
            }
            #expect(await receiver.hasSeenAll(of: consumer))
            #expect(receiver.seen.all.map(\.number) == [0, 1, 2])
        }

        @Test(arguments: [(Int64(0), UInt64(0)), (-1, 0), (-3600, 0), (1, 25)])
        func movesTimeStampsByTheDifferenceOfBaseTimes(seconds: Int64, first: UInt64) async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let difference = seconds * Int64(Self.second)
            let receiver = try Receiver(baseTimeNanoseconds: UInt64(Int64(Self.baseTime) + difference))
            defer { receiver.pipeline.stop() }
            let consumer = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            for number in UInt64(0)..<30 { source.push(number, isKeyframe: true) }
            #expect(await receiver.hasSeenAll(of: consumer))
            // Frames before the consumer's time 0 are left out.
            #expect(receiver.seen.all.map(\.number) == Array(first..<30))
            let times = receiver.seen.all.map { Int64(clamping: $0.timeNanoseconds) }
            #expect(times == (first..<30).map { Int64($0 * Self.frame) - difference })
        }

        @Test
        func aSlowConsumerStartsAgainAtAKeyframeAndHarmsNobody() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let slow = try Receiver()
            defer { slow.pipeline.stop() }
            let quick = try Receiver()
            defer { quick.pipeline.stop() }
            let block = try slow.source.staticPad("src").block()
            let slowConsumer = try source.fanOut.add(slow.source, of: slow.pipeline, maximumQueued: 4)
            let quickConsumer = try source.fanOut.add(quick.source, of: quick.pipeline, maximumQueued: 1000)
            source.push(0, isKeyframe: true)
            for number in UInt64(1)..<20 { source.push(number) }
            #expect(slowConsumer.counters.dropped == 1)
            let queued = slowConsumer.counters.pushed
            #expect((4...8).contains(queued), "\(queued)")
            // A keyframe does not fit either.
            source.push(20, isKeyframe: true)
            #expect(slowConsumer.counters.dropped == 2)
            #expect(slowConsumer.counters.pushed == queued)
            block.remove()
            #expect(await slow.hasSeenAll(of: slowConsumer))
            source.push(21)
            #expect(slowConsumer.counters.pushed == queued, "it has no keyframe for this one")
            source.push(22, isKeyframe: true)
            source.push(23)
            #expect(await slow.hasSeenAll(of: slowConsumer))
            #expect(slow.seen.all.map(\.number) == Array(0..<queued) + [22, 23])
            #expect(await quick.hasSeenAll(of: quickConsumer))
            #expect(quick.seen.all.map(\.number) == Array(0..<24))
            #expect(quickConsumer.counters.dropped == 0)
            #expect(source.fanOut.count == 24)
        }

        @Test
        func aConsumerThatIsFullAsksForNoKeyframe() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let slow = try Receiver()
            defer { slow.pipeline.stop() }
            let block = try slow.source.staticPad("src").block()
            let consumer = try source.fanOut.add(slow.source, of: slow.pipeline, maximumQueued: 4)
            source.push(0, isKeyframe: true)
            for number in UInt64(1)..<20 { source.push(number) }
            #expect(consumer.counters.dropped == 1)
            #expect(source.requests.count == 0)
            block.remove()
            #expect(await slow.hasSeenAll(of: consumer))
            source.push(20)
            #expect(source.requests.count == 1, "now there is room for one")
        }

        @Test
        func removeEndsTheFlow() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let leaving = try Receiver()
            defer { leaving.pipeline.stop() }
            let staying = try Receiver()
            defer { staying.pipeline.stop() }
            let leaver = try source.fanOut.add(leaving.source, of: leaving.pipeline)
            let stayer = try source.fanOut.add(staying.source, of: staying.pipeline)
            source.push(0, isKeyframe: true)
            source.push(1)
            #expect(await leaving.hasSeenAll(of: leaver))
            #expect(leaver.remove().pushed == 2)
            #expect(leaver.counters.pushed == 0)
            #expect(leaver.remove().pushed == 0)
            source.push(2)
            source.push(3, isKeyframe: true)
            #expect(await staying.hasSeenAll(of: stayer))
            #expect(staying.seen.count == 4)
            #expect(leaving.seen.count == 2)
        }

        /// A peer that listens no more, and one that listens again, asks the encoder for nothing, and once.
        @Test
        func whatIsRemovedTakesNoRequests() throws {
            let source = try Source()
            defer { source.feed.stop() }
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            let pad = try receiver.source.staticPad("src")
            let first = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            source.push(0, isKeyframe: true)
            first.remove()
            pad.requestKeyframe()
            source.push(1)
            #expect(source.requests.count == 0)
            let second = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            pad.requestKeyframe()
            #expect(source.requests.count == 1)
            second.remove()
        }

        @Test
        func aConsumerWhosePipelineStoppedHarmsNobody() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let gone = try Receiver()
            let staying = try Receiver()
            defer { staying.pipeline.stop() }
            let goner = try source.fanOut.add(gone.source, of: gone.pipeline)
            let stayer = try source.fanOut.add(staying.source, of: staying.pipeline)
            source.push(0, isKeyframe: true)
            gone.pipeline.stop()
            let pushed = goner.counters.pushed
            source.push(1)
            source.push(2, isKeyframe: true)
            #expect(goner.counters.pushed == pushed)
            #expect(await staying.hasSeenAll(of: stayer))
            #expect(staying.seen.count == 3)
        }

        /// Each request needs so many milliseconds after the one before, so their number is bounded by the time that
        /// passed.
        @Test(arguments: [(0, 200), (200, 200), (500, 500)])
        func keyframeRequestsAreSpacedAndNeverLost(asked: Int, spacing: Int64) async throws {
            let source = try Source()
            defer { source.feed.stop() }
            source.fanOut.spaceKeyframes(.milliseconds(asked))
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            let consumer = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            source.push(0, isKeyframe: true)
            let pad = try receiver.source.staticPad("src")
            let start = Runtime.monotonicNanoseconds
            var number: UInt64 = 1
            while Runtime.monotonicNanoseconds - start < 700_000_000 {
                pad.requestKeyframe()
                source.fanOut.requestKeyframe()
                source.push(number)
                number += 1
                try await Task.sleep(for: .milliseconds(5))
            }
            let sent = source.requests.count
            let passed = Runtime.monotonicNanoseconds - start
            #expect(sent >= 1)
            #expect(sent <= Int(passed / (spacing * 1_000_000)) + 1, "\(sent) requests in \(passed) ns")
            // One that comes too early is kept: one more goes out, with a buffer, and only one. After a stall of the
            // machine a request is not too early, but the next one is.
            var before = 0
            repeat {
                before = source.requests.count
                pad.requestKeyframe()
            } while source.requests.count > before
            let limit = ContinuousClock.now + .seconds(60)
            while source.requests.count == before, ContinuousClock.now < limit {
                source.push(number)
                number += 1
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(source.requests.count == before + 1)
            consumer.remove()
        }

        /// A thread that stops a pipeline holds the state lock of a sink while it waits for the sink's streaming
        /// thread.
        @Test
        func aRequestFromTheStreamingThreadDoesNotWaitForAStateChange() async throws {
            let source = try Source()
            defer { source.feed.stop() }
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            let consumer = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            let appsink = try source.feed.pipeline.element(named: "encoded")
            // The sink must have left its preroll: then nothing but the request needs a lock.
            source.push(0, isKeyframe: true)
            consumer.remove()
            let waiting = try source.fanOut.add(receiver.source, of: receiver.pipeline)
            let feed = source.feed
            let isDone = await onForeignThread {
                let done = DispatchSemaphore(value: 0)
                g_rec_mutex_lock(&appsink.pointer.pointee.state_lock)
                DispatchQueue(label: "streaming").async {
                    feed.push(number: 1, timeNanoseconds: Self.frame, isKeyframe: false)
                    done.signal()
                }
                let isDone = done.wait(timeout: .now() + 60) == .success
                g_rec_mutex_unlock(&appsink.pointer.pointee.state_lock)
                if !isDone { done.wait() }
                return isDone
            }
            #expect(isDone)
            #expect(source.requests.count == 1)
            waiting.remove()
        }

        @Test
        func aRequestReachesARealEncoder() async throws {
            try Runtime.initialise()
            let pipeline = try Pipeline(
                launch: """
                    videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=30/1 \
                    ! vp8enc deadline=1 cpu-used=16 keyframe-max-dist=100000 ! appsink name=encoded sync=false
                    """
            ) { _ in }
            try pipeline.play()
            defer { pipeline.stop() }
            let fanOut = FanOut(startsAtKeyframe: true)
            try fanOut.attach(to: pipeline, sink: "encoded")
            let receivers = try [Receiver(baseTimeNanoseconds: pipeline.baseTimeNanoseconds), Receiver()]
            defer { for receiver in receivers { receiver.pipeline.stop() } }
            let consumers = try receivers.map { try fanOut.add($0.source, of: $0.pipeline) }
            #expect(await eventually { !receivers[0].seen.all.isEmpty })
            #expect(receivers[0].seen.all.first?.isKeyframe == true)
            for wanted in 2...3 {
                try receivers[0].source.staticPad("src").requestKeyframe()
                #expect(await eventually { receivers[0].seen.all.count(where: \.isKeyframe) >= wanted })
            }
            for consumer in consumers { consumer.remove() }
        }

        @Test
        func outlivesItsOwner() async throws {
            let receiver = try Receiver()
            defer { receiver.pipeline.stop() }
            var source: Source? = try Source()
            let feed = try #require(source?.feed)
            defer { feed.stop() }
            let consumer = try source?.fanOut.add(receiver.source, of: receiver.pipeline)
            source = nil
            feed.push(number: 0, timeNanoseconds: 0, isKeyframe: true)
            #expect(consumer?.counters.pushed == 1)
        }
    }
}
