// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import TestSupport
import Testing

@Suite struct HostTests {
    /// On a thread that ends with the test: the class stays with a thread.
    @Test func theKernelTakesTheClassOfDiskTime() async {
        let isTaken = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Runtime.useIdleDiskTime()) }
        }
        #expect(isTaken)
    }

    /// More files than the kernel is given at once, and in between some that cannot be forced to a disk.
    @Test(arguments: [0, 1, 2, 31, 32, 33, 70])
    func everyFileIsForcedToTheDiskOrHasItsError(count: Int) throws {
        let folder = try TemporaryFolder()
        var descriptors = (0..<count).map { open("\(folder.path)/\($0)", O_RDWR | O_CREAT, 0o600) }
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for descriptor in descriptors + ends where descriptor >= 0 { close(descriptor) } }
        for descriptor in descriptors { #expect(write(descriptor, "unit", 4) == 4) }
        let disk = Disk()
        for _ in 0..<3 { #expect(disk.force(descriptors) == descriptors.map { _ in 0 }) }
        guard count > 2 else { return }
        close(descriptors[count / 2])
        descriptors[count / 2] = -1
        let expected = descriptors.map { $0 < 0 ? EBADF : 0 }
        #expect(disk.force(descriptors) == expected)
        #expect(disk.force(ends + descriptors) == [EINVAL, EINVAL] + expected)
    }
}
