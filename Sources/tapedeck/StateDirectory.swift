// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import SignallingClients

extension SignallerEnvironment {
    /// For commands that a person runs: what must be undone after a crash is kept in `$XDG_STATE_HOME/tapedeck`, or in
    /// `~/.local/state/tapedeck` (XDG Base Directory Specification); nothing is kept where no folder can be made.
    static func forCommand(
        _ variables: [String: String] = ProcessInfo.processInfo.environment,
        trace: TraceFile? = nil
    ) -> SignallerEnvironment {
        var environment = SignallerEnvironment()
        environment.trace = trace
        let states = [variables["XDG_STATE_HOME"], variables["HOME"].map { "\($0)/.local/state" }]
        guard let state = states.compactMap({ $0 }).first(where: { $0.hasPrefix("/") }) else { return environment }
        let directory = state + "/tapedeck"
        var parent = directory[...]
        while !parent.isEmpty, !FileManager.default.fileExists(atPath: String(parent)) {
            parent = parent[..<(parent.lastIndex(of: "/") ?? parent.startIndex)]
        }
        if FileManager.default.isWritableFile(atPath: parent.isEmpty ? "/" : String(parent)) {
            environment.notesDirectory = directory
        }
        return environment
    }
}
