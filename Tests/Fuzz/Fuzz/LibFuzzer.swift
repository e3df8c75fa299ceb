// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The target of this process, chosen by the environment variable `FUZZ_TARGET`.
///
/// The name `list` prints the names of all targets and ends the process.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? "list"
    if name == "list" {
        RoomTarget.checkTable()
        for target in FuzzTarget.all { print(target.name) }
        exit(0)
    }
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        fatalError("FUZZ_TARGET: there is no target \(name)")
    }
    return target
}()

/// The first call of libFuzzer; sets the target up before time and memory of inputs count.
@_cdecl("LLVMFuzzerInitialize")
public func initializeFuzzer(_ count: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer) -> CInt {
    target.run([])
    return 0
}

/// The call of libFuzzer with every input; a trap is a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
