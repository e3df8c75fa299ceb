// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What an export job is to make: the one line that it reads from its standard input.
public struct ExportOrder: Sendable, Hashable, Codable {
    /// Why a line is no order for this program.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// One sentence.
        public var description: String
    }

    /// The version of the protocol that the daemon speaks.
    private var protocolVersion = WorkerLine.protocolVersion
    /// The export.
    public var spec: ExportSpec

    /// The order of this program's version.
    public init(_ spec: ExportSpec) {
        self.spec = spec
    }

    /// Reads a line, without its line feed.
    public init(line: Data) throws(Refusal) {
        struct Version: Decodable { var protocolVersion: Int }
        let ours = WorkerLine.protocolVersion
        if let version = try? WorkerLine.decode(Version.self, from: line).protocolVersion, version != ours {
            throw Refusal(description: "the order speaks version \(version) of the worker protocol, not \(ours)")
        }
        do {
            self = try WorkerLine.decode(Self.self, from: line)
        } catch {
            throw Refusal(description: "standard input begins with no order of an export, version \(ours)")
        }
    }
}
