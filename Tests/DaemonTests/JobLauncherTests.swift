// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import SystemPackage
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(5))) struct JobLauncherTests {
    private func run(_ script: String, silenceLimit: Duration) async -> JobFailure? {
        let launcher = JobLauncher(
            executable: "/bin/sh",
            environment: ChildEnvironment(values: NotedValueSource()),
            silenceLimit: silenceLimit
        )
        return await launcher.run(["-c", script]) { _ in }
    }

    @Test func tellsHowAJobEnded() async {
        #expect(await self.run("exit 0", silenceLimit: .seconds(200)) == nil)
        #expect(await self.run("exit 3", silenceLimit: .seconds(200))?.description == "exit code 3")
        #expect(await self.run("kill -9 $$", silenceLimit: .seconds(200))?.description == "ended by signal 9")
    }

    /// A worker's lines may be as long.
    @Test func aLongLineIsTaken() async {
        let script = "head -c 1000000 /dev/zero | tr '\\0' x; echo"
        #expect(await self.run(script, silenceLimit: .seconds(200)) == nil)
    }

    /// As one does that reads from a disk that hangs.
    @Test func aJobThatSaysNothingIsEnded() async {
        let failure = await self.run("echo begun; exec sleep 600", silenceLimit: .milliseconds(300))
        #expect(failure?.description.contains("said nothing") == true, "\(String(describing: failure))")
    }

    @Test func argumentsThatAreNotTakenAreTheSameTheNextTime() async {
        #expect(await self.run("exit 2", silenceLimit: .seconds(200))?.isRetriable == false)
        for script in ["exit 1", "exit 5", "kill -9 $$"] {
            #expect(await self.run(script, silenceLimit: .seconds(200))?.isRetriable == true, "\(script)")
        }
    }

    private func convert(
        _ script: String,
        _ bytes: [UInt8],
        limit: Duration = .seconds(200)
    ) async -> Result<[UInt8], JobFailure> {
        let launcher = JobLauncher(executable: "/bin/sh", environment: ChildEnvironment(values: NotedValueSource()))
        return await launcher.convert(["-c", script], bytes, maximumBytes: 1 << 20, limit: limit)
    }

    @Test func bytesAreConverted() async {
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        #expect(await self.convert("cat", bytes) == .success(bytes))
        #expect(await self.convert("cat; echo", bytes).failure != nil, "more than it may write")
        #expect(await self.convert("cat >&2; exit 5", []).failure?.exitCode == 5)
        // It reads nothing of what it is given.
        #expect(await self.convert("exit 5", bytes).failure != nil)
    }

    @Test func aConversionThatReachesALimitIsEndedAndNamesIt() async {
        let slow = await self.convert("exec sleep 600", [], limit: .milliseconds(300)).failure
        #expect(slow?.description.contains("took longer than") == true, "\(String(describing: slow))")
        let busy = await self.convert("kill -XCPU $$", []).failure
        #expect(busy?.description.contains("processor time") == true, "\(String(describing: busy))")
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
