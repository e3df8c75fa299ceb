// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Testing

@testable import Observability

@Suite struct PrometheusMetricsFactoryTests {
    private let registry = PrometheusRegistry()

    private var values: [String] {
        self.registry.text().split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    @Test func everyKindOfSwiftMetricsAppears() {
        let factory = PrometheusMetricsFactory(registry: self.registry)
        Counter(label: "http.requests", dimensions: [("method", "GET")], factory: factory).increment(by: 2)
        FloatingPointCounter(label: "cpu.seconds", factory: factory).increment(by: 0.5)
        Meter(label: "depth", factory: factory).increment(by: 3)
        Recorder(label: "size", dimensions: [], aggregate: true, factory: factory).record(20)
        Gauge(label: "level", factory: factory).record(4)
        Timer(label: "wait", factory: factory).recordMilliseconds(20)
        let values = self.values
        for expected in [
            "http_requests_total{method=\"GET\"} 2", "cpu_seconds_total 0.5", "depth 3", "size_bucket{le=\"100\"} 1",
            "size_bucket{le=\"10\"} 0", "size_sum 20", "level 4", "wait_seconds_sum 0.02", "wait_seconds_count 1",
            "wait_seconds_bucket{le=\"0.025\"} 1", "wait_seconds_bucket{le=\"0.01\"} 0",
        ] { #expect(values.contains(expected), "\(expected) in \(values)") }
    }

    @Test func seriesOfOneMetricMayHaveDifferentLabels() {
        let factory = PrometheusMetricsFactory(registry: self.registry)
        Counter(label: "a", dimensions: [("x", "1")], factory: factory).increment()
        Counter(label: "a", dimensions: [("y.z", "1"), ("x", "1"), ("x", "2")], factory: factory).increment()
        Counter(label: "a", factory: factory).increment()
        #expect(
            self.values.filter { $0.hasPrefix("a") } == [
                "a_total 1", "a_total{x=\"1\",y_z=\"1\"} 1", "a_total{x=\"1\"} 1",
            ]
        )
    }

    @Test func counterNeverFallsAndResets() {
        let counter = Counter(label: "a", factory: PrometheusMetricsFactory(registry: self.registry))
        counter.increment(by: 5)
        counter.increment(by: -2)
        #expect(self.values == ["a_total 5"])
        counter.reset()
        #expect(self.values == ["a_total 0"])
    }

    @Test func destroyedSeriesGo() {
        let factory = PrometheusMetricsFactory(registry: self.registry)
        let counter = Counter(label: "a", factory: factory)
        counter.increment()
        let fraction = FloatingPointCounter(label: "b", factory: factory)
        fraction.increment(by: 1)
        let meter = Meter(label: "c", factory: factory)
        meter.set(1)
        let recorder = Recorder(label: "d", dimensions: [], aggregate: true, factory: factory)
        recorder.record(1)
        let timer = Timer(label: "e", factory: factory)
        timer.recordSeconds(1)
        #expect(!self.values.isEmpty)
        counter.destroy()
        fraction.destroy()
        meter.destroy()
        recorder.destroy()
        timer.destroy()
        #expect(self.values.isEmpty)
    }
}
