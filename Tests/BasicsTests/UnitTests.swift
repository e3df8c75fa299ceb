// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("30m", .seconds(1800)), ("2h", .seconds(7200)),
        ("30d", .seconds(2_592_000)), ("0s", .zero),
    ])
    func readsAndWrites(_ text: String, _ duration: Duration) {
        #expect(DurationText.parse(text) == duration)
        #expect(DurationText.text(duration) == text)
    }

    @Test(arguments: [
        "", "s", "30", "1.5h", "-1s", "+1s", "1 s", "1S", "1w", "9999999999999999999s", "99999999999999999d",
    ])
    func refuses(_ text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test func aCommandLineMayLeaveTheUnitOut() {
        #expect(DurationText.parseDecimal("1.5h") == .seconds(5400))
        #expect(DurationText.parseDecimal("0.5s") == .milliseconds(500))
        #expect(DurationText.parseDecimal("33ms") == .milliseconds(33))
        for text in ["", "ms", "90", "1d", "1x", "infs", "nan", "1e300h"] {
            #expect(DurationText.parseDecimal(text) == nil)
        }
    }
}

@Suite struct ByteCountTextTests {
    @Test(
        arguments: [
            ("2GB", 2_000_000_000), ("1500kB", 1_500_000), ("1TB", 1_000_000_000_000), ("7B", 7),
        ] as [(String, Int64)]
    )
    func readsAndWrites(_ text: String, _ bytes: Int64) {
        #expect(ByteCountText.parse(text) == bytes)
        #expect(ByteCountText.parse(ByteCountText.text(bytes)) == bytes)
    }

    @Test func readsBinaryUnitsWhereTheyAreTaken() {
        #expect(ByteCountText.parse("500MiB") == 500 << 20)
        #expect(ByteCountText.parse("5KB") == 5000)
        #expect(ByteCountText.parseDecimal("5GB") == 5_000_000_000)
        for text in ["500MiB", "5KB", "5B", "5", "1.5GB"] { #expect(ByteCountText.parseDecimal(text) == nil) }
        for text in ["", "GB", "5", "1.5GB", "5gb", "9999999999999TB"] { #expect(ByteCountText.parse(text) == nil) }
    }
}

@Suite struct BitRateTextTests {
    @Test func reads() {
        #expect(BitRateText.parse("1500k") == 1_500_000 && BitRateText.parse("2M") == 2_000_000)
        for text in ["", "k", "1500", "1.5M", "2G", "-1k"] { #expect(BitRateText.parse(text) == nil) }
        #expect(BitRateText.parseDecimal("1.5M") == 1_500_000 && BitRateText.parseDecimal("64000") == 64_000)
        for text in ["", "k", "fast", "nan", "infM"] { #expect(BitRateText.parseDecimal(text) == nil) }
    }

    @Test func writes() {
        #expect(BitRateText.text(2_000_000) == "2M" && BitRateText.text(1_500_000) == "1500k")
    }
}

@Suite struct VideoSizeTests {
    @Test func readsSizes() throws {
        let size = try #require(VideoSize("1280x720"))
        #expect(size == VideoSize(width: 1280, height: 720))
        #expect(size.description == "1280x720")
        for text in ["", "x", "1280", "1280x", "1280x720x2", "axb", "99999999999999999999x1", "-2x720", "+2x720"] {
            #expect(VideoSize(text) == nil)
        }
    }

    @Test(arguments: [
        ("320x180", true), ("7680x4320", true), ("318x180", false), ("7682x4320", false), ("1281x720", false),
        ("1280x721", false),
    ])
    func camerasSendSome(_ text: String, _ isSendable: Bool) {
        #expect(VideoSize(text)?.isSendable == isSendable)
    }
}

@Suite struct PortRangeTextTests {
    @Test func readsTwoPorts() {
        #expect(PortRangeText.parse("40000-49999", from: 1024) == 40_000...49_999)
        #expect(PortRangeText.parse("1-1", from: 1) == 1...1)
        for text in ["", "-", "1", "1-2-3", "2-1", "0-5", "1-65536", "a-b"] {
            #expect(PortRangeText.parse(text, from: 1) == nil)
        }
        #expect(PortRangeText.parse("1023-1024", from: 1024) == nil)
    }
}

@Suite struct DurationNumberTests {
    @Test func cutsOff() {
        #expect(Duration.microseconds(1_500_999).milliseconds == 1500)
        #expect(Duration.microseconds(-1500).milliseconds == -1)
        #expect(Duration.seconds(-2).nanoseconds == -2_000_000_000)
        #expect(Duration.milliseconds(1500).seconds == 1.5)
    }

    @Test func staysInTheRange() {
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
        #expect(Duration.seconds(Int64.min).nanoseconds == .min)
        #expect(Duration.nanoseconds(Int64.max).nanoseconds == .max)
        #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).nanoseconds == .max)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
    }
}
