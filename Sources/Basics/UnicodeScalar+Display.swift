// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// Whether it can steer a terminal, end a line or turn the direction of text: general categories Cc, Cf, Zl and Zp.
    public var steersText: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// Whether a name is better without it: it steers text, or has no common appearance (Cs, Co and Cn).
    public var isUnfitForNames: Bool {
        switch self.properties.generalCategory {
        case .surrogate, .privateUse, .unassigned: true
        default: self.steersText
        }
    }
}
