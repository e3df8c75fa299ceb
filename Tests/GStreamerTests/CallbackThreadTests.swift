// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Foundation
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// Every callback fires on a thread of GStreamer while its closure was written in a MainActor context.
    ///
    /// A closure that had inherited the actor would end the process: that the tests come to
    /// their end is the first thing they show.
    @MainActor
    @Suite(.serialized)
    struct CallbackThreadTests {
        /// One end of a call: its events, and whether they came from a foreign thread.
        @MainActor
        private final class End {
            let bin: WebRTCBin
            let queue = UnitQueue()
            let events = Log<WebRTCEvent>()
            let onMainThread = Log<Void>()
            let certificate: Certificate

            init(id: UInt64) throws {
                try Runtime.initialise()
                var settings = WebRTCSettings()
                settings.hostAddresses = ["127.0.0.1"]
                settings.latency = .milliseconds(100)
                self.certificate = try Certificate.generate()
                let (events, onMainThread) = (self.events, self.onMainThread)
                self.bin = try WebRTCBin(
                    id: id,
                    settings: settings,
                    certificate: self.certificate,
                    queue: self.queue,
                    baseTimeNanoseconds: UInt64(Runtime.monotonicNanoseconds),
                    onEvent: { event in
                        if Thread.isMainThread { onMainThread.append(()) }
                        events.append(event)
                    },
                    onBus: { _ in if Thread.isMainThread { onMainThread.append(()) } }
                )
            }

            var candidates: [(mLineIndex: Int, line: String)] {
                self.events.all.compactMap {
                    guard case .localCandidate(let mLineIndex, let line) = $0 else { return nil }
                    return (mLineIndex, line)
                }
            }

            var isGathered: Bool {
                self.events.all.contains { if case .gatheringComplete = $0 { true } else { false } }
            }

            var isICEUp: Bool {
                self.events.all.contains { event in
                    guard case .iceState(let state) = event else { return false }
                    return state == .connected || state == .completed
                }
            }

            var isConnected: Bool {
                self.events.all.contains { if case .connectionState(.connected) = $0 { true } else { false } }
            }

            var streams: [ReceivedStream] {
                self.events.all.compactMap { if case .streamAppeared(let stream) = $0 { stream } else { nil } }
            }
        }

        /// A running video, and where it can be taken from.
        private func capture() throws -> (pipeline: Pipeline, fanOut: FanOut) {
            let capture = try Pipeline(
                launch: """
                    videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=15/1 \
                    ! vp8enc deadline=1 cpu-used=16 keyframe-max-dist=100000 ! appsink name=encoded sync=false
                    """
            ) { _ in }
            try capture.play()
            let fanOut = FanOut(startsAtKeyframe: true)
            try fanOut.attach(to: capture, sink: "encoded")
            return (capture, fanOut)
        }

        /// Connects both ends.
        ///
        /// - Returns: the input of the sender's video.
        private func connect(_ sender: End, _ receiver: End) async throws -> SendBranch {
            // Promises.
            let format = SendFormat(media: "video", encodingName: "VP8", clockRateHz: 90_000, payloadType: 96)
            let branch = try sender.bin.addSender(format)
            let offer = try await sender.bin.createOffer()
            try await sender.bin.setLocalDescription(.offer, offer)
            try await receiver.bin.setRemoteDescription(.offer, offer)
            let answer = try await receiver.bin.createAnswer()
            // on-new-transceiver: it switches retransmissions on.
            #expect(answer.contains("a=rtcp-fb:96 nack"))
            try await receiver.bin.setLocalDescription(.answer, answer)
            try await sender.bin.setRemoteDescription(.answer, answer)

            // on-ice-candidate, notify::ice-gathering-state.
            #expect(await eventually { sender.isGathered && receiver.isGathered })
            #expect(!sender.candidates.isEmpty && !receiver.candidates.isEmpty)
            for candidate in sender.candidates {
                receiver.bin.addRemoteCandidate(mLineIndex: candidate.mLineIndex, line: candidate.line)
            }
            for candidate in receiver.candidates {
                sender.bin.addRemoteCandidate(mLineIndex: candidate.mLineIndex, line: candidate.line)
            }

            // notify::ice-connection-state, notify::connection-state.
            #expect(await eventually { sender.isICEUp && receiver.isICEUp })
            #expect(await eventually { sender.isConnected && receiver.isConnected })
            return branch
        }

        @Test
        func aCallFiresThemAllFromForeignThreads() async throws {
            let control = ControlThread(name: "test")
            let sender = try End(id: 1)
            let receiver = try End(id: 2)
            let (capture, fanOut) = try self.capture()
            let branch = try await self.connect(sender, receiver)
            // deep-element-added: each side shows the certificate that it was given.
            #expect(
                sender.bin.peerCertificates.compactMap { Certificate.digest(ofPEM: $0, .sha256) } == [
                    receiver.certificate.digest(.sha256)
                ]
            )
            #expect(
                receiver.bin.peerCertificates.compactMap { Certificate.digest(ofPEM: $0, .sha256) } == [
                    sender.certificate.digest(.sha256)
                ]
            )

            // pad-added, the pad's block, the tap.
            let consumer = try sender.bin.feed(branch, from: fanOut)
            #expect(await eventually { !receiver.streams.isEmpty })
            let stream = try #require(receiver.streams.first)
            #expect(stream.format?.encodingName == "VP8")
            let tap = TrackTap(id: 9, ssrc: try #require(stream.format?.ssrc), queue: receiver.queue)
            let bin = receiver.bin
            try await control.run("receive", deadline: .seconds(60)) {
                try bin.receive(stream, by: .vp8, into: tap)
                #expect(bin.shortenPath(of: stream))
            }
            let units = Log<ReceivedItem.Unit>()
            let reports = Log<ReceivedItem.Report>()
            let queue = receiver.queue
            let read: @Sendable () -> Bool = {
                while queue.next(
                    timeout: .zero,
                    { item, _ in
                        switch item {
                        case .unit(let unit): units.append(unit)
                        case .senderReport(let report): reports.append(report)
                        case .mark: break
                        }
                    }
                ) {}
                return true
            }
            #expect(await eventually { read() && units.count >= 5 })
            #expect(units.all.allSatisfy { $0.tap == 9 })
            let path = bin.path
            #expect(
                await eventually { read() && path.counters.short_packets >= 5 && path.counters.long_packets >= 1 }
            )
            #expect(path.counters.decrypted >= 5)
            #expect(units.all.allSatisfy { $0.lostPackets == 0 && !$0.isTruncated })
            // A keyframe request goes the whole way back, and the fan-out stops it before the payloader.
            let before = consumer.counters.pushed
            bin.keyframeTarget(of: stream).requestKeyframe()
            #expect(await eventually { consumer.counters.pushed > before })
            // The RTCP watcher: the first sender report comes within a few seconds.
            #expect(await eventually { read() && !reports.all.isEmpty })
            #expect(reports.all.first?.receiver == 2)
            #expect(reports.all.first.map { $0.ssrc } == stream.format?.ssrc)
            #expect(receiver.bin.lastReportNanoseconds != nil)
            #expect(await eventually { sender.bin.lastReportNanoseconds != nil })

            consumer.remove()
            let (sending, receiving) = (sender.bin, receiver.bin)
            try await control.run("stop", deadline: .seconds(60)) {
                sending.stop()
                receiving.stop()
                capture.stop()
            }
            #expect(sender.onMainThread.count == 0 && receiver.onMainThread.count == 0)
        }

        /// Held data of the stream must not hold a thread: it would have locks that stopping needs.
        @Test
        func aStreamThatNobodyTookDoesNotKeepTheConnectionFromStopping() async throws {
            let control = ControlThread(name: "test")
            let sender = try End(id: 1)
            let receiver = try End(id: 2)
            let (capture, fanOut) = try self.capture()
            let consumer = try sender.bin.feed(try await self.connect(sender, receiver), from: fanOut)
            #expect(await eventually { !receiver.streams.isEmpty })
            let (sending, receiving) = (sender.bin, receiver.bin)
            try await control.run("stop", deadline: .seconds(30)) { receiving.stop() }
            consumer.remove()
            try await control.run("stop") {
                sending.stop()
                capture.stop()
            }
        }

        /// Its free memory goes back to the system when the last one has ended.
        @Test
        func aConnectionCountsUntilItIsFreed() async throws {
            let memory = FreeMemory()
            var ends = try FreeMemory.$current.withValue(memory) { try [End(id: 1), End(id: 2)] }
            #expect(memory.connections == 2)
            for end in ends { end.bin.stop() }
            #expect(memory.connections == 2)
            ends = []
            #expect(await eventually { memory.connections == 0 })
        }

        @Test
        func theBusSpeaksFromAStreamingThread() async throws {
            try Runtime.initialise()
            let bus = Log<(event: BusEvent, isMain: Bool)>()
            let failing = try Pipeline(launch: "fakesrc ! identity error-after=2 name=trouble ! fakesink") { event in
                bus.append((event, Thread.isMainThread))
            }
            try failing.play()
            #expect(
                await eventually {
                    bus.all.contains { entry in
                        guard case .error("trouble", _, _) = entry.event else { return false }
                        return true
                    }
                }
            )
            failing.stop()
            let ending = try Pipeline(launch: "fakesrc num-buffers=2 ! fakesink") { event in
                bus.append((event, Thread.isMainThread))
            }
            try ending.play()
            #expect(await eventually { bus.all.contains { $0.event == .endOfStream } })
            ending.stop()
            #expect(bus.all.allSatisfy { !$0.isMain })
        }

        @Test
        func aRefusedDescriptionIsAnErrorOfThePromise() async throws {
            let end = try End(id: 1)
            let bin = end.bin
            // An answer without an offer.
            await #expect(throws: GStreamerError.self) {
                try await bin.setRemoteDescription(.answer, "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n")
            }
            try await ControlThread(name: "test").run("stop", deadline: .seconds(60)) { bin.stop() }
        }

        @Test
        func anAddressThatIsNoneIsAnError() throws {
            try Runtime.initialise()
            var settings = WebRTCSettings()
            settings.hostAddresses = ["not an address"]
            #expect(throws: GStreamerError.self) {
                _ = try WebRTCBin(
                    id: 1,
                    settings: settings,
                    certificate: try Certificate.generate(),
                    queue: nil,
                    baseTimeNanoseconds: 0,
                    onEvent: { _ in },
                    onBus: { _ in }
                )
            }
        }
    }
}
