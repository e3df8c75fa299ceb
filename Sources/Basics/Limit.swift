// SPDX-License-Identifier: Apache-2.0

/// Does something that may take only so long; when the limit comes first, its task is cancelled, and waited for.
///
/// Any task; cancelling it cancels the work.
///
/// - Returns: the work's value; `nil` if the limit came first.
/// - Throws: an error of the work, or `CancellationError`.
public func within<Value: Sendable>(
    _ limit: Duration,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
