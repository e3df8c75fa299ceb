// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A mean square in decibels; -120 for silence.
func decibels(power: Double) -> Double {
    power > 1e-12 ? 10 * log10(power) : -120
}

/// The factor of an amplitude.
func amplitude(decibels: Double) -> Double {
    pow(10, decibels / 20)
}
