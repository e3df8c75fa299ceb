// SPDX-License-Identifier: Apache-2.0

/// The token of a user. Requests that need one at the same time share one call.
actor EtcdCredentials {
    /// The newest token; nil before the first.
    private(set) var token: String?
    private var isAsking = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Returns the token, or a new one in place of one that was refused.
    ///
    /// - Parameter ask: gets a token from etcd.
    func token(
        insteadOf refused: String?,
        ask: @Sendable () async throws(EtcdFailure) -> String
    ) async throws(EtcdFailure) -> String {
        while self.isAsking { await withCheckedContinuation { self.waiting.append($0) } }
        if let token = self.token, token != refused { return token }
        self.isAsking = true
        defer {
            self.isAsking = false
            for continuation in self.waiting { continuation.resume() }
            self.waiting = []
        }
        let token = try await ask()
        self.token = token
        return token
    }
}
