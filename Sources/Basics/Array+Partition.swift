// SPDX-License-Identifier: Apache-2.0

extension Array {
    /// The index of the first element of the second part, of an array whose elements are parted by the condition.
    public func partitioningIndex(_ belongsToSecond: (Element) -> Bool) -> Int {
        var (low, high) = (0, self.count)
        while low < high {
            let middle = (low + high) / 2
            if belongsToSecond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
