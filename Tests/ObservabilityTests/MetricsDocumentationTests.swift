// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Observability

/// `docs/` says of the metrics what the code says, both ways.
@Suite struct MetricsDocumentationTests {
    private func document(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
    }

    private func row(_ metric: MetricDescription) -> String {
        let labels = metric.labels.isEmpty ? "–" : metric.labels.map { "`\($0)`" }.joined(separator: ", ")
        return "| `\(metric.name)` | \(metric.kind.rawValue) | \(metric.unit.rawValue) | \(labels) | \(metric.help) |"
    }

    /// The names in a PromQL text that are ours.
    private func names(in text: String) -> Set<String> {
        Set(text.matches(of: /tapedeck_[a-z0-9_]+/).map { String($0.output) })
    }

    /// Every name that a scrape may show.
    private var shownNames: Set<String> {
        Set(
            DaemonMetric.all.flatMap { metric in
                metric.kind == .histogram
                    ? ["_bucket", "_sum", "_count"].map { metric.name + $0 } : [metric.name]
            }
        )
    }

    @Test func everyMetricIsListedAsItIs() throws {
        let rows = try self.document("metrics.md").split(separator: "\n").filter { $0.hasPrefix("| `tapedeck_") }
        #expect(rows.map(String.init) == DaemonMetric.all.map(self.row))
    }

    @Test func everyMetricOfTheProbeIsListedAsItIs() throws {
        let rows = try self.document("probe.md").split(separator: "\n").filter { $0.hasPrefix("| `tapedeck_") }
        #expect(rows.map(String.init) == ProbeMetric.all.map(self.row))
        for metric in ProbeMetric.all {
            #expect(metric.name.hasPrefix("tapedeck_probe_") && metric.labels.first == "room")
            #expect(metric.unit == .one || metric.name.hasSuffix("_\(metric.unit.rawValue)"), "\(metric.name)")
        }
        #expect(Set(ProbeMetric.all.map(\.name)).isDisjoint(with: DaemonMetric.all.map(\.name)))
    }

    @Test func aProbeIsWrittenWithItsRoom() {
        let text = ProbeMetric.text(
            room: "socketio+http://h/\"1\"",
            [
                (ProbeMetric.score, [], 93), (ProbeMetric.partScore, ["loss"], 93),
                (ProbeMetric.partScore, ["sync"], 100),
            ]
        )
        #expect(
            text == """
                # HELP tapedeck_probe_part_score The score of each part, 0 to 100.
                # TYPE tapedeck_probe_part_score gauge
                tapedeck_probe_part_score{room="socketio+http://h/\\"1\\"",part="loss"} 93
                tapedeck_probe_part_score{room="socketio+http://h/\\"1\\"",part="sync"} 100
                # HELP tapedeck_probe_score The score of the weakest part, 0 to 100.
                # TYPE tapedeck_probe_score gauge
                tapedeck_probe_score{room="socketio+http://h/\\"1\\""} 93

                """
        )
    }

    @Test func everyRegisteredMetricIsDeclaredAndNamedByTheRules() {
        let registry = PrometheusRegistry()
        let metrics = DaemonMetrics(registry: registry, version: "1", startTime: 0)
        #expect(registry.descriptions == DaemonMetric.all.sorted { $0.name < $1.name })
        #expect(metrics.registry === registry)
        for metric in DaemonMetric.all {
            #expect(metric.name.hasPrefix("tapedeck_"))
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            if metric.unit != .one {
                let stem = metric.kind == .counter ? String(metric.name.dropLast("_total".count)) : metric.name
                #expect(stem.hasSuffix("_\(metric.unit.rawValue)"), "\(metric.name)")
            }
            #expect(metric.help.hasSuffix("."))
            let labels = Set(MetricLabel.allCases.map(\.rawValue) + PrometheusRegistry.droppedDescription.labels)
            #expect(labels.isSuperset(of: metric.labels))
        }
    }

    @Test func dashboardAsksForMetricsThatExist() throws {
        let text = try self.document("grafana-dashboard.json")
        let dashboard = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
        #expect(panels.count > 10)
        #expect(targets.count >= panels.count - 4)
        for target in targets {
            let expression = try #require(target["expr"] as? String)
            let names = self.names(in: expression)
            #expect(!names.isEmpty && names.isSubset(of: self.shownNames), "\(expression)")
        }
        let ids = panels.compactMap { $0["id"] as? Int }
        #expect(Set(ids).count == panels.count)
        // Every metric but those that say nothing over time is to be seen.
        let unseen = self.shownNames.subtracting(self.names(in: text)).filter {
            !$0.hasSuffix("_sum") && !$0.hasSuffix("_count")
        }
        #expect(unseen.isEmpty, "\(unseen.sorted())")
    }

    @Test func alertsAskForMetricsThatExist() throws {
        let names = self.names(in: try self.document("alerts.yaml"))
        #expect(names.count > 8)
        #expect(names.isSubset(of: self.shownNames), "\(names.subtracting(self.shownNames).sorted())")
    }
}
