// SPDX-License-Identifier: Apache-2.0

/// Bytes as a person reads them: `1.5 GB`, in powers of ten as disks are sold.
func amount(_ bytes: UInt64) -> String {
    let units =
        [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)] as [(String, UInt64)]
    guard let (unit, size) = units.first(where: { bytes >= $0.1 }) else { return "\(bytes) B" }
    let tenths = bytes / (size / 10)
    return tenths >= 100 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
}
