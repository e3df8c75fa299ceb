// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Observability

@Suite struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry(maximumSeries: 3, maximumFamilies: 5)

    private func lines(_ format: PrometheusFormat = .text) -> [String] {
        self.registry.text(format).split(separator: "\n").map(String.init)
    }

    @Test func countersGaugesAndHistogramsAreWrittenInOrder() {
        let requests = self.registry.counter(.init("b_total", .counter, help: "B.", labels: ["route", "status"]))
        requests.add(2, "rooms", "2xx")
        requests.add(1, "files", "4xx")
        requests.add(-1, "files", "4xx")
        requests.add(.nan, "files", "4xx")
        self.registry.gauge(.init("c_bytes", .gauge, unit: .bytes, help: "C.")).set(0.25)
        let waits = self.registry.histogram(
            .init("a_seconds", .histogram, unit: .seconds, help: "A.", buckets: [1, 0.1, .infinity])
        )
        waits.observe(0.1)
        waits.observe(.milliseconds(500))
        waits.observe(7)
        waits.observe(Double.infinity)
        #expect(
            self.lines() == [
                "# HELP a_seconds A.",
                "# TYPE a_seconds histogram",
                "a_seconds_bucket{le=\"0.1\"} 1",
                "a_seconds_bucket{le=\"1\"} 2",
                "a_seconds_bucket{le=\"+Inf\"} 3",
                "a_seconds_sum 7.6",
                "a_seconds_count 3",
                "# HELP b_total B.",
                "# TYPE b_total counter",
                "b_total{route=\"files\",status=\"4xx\"} 1",
                "b_total{route=\"rooms\",status=\"2xx\"} 2",
                "# HELP c_bytes C.",
                "# TYPE c_bytes gauge",
                "c_bytes 0.25",
            ]
        )
    }

    @Test func openMetricsNamesUnitsAndEnds() {
        self.registry.counter(.init("a_bytes_total", .counter, unit: .bytes, help: "Say \"a\".")).add(3)
        self.registry.histogram(.init("b_seconds", .histogram, unit: .seconds, help: "B.", buckets: [1])).observe(2)
        #expect(
            self.lines(.openMetrics) == [
                "# HELP a_bytes Say \\\"a\\\".",
                "# TYPE a_bytes counter",
                "# UNIT a_bytes bytes",
                "a_bytes_total 3",
                "# HELP b_seconds B.",
                "# TYPE b_seconds histogram",
                "# UNIT b_seconds seconds",
                "b_seconds_bucket{le=\"1.0\"} 0",
                "b_seconds_bucket{le=\"+Inf\"} 1",
                "b_seconds_sum 2",
                "b_seconds_count 1",
                "# EOF",
            ]
        )
    }

    @Test(arguments: [
        ("application/openmetrics-text; version=1.0.0,text/plain;q=0.5", PrometheusFormat.openMetrics),
        ("text/plain, Application/OpenMetrics-Text;q=0.1", .openMetrics),
        ("application/openmetrics-text;q=0", .text), ("text/plain", .text), ("*/*", .text), ("", .text),
        (";,;q=,", .text),
    ]) func formatFollowsAccept(accept: String, format: PrometheusFormat) {
        #expect(PrometheusFormat(accept: accept) == format)
    }

    @Test func textFromOutsideIsEscaped() {
        let rooms = self.registry.gauge(
            .init("a", .gauge, help: "Back\\slash,\nnew line, \"quote\".", labels: ["room"])
        )
        rooms.set(1, "a\"b\\c\nd\re ü")
        let lines = self.lines()
        #expect(lines[0] == "# HELP a Back\\\\slash,\\nnew line, \"quote\".")
        #expect(lines[2] == "a{room=\"a\\\"b\\\\c\\nd\re ü\"} 1")
    }

    @Test(
        arguments: [
            (1, "1"), (-0.5, "-0.5"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"),
            (4_503_599_627_370_496, "4503599627370496"),
        ] as [(Double, String)]
    ) func numbersAreWrittenAsPrometheusReadsThem(number: Double, text: String) {
        self.registry.gauge(.init("a", .gauge, help: "A.")).set(number)
        #expect(self.lines().last == "a \(text)")
    }

    @Test(arguments: [("a.b-c/d", "a_b_c_d"), ("9lives", "_9lives"), ("", "_"), ("größe", "gr__e")])
    func namesAreMadeValid(text: String, name: String) {
        #expect(MetricDescription(text, .gauge, help: "").name == name)
    }

    @Test func seriesTooManyAreDroppedAndCounted() {
        let rooms = self.registry.gauge(.init("a", .gauge, help: "A.", labels: ["room"]))
        for room in ["1", "2", "3", "4", "4", "5"] { rooms.set(1, room) }
        rooms.set(2, "1")
        #expect(
            self.lines().filter { !$0.hasPrefix("#") } == [
                "a{room=\"1\"} 2", "a{room=\"2\"} 1", "a{room=\"3\"} 1",
                "tapedeck_metrics_dropped_total{metric=\"a\"} 3",
            ]
        )
        rooms.replace(with: [["5"]: 1, ["6"]: 1, ["7"]: 1, ["8"]: 1])
        #expect(self.lines().filter { $0.hasPrefix("a{") }.count == 3)
        #expect(self.lines().last == "tapedeck_metrics_dropped_total{metric=\"a\"} 4")
    }

    @Test func metricsTooManyAreDroppedAndCounted() {
        for name in ["a", "b", "c", "d", "e"] { self.registry.gauge(.init(name, .gauge, help: "G.")).set(1) }
        // The same again is the same metric; another kind of that name is none.
        self.registry.gauge(.init("a", .gauge, help: "G.")).set(5)
        self.registry.counter(.init("b", .counter, help: "C.")).add(7)
        #expect(
            self.lines().filter { !$0.hasPrefix("#") } == [
                "a 5", "b 1", "c 1", "d 1",
                "tapedeck_metrics_dropped_total{metric=\"b\"} 1", "tapedeck_metrics_dropped_total{metric=\"e\"} 1",
            ]
        )
    }

    @Test func staleSeriesGo() {
        let tracks = self.registry.gauge(.init("a", .gauge, help: "A.", labels: ["room", "kind"]))
        tracks.set(1, "r", "video")
        tracks.set(1, "s", "video")
        tracks.change(from: [["r", "video"]: 1], to: [["r", "audio"]: 2])
        #expect(self.lines().suffix(2) == ["a{room=\"r\",kind=\"audio\"} 2", "a{room=\"s\",kind=\"video\"} 1"])
        self.registry.removeSeries(where: "room", is: "r")
        #expect(self.lines().suffix(1) == ["a{room=\"s\",kind=\"video\"} 1"])
        tracks.set(nil, "s", "video")
        #expect(self.lines().isEmpty)
    }

    @Test func callbacksRunAtEachScrape() {
        let scrapes = Atomic(0)
        let gauge = self.registry.gauge(.init("a", .gauge, help: "A."))
        self.registry.onScrape {
            gauge.set(Double(scrapes.add(1, ordering: .relaxed).newValue))
        }
        #expect(self.lines().last == "a 1")
        #expect(self.lines().last == "a 2")
    }

    @Test func threadsCountTogether() async {
        let counter = self.registry.counter(.init("a_total", .counter, help: "A.", labels: ["x"]))
        let histogram = self.registry.histogram(.init("b", .histogram, help: "B.", buckets: [1]))
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.add(1, "\(task % 2)")
                        histogram.observe(1)
                    }
                    _ = self.registry.text()
                }
            }
        }
        let lines = self.lines()
        #expect(lines.contains("a_total{x=\"0\"} 4000") && lines.contains("a_total{x=\"1\"} 4000"))
        #expect(lines.contains("b_count 8000"))
    }
}
