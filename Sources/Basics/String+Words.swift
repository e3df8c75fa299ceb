// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The words of a name like `keepDamaged`, in lower case and with something between them: `keep_damaged`.
    public func words(separator: String) -> String {
        self.reduce(into: "") { $0 += $1.isUppercase ? separator + $1.lowercased() : String($1) }
    }
}
