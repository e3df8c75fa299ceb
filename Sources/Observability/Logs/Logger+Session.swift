// SPDX-License-Identifier: Apache-2.0

public import Logging

extension Logger {
    /// This logger with a new `session.id` on every line: one for each stay in a room.
    ///
    /// The id is random, 50 bits in ten characters of Crockford's base 32, and says nothing.
    public func forSession() -> Logger {
        let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
        var logger = self
        logger[key: .sessionID] = "\(String((0..<10).compactMap { _ in alphabet.randomElement() }))"
        return logger
    }
}
