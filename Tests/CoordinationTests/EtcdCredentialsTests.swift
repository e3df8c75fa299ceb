// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Coordination

@Suite(.timeLimit(.minutes(1))) struct EtcdCredentialsTests {
    /// Counts what is asked, and answers with the number.
    private final class Source: Sendable {
        let asked = Mutex(0)

        func ask() async throws(EtcdFailure) -> String {
            let number = self.asked.withLock { asked in
                asked += 1
                return asked
            }
            for _ in 0..<100 { await Task.yield() }
            return "\(number)"
        }
    }

    @Test func manyShareOneCall() async throws {
        let (credentials, source) = (EtcdCredentials(), Source())
        for expected in ["1", "2"] {
            let refused = await credentials.token
            let tokens = await withTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask {
                        try? await credentials.token(insteadOf: refused) { () throws(EtcdFailure) in
                            try await source.ask()
                        }
                    }
                }
                return await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(tokens == [expected])
        }
        #expect(source.asked.withLock { $0 } == 2)
        #expect(try await credentials.token(insteadOf: nil) { () throws(EtcdFailure) in "3" } == "2")
    }

    @Test func whoeverWaitedForAFailureAsksAgain() async {
        let credentials = EtcdCredentials()
        let asked = Mutex(0)
        let results = await withTaskGroup { group in
            for _ in 0..<5 {
                group.addTask {
                    try? await credentials.token(insteadOf: nil) { () throws(EtcdFailure) in
                        for _ in 0..<100 { await Task.yield() }
                        let isFirst = asked.withLock { asked in
                            asked += 1
                            return asked == 1
                        }
                        if isFirst { throw EtcdFailure.lost("w") }
                        return "token"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.filter { $0 == nil }.count == 1)
        #expect(results.compactMap { $0 } == Array(repeating: "token", count: 4))
        #expect(asked.withLock { $0 } == 2)
    }
}
