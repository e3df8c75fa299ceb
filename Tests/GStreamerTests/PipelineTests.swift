// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import Dispatch
import Synchronization
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct PipelineTests {
        private func error(_ body: () throws -> Void) -> GStreamerError? {
            do {
                try body()
                return nil
            } catch {
                return error as? GStreamerError
            }
        }

        @Test(arguments: [
            ("fakesrc ! nosuchelement ! fakesink", "nosuchelement"),
            ("fakesrc nosuchproperty=1 ! fakesink", "nosuchproperty"),
            ("fakesrc num-buffers=many ! fakesink", "num-buffers"),
            ("fakesrc ! ", ""),
            ("", ""),
            ("videotestsrc ! opusenc ! fakesink", "opusenc"),
            ("fakesrc ! nosuchname. fakesink name=other", "nosuchname"),
        ])
        func aLaunchTextThatDoesNotParseNamesItsFault(launch: String, named: String) throws {
            try Runtime.initialise()
            let error = self.error { _ = try Pipeline(launch: launch) { _ in } }
            #expect(error?.code == .parse)
            #expect(named.isEmpty || error?.message.contains(named) == true, "\(error?.message ?? "no error")")
        }

        @Test
        func aSingleElementIsAPipelineToo() throws {
            try Runtime.initialise()
            let pipeline = try Pipeline(launch: "fakesrc name=alone") { _ in }
            _ = try pipeline.element(named: "alone")
            pipeline.stop()
        }

        @Test
        func anUnknownElementNameIsAnError() throws {
            try Runtime.initialise()
            let pipeline = try Pipeline(launch: "fakesrc name=in ! fakesink") { _ in }
            _ = try pipeline.element(named: "in")
            let error = self.error { _ = try pipeline.element(named: "out") }
            #expect(error?.code == .parse)
            #expect(error?.message.contains("out") == true)
        }

        @Test
        func aMissingElementIsNamed() throws {
            try Runtime.initialise()
            let error = self.error { _ = try Element(factory: "nosuchelement") }
            #expect(error?.code == .missingElement)
            #expect(error?.message.contains("nosuchelement") == true)
            #expect(Runtime.missingElements(["fakesrc", "nosuchelement", "fakesink"]) == ["nosuchelement"])
        }

        @Test
        func aPropertyThatDoesNotExistIsAnError() throws {
            try Runtime.initialise()
            let element = try Element(factory: "fakesink")
            let error = self.error { try element.set("nosuchproperty", "1") }
            #expect(error?.code == .property)
            #expect(error?.message.contains("nosuchproperty") == true)
            try element.set("sync", "true")
        }

        /// `GStreamerError.Code.property`: "or the property does not take the value".
        @Test(arguments: [("num-buffers", "many"), ("sync", "perhaps"), ("state-error", "nosuchstate")])
        func aValueThatThePropertyDoesNotTakeIsAnError(property: String, value: String) throws {
            try Runtime.initialise()
            let element = try Element(factory: "fakesink")
            let error = self.error { try element.set(property, value) }
            #expect(error?.code == .property)
            #expect(error?.message.contains(property) == true)
        }

        @Test
        func anElementHasOnlyItsPads() throws {
            try Runtime.initialise()
            let source = try Element(factory: "fakesrc")
            #expect(self.error { _ = try source.staticPad("sink") }?.code == .link)
            _ = try source.staticPad("src")
        }

        @Test
        func padsThatDoNotFitSayWhy() throws {
            try Runtime.initialise()
            let pipeline = try Pipeline(name: "test") { _ in }
            let source = try Element(factory: "opusenc")
            let sink = try Element(factory: "vp8dec")
            pipeline.add(source)
            pipeline.add(sink)
            let error = self.error { try source.staticPad("src").link(to: sink.staticPad("sink")) }
            #expect(error?.code == .link)
            #expect(error?.message.isEmpty == false)
            pipeline.stop()
        }

        @Test
        func aStateThatIsRefusedIsAnError() throws {
            try Runtime.initialise()
            let bus = Log<BusEvent>()
            let pipeline = try Pipeline(launch: "filesrc location=/nonexistent/file ! fakesink") { bus.append($0) }
            #expect(self.error { try pipeline.play() }?.code == .stateChange)
            pipeline.stop()
            let isNamed = bus.all.contains { event in
                guard case .error(let element, let message, _) = event else { return false }
                return element.hasPrefix("filesrc") && !message.isEmpty
            }
            #expect(isNamed, "\(bus.all)")
        }

        @Test
        func stopMayBeCalledTwiceAndWithoutPlay() throws {
            try Runtime.initialise()
            let running = try Pipeline(launch: "videotestsrc is-live=true ! fakesink") { _ in }
            try running.play()
            running.stop()
            running.stop()
            let idle = try Pipeline(launch: "videotestsrc ! fakesink") { _ in }
            idle.stop()
            idle.stop()
        }

        @Test
        func nothingIsSaidAfterStop() throws {
            try Runtime.initialise()
            let bus = Log<BusEvent>()
            let pipeline = try Pipeline(launch: "fakesrc is-live=true ! fakesink") { bus.append($0) }
            let messages = gst_element_get_bus(pipeline.pointer)
            defer { CGStreamer.gst_object_unref(messages) }
            try pipeline.play()
            gst_bus_post(messages, gst_message_new_eos(nil))
            #expect(bus.all == [.endOfStream])
            pipeline.stop()
            gst_bus_post(messages, gst_message_new_eos(nil))
            #expect(bus.all == [.endOfStream])
        }

        @Test
        func playsFromTheBaseTimeThatItIsGiven() throws {
            try Runtime.initialise()
            let pipeline = try Pipeline(launch: "fakesrc is-live=true ! fakesink") { _ in }
            try pipeline.play(baseTimeNanoseconds: 123_456_789)
            #expect(pipeline.baseTimeNanoseconds == 123_456_789)
            pipeline.stop()
        }

        @Test
        func workThatHangsIsReportedAndLaterWorkIsToo() async throws {
            let control = ControlThread(name: "test")
            let gate = DispatchSemaphore(value: 0)
            func code(_ body: () async throws -> Void) async -> GStreamerError.Code? {
                do {
                    try await body()
                    return nil
                } catch {
                    return (error as? GStreamerError)?.code
                }
            }
            let order = Log<String>()
            let hanging = await code {
                try await control.run("hanging work", deadline: .milliseconds(20)) {
                    gate.wait()
                    order.append("hanging")
                }
            }
            #expect(hanging == .timedOut)
            let behind = await code {
                try await control.run("work behind it", deadline: .milliseconds(20)) { order.append("behind") }
            }
            #expect(behind == .timedOut)
            #expect(order.all.isEmpty)
            gate.signal()
            let after = try await control.run("work after it", deadline: .seconds(60)) { order.all }
            #expect(after == ["hanging", "behind"])
        }

        @Test
        func theDeadlinesErrorNamesTheWork() async throws {
            let control = ControlThread(name: "test")
            let gate = DispatchSemaphore(value: 0)
            defer { gate.signal() }
            await #expect {
                try await control.run("closing a door", deadline: .milliseconds(10)) { gate.wait() }
            } throws: { error in
                (error as? GStreamerError)?.message.contains("closing a door") == true
            }
        }

        @Test
        func errorsOfTheWorkComeThrough() async throws {
            let control = ControlThread(name: "test")
            await #expect(throws: GStreamerError(.link, "no")) {
                try await control.run("work") { throw GStreamerError(.link, "no") }
            }
            #expect(try await control.run("work") { 7 } == 7)
        }
    }
}
