// SPDX-License-Identifier: Apache-2.0

import Basics
import NIOCore
import Observability
import Testing

@testable import Daemon

@Suite struct RetryScheduleTests {
    private static let created = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)

    private static func time(_ seconds: Int64) -> UTCTime {
        UTCTime(nanosecondsSince1970: Self.created.nanosecondsSince1970 + seconds * 1_000_000_000)
    }

    @Test(arguments: [(1, 5), (2, 10), (3, 20), (4, 40), (10, 2560), (11, 3600), (1000, 3600), (Int.max, 3600)])
    func doublesUpToAnHour(failures: Int, seconds: Int) {
        #expect(RetrySchedule().delay(failures: failures, random: 0.5) == .seconds(seconds))
    }

    @Test(arguments: [(0.0, 3750), (1.0, 6250), (-9.0, 3750), (9.0, 6250)])
    func variesByAQuarter(random: Double, milliseconds: Int) {
        #expect(RetrySchedule().delay(failures: 1, random: random) == .milliseconds(milliseconds))
    }

    @Test func triesForADayAndOnceAtItsEnd() {
        let schedule = RetrySchedule()
        var now = Self.time(0)
        var failures = 0
        var last = now
        while let due = schedule.next(failures: failures + 1, created: Self.created, now: now, random: 0.5) {
            #expect(due > now)
            (last, now) = (due, due)
            failures += 1
        }
        #expect(last == Self.time(86_400))
        #expect((30...40).contains(failures))
    }

    @Test func aClockThatWasSetBackEndsItAllTheSame() {
        let schedule = RetrySchedule()
        let before = UTCTime(nanosecondsSince1970: 0)
        let early = schedule.next(failures: 3, created: Self.created, now: before, random: 0.5)
        #expect(early == UTCTime(nanosecondsSince1970: 20_000_000_000))
        let limit = RetrySchedule.maximumAttempts
        #expect(schedule.next(failures: limit, created: Self.created, now: before, random: 0.5) == nil)
    }

    /// An hour at most, and no longer than the delivery lives.
    @Test(arguments: [(0, 5), (-7, 5), (120, 120), (86_400, 3600)])
    func waitsAsLongAsTheReceiverAsks(asked: Int, seconds: Int64) {
        let due = RetrySchedule().next(
            failures: 1,
            created: Self.created,
            now: Self.time(0),
            random: 0.5,
            asked: .seconds(asked)
        )
        #expect(due == Self.time(seconds))
        let last = RetrySchedule().next(
            failures: 1,
            created: Self.created,
            now: Self.time(86_390),
            random: 0.5,
            asked: .seconds(600)
        )
        #expect(last == Self.time(86_400))
    }

    @Test(arguments: [
        ("120", 120), ("0", 0), ("", 0), ("-1", 0), ("1.5", 0), ("soon", 0), ("99999999999999999999", 86_400),
        ("Sat, 21 Nov 2026 03:14:26 GMT", 100), ("Sat, 21 Nov 2026 03:12:00 GMT", -46),
    ])
    func readsRetryAfter(text: String, seconds: Int) {
        let now = UTCTime(nanosecondsSince1970: 1_795_230_766_000_000_000)
        #expect(WebhookSender.askedWait(text, now: now) == .seconds(seconds))
    }

    @Test func extremesDoNotTrap() {
        let schedule = RetrySchedule(first: .seconds(Int64(1) << 40), longest: .seconds(Int64(1) << 40))
        let end = UTCTime(nanosecondsSince1970: .max)
        let start = UTCTime(nanosecondsSince1970: .min)
        #expect(schedule.next(failures: 1, created: start, now: end, random: 0) == nil)
        #expect(schedule.next(failures: 1, created: end, now: end, random: 0) == end)
    }
}

@Suite struct WebhookSignatureTests {
    /// Made with Python's `hmac.new(b"hush", b"1795230746.{}", "sha256")`.
    @Test func isWhatOthersCompute() {
        #expect(
            WebhookSignature.header(secret: "hush", timestamp: "1795230746", body: Array("{}".utf8))
                == "v1=d5443f14217167a57b0c73d1332fe617de5db0ae7509ce4458c401ce420bc7d2"
        )
    }
}

