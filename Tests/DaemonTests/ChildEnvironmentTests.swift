// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(5))) struct ChildEnvironmentTests {
    /// The names of the variables that a job gets.
    private func names(_ values: NotedValueSource) async -> Set<String> {
        let lines = LineCollector()
        let launcher = JobLauncher(executable: "/usr/bin/env", environment: ChildEnvironment(values: values))
        let failure = await launcher.run([]) { line in lines.add(String(decoding: line, as: UTF8.self)) }
        #expect(failure == nil)
        return Set(lines.all.compactMap { $0.split(separator: "=").first.map(String.init) })
    }

    @Test func leavesOutWhatWasTaken() async {
        let values = NotedValueSource()
        #expect(await self.names(values).contains("PATH"))
        #expect(values.environmentVariable("PATH") != nil)
        #expect(values.variables == ["PATH"])
        let names = await self.names(values)
        #expect(!names.contains("PATH"))
        #expect(names.count >= ProcessInfo.processInfo.environment.count - 4, "everything else is passed on")
    }

    @Test func onlyRcloneGetsTheSecretsOfARemote() async {
        let name = "RCLONE_CONFIG_ARC_SECRET_ACCESS_KEY"
        setenv(name, "secret", 1)
        defer { unsetenv(name) }
        let values = NotedValueSource()
        #expect(await !self.names(values).contains(name))
        #expect(ChildEnvironment(values: values).ofUploads[name] == "secret")
    }

    @Test func notesWhatAConfigurationAsksForEvenIfItIsRefused() {
        let values = NotedValueSource()
        #expect(throws: ConfigurationError.self) {
            try DaemonConfiguration.parse(text: #"api: { tokn: "${PATH}" }"#, values: values)
        }
        #expect(values.variables == ["PATH"])
    }
}

/// Lines from any thread.
private final class LineCollector: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { self.lines.withLock { $0 } }

    func add(_ line: String) { self.lines.withLock { $0.append(line) } }
}
