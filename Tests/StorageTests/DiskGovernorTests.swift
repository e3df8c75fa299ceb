// SPDX-License-Identifier: Apache-2.0

import Storage
import Testing

@Suite struct DiskGovernorTests {
    typealias Level = DiskGovernorStateMachine.Level
    typealias Action = DiskGovernorStateMachine.OnMeasured

    /// A governor with a minimum of 1000 bytes in a level.
    private static func governor(in level: Level) -> DiskGovernorStateMachine {
        var governor = DiskGovernorStateMachine(minimumFree: 1000)
        switch level {
        case .normal: break
        case .low: _ = governor.measured(freeBytes: 700)
        case .critical: _ = governor.measured(freeBytes: 0)
        }
        return governor
    }

    struct Step: Sendable, CustomTestStringConvertible {
        var from: Level
        var free: Int64
        var action: Action
        var to: Level

        init(_ from: Level, _ free: Int64, _ action: Action, _ to: Level) {
            (self.from, self.free, self.action, self.to) = (from, free, action, to)
        }

        var testDescription: String { "\(self.from) at \(self.free)" }
    }

    static let steps: [Step] = [
        Step(.normal, .max, .none, .normal), Step(.normal, 1000, .none, .normal),
        Step(.normal, 999, .stopVideo, .low), Step(.normal, 500, .stopVideo, .low),
        Step(.normal, 499, .stopEverything, .critical), Step(.normal, .min, .stopEverything, .critical),
        Step(.low, 999, .none, .low), Step(.low, 1249, .none, .low), Step(.low, 1250, .recover, .normal),
        Step(.low, 500, .none, .low), Step(.low, 499, .stopEverything, .critical),
        Step(.low, .max, .recover, .normal), Step(.low, .min, .stopEverything, .critical),
        Step(.critical, 0, .none, .critical), Step(.critical, 800, .none, .critical),
        Step(.critical, 1249, .none, .critical), Step(.critical, 1250, .recover, .normal),
        Step(.critical, .max, .recover, .normal), Step(.critical, .min, .none, .critical),
    ]

    @Test(arguments: Self.steps)
    func follows(step: Step) {
        var governor = Self.governor(in: step.from)
        #expect(governor.level == step.from)
        #expect(governor.measured(freeBytes: step.free) == step.action)
        #expect(governor.level == step.to)
    }

    @Test func staysStoppedAtTheBrim() {
        var governor = Self.governor(in: .low)
        for free in [Int64(998), 1002, 999, 1200, 1001] { #expect(governor.measured(freeBytes: free) == .none) }
        #expect(governor.measured(freeBytes: 1300) == .recover)
    }

    @Test(arguments: Level.allCases)
    func takesANewMinimum(level: Level) {
        var governor = Self.governor(in: level)
        governor.minimumChanged(0)
        #expect(governor.level == level)
        #expect(governor.measured(freeBytes: 1) == (level == .normal ? .none : .recover))
        governor.minimumChanged(-5)
        #expect(governor.minimumFree == 0)
        #expect(governor.measured(freeBytes: 0) == .none)
        governor.minimumChanged(.max)
        #expect(governor.measured(freeBytes: 1 << 40) == .stopEverything)
    }

    @Test func withoutAMinimumNothingStops() {
        var governor = DiskGovernorStateMachine(minimumFree: 0)
        #expect(governor.measured(freeBytes: 0) == .none)
        #expect(governor.level == .normal)
    }

    @Test func measuresTheDisk() throws {
        let space = try DiskSpace.measure("/tmp")
        #expect(space.totalBytes > 0)
        #expect((0...space.totalBytes).contains(space.freeBytes))
        #expect { try DiskSpace.measure("/nonexistent") } throws: { ($0 as? StorageError)?.code == .notFound }
    }
}

@Suite struct DiskForecastTests {
    private static func forecast(_ samples: [(second: Int64, free: Int64)]) -> DiskForecast {
        var forecast = DiskForecast()
        for sample in samples {
            forecast.measured(freeBytes: sample.free, monotonicNanoseconds: sample.second * 1_000_000_000)
        }
        return forecast
    }

    @Test func knowsNothingAtFirst() {
        #expect(DiskForecast().secondsUntilFull == nil)
        #expect(Self.forecast([(0, 100)]).secondsUntilFull == nil)
        #expect(Self.forecast([(0, 100), (10, 100)]).secondsUntilFull == nil)
        #expect(Self.forecast([(0, 100), (10, 500)]).secondsUntilFull == nil)
    }

    @Test func dividesWhatIsFreeByTheRate() {
        #expect(Self.forecast([(0, 1000), (10, 900)]).secondsUntilFull == 90)
        #expect(Self.forecast([(0, 1000), (10, 0)]).secondsUntilFull == 0)
        #expect(Self.forecast([(0, 1000), (10, -50)]).secondsUntilFull == 0)
    }

    @Test func aDeletionDoesNotHideWhatIsWritten() {
        #expect(Self.forecast([(0, 1000), (10, 900), (20, 5000), (30, 4800)]).bytesPerSecond == 10)
    }

    @Test func forgetsWhatIsOlderThanTheWindow() {
        #expect(Self.forecast([(0, 10_000), (1, 5_000), (302, 5_000), (402, 4_900)]).bytesPerSecond == 1)
        #expect(Self.forecast((0..<1000).map { (Int64($0), 100_000 - 2 * Int64($0)) }).bytesPerSecond == 2)
    }

    @Test func beginsAnewWhenTheClockGoesBack() {
        #expect(Self.forecast([(100, 1000), (110, 900), (5, 800)]).secondsUntilFull == nil)
        #expect(Self.forecast([(5, 1000), (5, 900)]).secondsUntilFull == nil)
    }

    @Test func extremesDoNotTrap() {
        var forecast = DiskForecast()
        forecast.measured(freeBytes: .max, monotonicNanoseconds: .min)
        forecast.measured(freeBytes: .min, monotonicNanoseconds: .max)
        #expect(forecast.secondsUntilFull == nil)
    }
}
