// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What simulations came across, printed when the last of them has ended.
final class SimulationTable: Sendable {
    private struct Sums {
        var open: Int
        var seeds = 0
        var violations = 0
        var counts: [(name: String, value: Int)] = []
        var longestGap = 0
        var rows: [String] = []
    }

    private let title: String
    private let sums: Mutex<Sums>

    /// A table of so many blocks.
    init(_ title: String, blocks: Int) {
        self.title = title
        self.sums = Mutex(Sums(open: blocks))
    }

    /// Adds a simulation that has ended.
    func add(_ simulation: Simulation) {
        let checker = simulation.checker
        let counts = [
            ("events", simulation.events), ("inputs", simulation.inputs), ("checks", checker.checks),
            ("faults", simulation.faults.count), ("claims", checker.claimsSeen), ("handovers", checker.handoversSeen),
            ("moves", checker.movesSeen), ("uploads", checker.uploadsSeen),
        ]
        self.sums.withLock { sums in
            sums.seeds += 1
            sums.violations += simulation.violation == nil ? 0 : 1
            sums.longestGap = max(sums.longestGap, checker.longestGap)
            let before = sums.counts
            sums.counts = counts.enumerated().map { index, count in
                (count.0, (index < before.count ? before[index].value : 0) + count.1)
            }
        }
    }

    /// A block has ended, with a row if there is something to say about it; the last one prints the table.
    func end(_ row: String? = nil) {
        let table: String? = self.sums.withLock { sums in
            if let row { sums.rows.append(row) }
            sums.open -= 1
            guard sums.open == 0 else { return nil }
            var lines = [self.title]
            if sums.seeds > 0 {
                lines.append(
                    "  \(sums.seeds) seeds, "
                        + sums.counts.map { "\($0.value) \($0.name)" }.joined(separator: ", ")
                        + ", longest gap \(Double(sums.longestGap) / 1e6) s, \(sums.violations) violations"
                )
            }
            return (lines + sums.rows.sorted().map { "  \($0)" }).joined(separator: "\n")
        }
        if let table { print(table) }
    }
}
