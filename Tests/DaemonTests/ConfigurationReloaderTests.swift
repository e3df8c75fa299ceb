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
        for section in ["workers: { export_jobs: 2 }", "workers: { export_jobs: 2 }", ""] {
            let text = "storage: { directory: \(bench.storage) }\n\(section)\n"
            try Data(text.utf8).write(to: URL(filePath: bench.storage + "/none.yaml"))
            try await backend.reload()
            let event = try #require(await bench.next(.configurationReloaded))
            told.append(event.details["after_restart"])
        }
        #expect(told == ["workers", "workers", nil])
    }
}
