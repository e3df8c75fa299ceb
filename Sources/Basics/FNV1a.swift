// SPDX-License-Identifier: Apache-2.0

/// The 64-bit FNV-1a hash, the same in every process, unlike Swift's own: it distinguishes names, but does not resist a
/// deliberate collision.
public func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
}
