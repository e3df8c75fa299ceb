// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// C holds a closure as long as the element that may call it, and no longer.
    @Suite(.serialized)
    struct CallbackBoxTests {
        private final class Token: Sendable {
            let calls = Log<Void>()
        }

        @Test
        func isReleasedByADestroyNotification() {
            weak var token: Token?
            var user: UnsafeMutableRawPointer?
            do {
                let captured = Token()
                token = captured
                user = CallbackBox<Int> { _ in captured.calls.append(()) }.retained()
            }
            CallbackBox<Int>.from(user)?.call(1)
            #expect(token?.calls.count == 1)
            release(user)
            #expect(token == nil)
            release(nil)
            #expect(CallbackBox<Int>.from(nil) == nil)
        }

        @Test
        func theBusLetsGoWhenThePipelineStops() async throws {
            try Runtime.initialise()
            weak var token: Token?
            let pipeline: Pipeline
            do {
                let captured = Token()
                token = captured
                pipeline = try Pipeline(launch: "fakesrc is-live=true ! fakesink") { _ in captured.calls.append(()) }
            }
            try pipeline.play()
            #expect(token != nil)
            pipeline.stop()
            #expect(await eventually { token == nil })
        }

        @Test
        func theBusLetsGoWithAPipelineThatNeverPlayed() throws {
            try Runtime.initialise()
            weak var token: Token?
            do {
                let captured = Token()
                token = captured
                _ = try Pipeline(launch: "fakesrc ! fakesink") { _ in captured.calls.append(()) }
            }
            #expect(token == nil)
        }

        @Test
        func theSignalsLetGoWhenTheElementIsGone() async throws {
            try Runtime.initialise()
            weak var token: Token?
            weak var gone: WebRTCBin?
            do {
                let captured = Token()
                token = captured
                var settings = WebRTCSettings()
                settings.hostAddresses = ["127.0.0.1"]
                let bin = try WebRTCBin(
                    id: 1,
                    settings: settings,
                    certificate: try Certificate.generate(),
                    queue: UnitQueue(),
                    baseTimeNanoseconds: UInt64(Runtime.monotonicNanoseconds),
                    onEvent: { _ in captured.calls.append(()) },
                    onBus: { _ in captured.calls.append(()) }
                )
                gone = bin
                try bin.addReceiver(
                    caps: "application/x-rtp,media=video,encoding-name=VP8,clock-rate=90000,payload=96",
                    retransmission: true
                )
                let offer = try await bin.createOffer()
                try await bin.setLocalDescription(.offer, offer)
                #expect(await eventually { captured.calls.count > 0 })
                try await ControlThread(name: "test").run("stop", deadline: .seconds(60)) { bin.stop() }
            }
            // The promise's thread and libnice let go of their references a moment later.
            #expect(await eventually { gone == nil })
            #expect(await eventually { token == nil })
        }

        @Test
        func aPromiseLetsGoOfItsBox() {
            weak var token: Token?
            do {
                let captured = Token()
                token = captured
                let box = CallbackBox<UnsafeMutablePointer<GstPromise>> { _ in captured.calls.append(()) }
                let promise = gst_promise_new_with_change_func(
                    { promise, user in
                        guard let promise else { return }
                        CallbackBox<UnsafeMutablePointer<GstPromise>>.from(user)?.call(promise)
                    },
                    box.retained(),
                    release
                )
                gst_promise_interrupt(promise)
                #expect(captured.calls.count == 1)
                gst_promise_unref(promise)
            }
            #expect(token == nil)
        }

        @Test
        func aTapGoesWithItsPipeline() throws {
            let queue = UnitQueue()
            var feed: PacketFeed? = try PacketFeed(id: 1, queue: queue)
            weak let tap = feed?.tap
            #expect(feed?.push(0, 0) == true)
            feed?.stop()
            feed = nil
            #expect(tap == nil)
            #expect(queue.drain().count == 1)
        }
    }
}
