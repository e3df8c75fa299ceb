// SPDX-License-Identifier: Apache-2.0

/// A parser or a machine that takes bytes from the network, or from the files of a recording.
///
/// A target must not trap, must end quickly, and checks by `require` the rules that hold for any result.
struct FuzzTarget: Sendable {
    /// The name of the target and of its folders below `Corpus` and `Crashers`.
    let name: String
    /// Feeds one input.
    let run: @Sendable ([UInt8]) -> Void

    /// A target for bytes.
    init(_ name: String, bytes run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    /// A target for text; bytes that are no UTF-8 are repaired, as every reader does before it parses.
    init(_ name: String, text run: @escaping @Sendable (String) -> Void) {
        self.init(name, bytes: { run(String(decoding: $0, as: UTF8.self)) })
    }
}

/// Ends the process with a finding if something does not hold.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}
