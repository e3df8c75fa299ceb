// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension RecordingFolder {
    private static let mark = ".gathered"

    /// Notes in a folder that another host recorded what is in it.
    ///
    /// - Parameter epoch: the number under which this host brings the series together; no other host has it.
    public static func markAsGathered(_ path: String, epoch: Int) throws(StorageError) {
        try File.replace("\(path)/\(Self.mark)", with: Array("\(epoch)\n".utf8))
    }

    /// The number under which this host brought the recording here that another one recorded; `nil` for a recording of this host.
    public var gatheredEpoch: Int? {
        guard let file = try? File("\(self.path)/\(Self.mark)", .read),
            let bytes = try? file.read(offset: 0, count: 32)
        else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self).filter(\.isNumber)) ?? 0
    }
}
