// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Coordination

@Suite(.timeLimit(.minutes(1))) struct EtcdCredentialsTests {
    /// Counts its calls, and answers with the number; some of them fail.
    private final class Source: Sendable {
        let calls = Mutex(0)
        private let failures: Int

        init(failures: Int = 0) { self.failures = failures }

        func call() async throws(EtcdFailure) -> String {
            let number = self.calls.withLock { calls in
                calls += 1
                return calls
            }
            for _ in 0..<100 { await Task.yield() }
            guard number > self.failures else { throw .lost("w") }
            return "\(number)"
        }
    }

    private static func tokens(
        _ count: Int,
        of credentials: EtcdCredentials,
        insteadOf refused: String?,
        _ source: Source
    ) async -> [String?] {
        await withTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    try? await credentials.token(insteadOf: refused) { () throws(EtcdFailure) in try await source.call()
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func manyShareOneCall() async throws {
        let (credentials, source) = (EtcdCredentials(), Source())
        for expected in ["1", "2"] {
            let tokens = await Self.tokens(20, of: credentials, insteadOf: await credentials.token, source)
            #expect(tokens == Array(repeating: expected, count: 20))
        }
        #expect(source.calls.withLock { $0 } == 2)
    }

    @Test func theNextCallsAfterAFailure() async {
        let (credentials, source) = (EtcdCredentials(), Source(failures: 1))
        let tokens = await Self.tokens(5, of: credentials, insteadOf: nil, source)
        #expect(tokens.filter { $0 == nil }.count == 1)
        #expect(tokens.filter { $0 == "2" }.count == 4)
        #expect(source.calls.withLock { $0 } == 2)
    }
}
