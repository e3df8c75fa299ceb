// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Takes values as another source does, and notes the environment variables that were asked for.
///
/// They may hold secrets: processes that the daemon starts are not given them. May be used from any thread.
public final class NotedValueSource: ValueSource {
    private let source: any ValueSource
    private let names = Mutex<Set<String>>([])

    /// A source that has noted nothing yet.
    public init(_ source: any ValueSource = ProcessValueSource()) {
        self.source = source
    }

    /// Every variable that was asked for so far, whether there is one or not.
    public var variables: Set<String> { self.names.withLock { $0 } }

    /// The value of an environment variable.
    public func environmentVariable(_ name: String) -> String? {
        self.names.withLock { _ = $0.insert(name) }
        return self.source.environmentVariable(name)
    }

    /// The text of a file of secrets.
    public func contents(ofFile path: String) throws(ValueSourceError) -> String {
        try self.source.contents(ofFile: path)
    }
}
