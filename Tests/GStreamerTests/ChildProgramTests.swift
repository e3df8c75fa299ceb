// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Testing

@Suite(.timeLimit(.minutes(5))) struct ChildProgramTests {
    /// Whether a process runs; one that ended and was not collected does not.
    private func isAlive(_ process: pid_t) -> Bool {
        guard let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        return state.split(separator: ")").last?.dropFirst().first != "Z"
    }

    private func run(
        _ script: String,
        memory: UInt64 = 0,
        limit: Duration = .seconds(60)
    ) -> (end: ChildProgram.End, words: String) {
        ChildProgram.run(["sh", "-c", script], memory: memory, limit: limit) {}
    }

    @Test func aProgramEndsAsItEnds() {
        let failed = self.run("echo why >&2; echo other; exit 7")
        #expect(failed.end == .exited(7) && failed.words == "why\n")
        #expect(self.run("kill -11 $$").end == .signalled(11))
        let absent = ChildProgram.run(["no such program"], memory: 0, limit: .seconds(60)) {}
        #expect(absent.end == .notStarted)
        // It may say more than is kept, and close its standard error before it ends.
        let script = "yes | head -c 1000000 >&2; exec 2>&-; sleep 0.2"
        let much = self.run(script)
        #expect(much.end == .exited(0) && much.words.utf8.count == 4_096)
    }

    @Test func aProgramThatTakesTooLongIsKilledWithItsChildren() {
        struct Enough: Error {}
        let script = "trap '' TERM INT; sleep 600 & echo $! >&2; wait"
        let late = self.run(script, limit: .milliseconds(1_500))
        #expect(late.end == .timedOut)
        let child = pid_t(late.words.dropLast()) ?? 0
        #expect(child > 0)
        while self.isAlive(child) { usleep(10_000) }
        #expect(throws: Enough.self) {
            _ = try ChildProgram.run(["sh", "-c", script], memory: 0, limit: .seconds(600)) { throw Enough() }
        }
    }

    @Test func aProgramHasNoMoreMemoryThanItMay() {
        #expect(self.run("ulimit -v >&2; ulimit -c >&2", memory: 1 << 30).words == "1048576\n0\n")
    }

    /// Nothing of ours but the environment: ignored signals would be inherited, and so would open files.
    @Test func aProgramGetsNothingOfOurs() throws {
        let path = FileManager.default.temporaryDirectory.path + "/tapedeck-open-\(UUID().uuidString)"
        try Data().write(to: URL(filePath: path))
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer {
            close(file)
            try? FileManager.default.removeItem(atPath: path)
        }
        let script =
            "ls -l /proc/self/fd | grep -c tapedeck-open >&2; grep -E 'Sig(Ign|Blk)' /proc/self/status >&2; cat"
        let words = self.run(script).words.split(separator: "\n")
        #expect(words.first == "0", "\(words)")
        try #require(words.count == 3, "\(words)")
        // Signals 32 and 33 are the C library's own.
        let others = words.dropFirst().map { UInt64($0.suffix(16), radix: 16).map { $0 & ~0x1_8000_0000 } }
        #expect(others == [0, 0], "\(words)")
    }
}
