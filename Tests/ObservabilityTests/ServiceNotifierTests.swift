// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import Observability

@Suite struct ServiceNotifierTests {
    @Test(arguments: [false, true]) func everyNotificationIsOneDatagram(isAbstract: Bool) throws {
        let receiver = try DatagramReceiver(isAbstract: isAbstract)
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": receiver.address])
        #expect(notifier.isActive)
        #expect(notifier.ready(status: "3 rooms"))
        #expect(receiver.lines() == ["READY=1", "STATUS=3 rooms"])
        notifier.status("two\nlines")
        #expect(receiver.lines() == ["STATUS=two lines"])
        notifier.stopping()
        #expect(receiver.lines() == ["STOPPING=1"])
        notifier.stopping(status: "finishing files")
        #expect(receiver.lines() == ["STOPPING=1", "STATUS=finishing files"])
        notifier.stopping(within: .milliseconds(200_500))
        #expect(receiver.lines() == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=200000000"])
        notifier.watchdog()
        #expect(receiver.lines() == ["WATCHDOG=1"])
        #expect(receiver.lines() == nil)
    }

    @Test func reloadingCarriesTheMonotonicTime() throws {
        let receiver = try DatagramReceiver()
        func now() -> Int {
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            return now.tv_sec * 1_000_000 + now.tv_nsec / 1000
        }
        let before = now()
        ServiceNotifier(environment: ["NOTIFY_SOCKET": receiver.address]).reloading()
        let after = now()
        let lines = try #require(receiver.lines())
        #expect(lines.first == "RELOADING=1")
        let last = try #require(lines.last)
        let time = try #require(Int(last.dropFirst("MONOTONIC_USEC=".count)))
        #expect((before...after).contains(time))
    }

    @Test func longStatusIsShortened() throws {
        let receiver = try DatagramReceiver()
        ServiceNotifier(environment: ["NOTIFY_SOCKET": receiver.address]).status(String(repeating: "x", count: 10_000))
        #expect(receiver.lines() == ["STATUS=" + String(repeating: "x", count: 500)])
    }

    @Test(arguments: ["", "relative", "@", "/nul\0inside", "/" + String(repeating: "x", count: 200), "vsock:2:1"])
    func socketThatIsNoneIsIgnored(path: String) {
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": path])
        #expect(!notifier.isActive)
        #expect(!notifier.ready())
    }

    @Test func nobodyListeningIsNoFailure() {
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": "/tmp/tapedeck-nobody-\(getpid())"])
        #expect(notifier.isActive)
        #expect(!notifier.watchdog())
        #expect(!ServiceNotifier(environment: [:]).ready())
    }

    /// Sending never blocks: with a full queue a notification is dropped.
    @Test func fullQueueDrops() throws {
        let receiver = try DatagramReceiver()
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": receiver.address])
        var sent = 0
        while sent < 100_000, notifier.watchdog() { sent += 1 }
        #expect(sent > 0 && sent < 100_000)
        #expect(receiver.lines() == ["WATCHDOG=1"])
        #expect(notifier.watchdog())
    }

    @Test func watchdogIntervalComesFromTheEnvironment() {
        func interval(_ environment: [String: String]) -> Duration? {
            ServiceNotifier(environment: environment, processID: 42).watchdogInterval
        }
        #expect(interval(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "none"]) == nil)
        #expect(interval([:]) == nil)
        for text in ["0", "-1", "", "many", "99999999999999999999"] {
            #expect(interval(["WATCHDOG_USEC": text]) == nil)
        }
    }
}