@Suite struct NetworkAddressTests {
    @Test(arguments: [
        ("8.8.8.8", NetworkAddress.isPublic), ("100.63.255.255", .isPublic), ("100.128.0.0", .isPublic),
        ("172.15.0.1", .isPublic), ("172.32.0.1", .isPublic), ("223.255.255.255", .isPublic),
        ("127.0.0.1", .loopback), ("127.255.255.254", .loopback), ("0.0.0.0", .isPrivate), ("10.0.0.1", .isPrivate),
        ("100.64.0.1", .isPrivate), ("169.254.169.254", .isPrivate), ("172.16.0.1", .isPrivate),
        ("172.31.255.255", .isPrivate), ("192.168.1.1", .isPrivate), ("192.0.2.1", .isPrivate),
        ("198.18.0.1", .isPrivate), ("224.0.0.1", .isPrivate), ("255.255.255.255", .isPrivate),
        ("2606:4700::1111", .isPublic), ("2a00::1", .isPublic), ("::1", .loopback), ("::", .isPrivate),
        ("::ffff:8.8.8.8", .isPublic), ("::ffff:127.0.0.1", .loopback), ("::ffff:10.0.0.1", .isPrivate),
        ("::10.0.0.1", .isPrivate), ("64:ff9b::8.8.8.8", .isPublic), ("64:ff9b::10.0.0.1", .isPrivate),
        ("64:ff9b:1::1", .isPrivate), ("100::1", .isPrivate), ("2001::1", .isPrivate), ("2001:db8::1", .isPrivate),
        ("2001:4860:4860::8888", .isPublic), ("2002:808:808::1", .isPublic), ("2002:7f00:1::1", .loopback),
        ("2002:a00:1::1", .isPrivate), ("3fff::1", .isPrivate), ("fc00::1", .isPrivate), ("fd12::1", .isPrivate),
        ("fe80::1", .isPrivate), ("fec0::1", .isPrivate), ("ff02::1", .isPrivate), ("4000::1", .isPrivate),
    ])
    func classifies(text: String, expected: NetworkAddress) throws {
        #expect(NetworkAddress(try SocketAddress(ipAddress: text, port: 443)) == expected)
    }

    @Test func whatIsNoAddressIsPrivate() throws {
        #expect(NetworkAddress(try SocketAddress(unixDomainSocketPath: "/tmp/socket")) == .isPrivate)
        #expect(NetworkAddress(version4: [8, 8, 8]) == .isPrivate)
        #expect(NetworkAddress(version6: []) == .isPrivate)
    }
}

@Suite struct TargetPolicyTests {
    @Test(arguments: [
        "", "hook", "/hook", "ftp://example.org/", "file:///etc/passwd", "https://", "https:///path",
        "https://user@example.org/", "https://user:password@example.org/", "https://example.org:0/",
        "https://example.org:65536/", "https://example.org:-1/", "javascript:alert(1)", "http+unix://x/",
    ])
    func takesNoOtherURLs(text: String) {
        #expect(TargetURL(text) == nil)
    }

    @Test(arguments: [
        ("https://Example.org/x", "example.org", 443, false), ("http://localhost/", "localhost", 80, true),
        ("http://127.0.0.2:8080/", "127.0.0.2", 8080, true), ("http://[::1]:9/", "::1", 9, true),
        ("https://192.168.0.1/", "192.168.0.1", 443, false),
        ("http://localhost.example.org/", "localhost.example.org", 80, false),
    ])
    func takesURLsApart(text: String, host: String, port: Int, isLoopback: Bool) throws {
        let target = try #require(TargetURL(text))
        #expect(target.host == host && target.port == port && target.isLoopback == isLoopback)
    }

    /// A URL, the address of its host, the hosts that the operator lists, and whether it may be told.
    @Test(
        arguments: [
            ("https://example.org/", "93.184.216.34", [], true), ("http://example.org/", "93.184.216.34", [], false),
            ("http://127.0.0.1/", "127.0.0.1", [], true), ("https://127.0.0.1/", "127.0.0.1", [], true),
            ("http://localhost/", "127.0.0.1", [], true), ("http://localhost/", "10.0.0.1", [], false),
            ("https://example.org/", "127.0.0.1", [], false), ("https://example.org/", "10.0.0.1", [], false),
            ("https://10.0.0.1/", "10.0.0.1", [], false), ("http://2130706433/", "127.0.0.1", [], false),
            ("https://example.org/", "10.0.0.1", ["example.org"], true),
            ("http://example.org/", "93.184.216.34", ["example.org"], true),
            ("https://a.example.org/", "10.0.0.1", ["*.example.org"], true),
            ("https://example.com/", "93.184.216.34", ["example.org"], false),
            ("http://127.0.0.1/", "127.0.0.1", ["example.org"], false),
            ("https://example.org.evil.example/", "93.184.216.34", ["example.org"], false),
            ("https://evilexample.org/", "93.184.216.34", ["*.example.org"], false),
        ] as [(String, String, [String], Bool)]
    )
    func allows(text: String, address: String, hosts: [String], isAllowed: Bool) throws {
        let target = try #require(TargetURL(text))
        let policy = TargetPolicy(allowedHosts: hosts)
        let connection = try SocketAddress(ipAddress: address, port: target.port)
        let refusal = policy.refusal(of: target) ?? policy.refusal(of: connection, target: target)
        #expect((refusal == nil) == isAllowed)
    }
}

struct WebhookCountersTests {
    @Test func eachAttemptCountsOnce() {
        let before = WebhookStatus.Counters(delivered: 3, failedAttempts: 5, givenUp: 1)
        let now = before + WebhookStatus.Counters(delivered: 1, failedAttempts: 4, givenUp: 2, dropped: 7)
        #expect(now.attempts(since: before) == [.delivered: 1, .retried: 2, .dead: 2])
    }

    /// Those of a webhook that is gone are gone.
    @Test func whatWentBackCountsNothing() {
        let before = WebhookStatus.Counters(delivered: 3, failedAttempts: 5, givenUp: 1)
        #expect(WebhookStatus.Counters().attempts(since: before) == [.delivered: 0, .retried: 0, .dead: 0])
    }
}
