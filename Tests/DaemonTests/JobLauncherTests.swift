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
}
