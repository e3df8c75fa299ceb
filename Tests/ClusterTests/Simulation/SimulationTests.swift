// SPDX-License-Identifier: Apache-2.0

import Cluster
import Foundation
import Testing

/// Clusters in simulated time against their invariants.
///
/// A failure prints its seed and the shortest list of faults that still fails.
@Suite struct SimulationTests {
    private static let seeds: UInt64 = ProcessInfo.processInfo.environment["TAPEDECK_TEST_ALL"] == "1" ? 10_000 : 200

    /// Prints what happens in one seed: `TAPEDECK_SIMULATED_SEED=7 swift test --filter SimulationTests.story`.
    @Test(.enabled(if: Self.told != nil)) func story() {
        let simulation = Simulation(seed: Self.told ?? 1)
        simulation.story = { print($0) }
        simulation.run()
        print(simulation.faults, simulation.violation ?? "no violation", separator: "\n")
    }

    private static let told = ProcessInfo.processInfo.environment["TAPEDECK_SIMULATED_SEED"].flatMap { UInt64($0) }

    @Test func holdsItsPromises() {
        var (inputs, failures) = (0, 0)
        for seed in 1...Self.seeds {
            let simulation = Simulation(seed: seed)
            simulation.run()
            inputs += simulation.inputs
            guard simulation.violation != nil else { continue }
            Issue.record("\(Self.shortest(simulation))")
            failures += 1
            // The first ones are enough to understand.
            if failures == 5 { break }
        }
        print("seeds \(Self.seeds), inputs \(inputs)")
    }

    /// The seed with the faults that are needed to fail: each is left out in turn.
    static func shortest(_ failed: Simulation) -> String {
        var (faults, violation) = (failed.faults, failed.violation ?? "")
        var index = 0
        while index < faults.count {
            var fewer = faults
            fewer.remove(at: index)
            let simulation = Simulation(seed: failed.seed, size: failed.size, planted: failed.planted, faults: fewer)
            simulation.run()
            if let found = simulation.violation {
                (faults, violation) = (fewer, found)
            } else {
                index += 1
            }
        }
        return "seed \(failed.seed), \(violation); faults: \(faults)"
    }
}
