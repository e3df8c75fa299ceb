// SPDX-License-Identifier: Apache-2.0

import Foundation
import Model
import Testing

@testable import Daemon

/// What a reload says of itself.
@Suite(.timeLimit(.minutes(5))) struct ConfigurationReloaderTests {
    /// Compared with what runs, and not with the file of the last reload.
    @Test func whatNeedsARestartIsToldUntilThereIsOne() async throws {
        let bench = try DaemonBench()
        let store = try bench.store()
        let backend = bench.backend(bench.supervisor(store: store), store)
        var told: [String?] = []
        let cluster = "cluster: { name: calls, host: a, etcd: ['http://192.0.2.1:2379'], capacity: 4 }"
        for section in ["workers: { export_jobs: 2 }", "workers: { export_jobs: 2 }\n\(cluster)", ""] {
            let text = "storage: { directory: \(bench.storage) }\n\(section)\n"
            try Data(text.utf8).write(to: URL(filePath: bench.storage + "/none.yaml"))
            let report = try await backend.reload()
            let event = try #require(await bench.next(.configurationReloaded))
            told.append(event.details["after_restart"])
            #expect(report.afterRestart.joined(separator: " ") == event.details["after_restart"] ?? "")
        }
        #expect(told == ["workers", "workers cluster", nil])
    }
}
